/**
 * A run ends with the status of its measurements. A run that is interrupted at once ends with the status of the
 * measurements until then.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { makeFolder } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { once, waitFor } from '../../library/until.js'
import { startService } from '../../service/service.js'

const program = join(packageRoot(), 'dist/modules/bench/main.js')

function start(t: Test, words: readonly string[]) {
  const folder = makeFolder(t)
  const cache = join(folder, 'cache')
  const out = join(folder, 'out')
  const child = spawn(process.execPath, [program, ...words, '--out', out], {
    env: { ...process.env, TIDEGATE_BENCH_CACHE: cache },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    said.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.err += chunk
  })
  const ended = once(child, 'close')
  const status = async (): Promise<number | null> => {
    await ended
    return child.exitCode
  }
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal)
    return status()
  }
  return { cache, out, said, end, status }
}

/** Whether a process has these words in its command line. Only Linux reports that. */
function isRunning(words: string): boolean {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(words)
      } catch {
        return false
      }
    })
}

const title = 'while a network is made'
t.test(title, { skip: process.platform !== 'linux' && 'this needs /proc' }, async (t) => {
  const ends = [
    ['SIGTERM', 4_000_001, 143],
    ['SIGINT', 4_000_002, 130],
  ] as const
  for (const [signal, slots, status] of someOf(ends, 1)) {
    const { cache, said, end } = start(t, ['--only', 'slots-large', '--slots', String(slots)])
    await waitFor('the network to be begun', () =>
      said.err.includes(`making a network of 0 accounts and ${slots} slots`),
    )
    t.ok(isRunning(`"slots":${slots}`))
    t.equal(await end(signal), status)
    t.match(said.err, new RegExp(`^${signal} ended the run after 0 of 1 scenarios\\.$`, 'm'))
    await waitFor('its processes to end', () => !isRunning(`"slots":${slots}`))
    t.strictSame(
      readdirSync(cache).filter((name) => name.includes('draft') || name.includes(String(slots))),
      [],
      'nothing unfinished is left',
    )
  }
})

/** An endpoint that answers storage reads by `answer`, and no other call. */
async function startEndpoint(t: Test, answer: (body: string) => Promise<string>): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    if (!body.includes('eth_getStorageAt')) return
    response.setHeader('content-type', 'application/json')
    response.end(await answer(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const shortly = ['--quick', '--rounds', '1', '--seconds', '0.1']

t.test('after all scenarios', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const words = ['--url', `${service.origin}/`, '--only', 'slot-cached', ...shortly]
  const { out, said, status } = start(t, words)
  t.equal(await status(), 0, said.err)
  t.equal(readdirSync(out).filter((name) => name.endsWith('.json')).length, 1)
})

t.test('after some scenarios', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const error = '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'
  for (const [answer, status] of [
    [async (body: string) => (await service.post('/', body)).text, 0],
    [async () => error, 1],
  ] as const) {
    const url = await startEndpoint(t, answer)
    // The second scenario never ends, because it gets no answer.
    const words = ['--url', url, '--only', 'slot-cached,receipts', ...shortly]
    const { out, said, end } = start(t, words)
    await waitFor('the second scenario', () => /^\[2 of 2, about 1 min left\] receipts$/m.test(said.err))
    t.equal(await end('SIGTERM'), status, said.err)
    t.match(said.err, /^\[1 of 2, about 1 min left\] slot-cached$/m)
    t.match(said.err, /^SIGTERM ended the run after 1 of 2 scenarios\.$/m)
    const [file = ''] = readdirSync(out).filter((name) => name.endsWith('.json'))
    const { findings } = JSON.parse(readFileSync(join(out, file), 'utf8'))
    t.match(findings, [{ name: 'slot-cached' }])
    t.equal(findings.length, 1)
  }
})
