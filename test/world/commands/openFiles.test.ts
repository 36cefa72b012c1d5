/** A server whose process may have few open files. It reports that, and at the limit it neither spins nor stops. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { once, waitFor } from '../../library/until.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { post } from '../../service/httpClient.js'
import { transports } from '../../transport/eachTransport.js'

const filesMax = 400
const main = join(packageRoot(), 'dist/src/main.js')
const skip = process.platform !== 'linux' && 'Linux alone tells the limit'
const chainId = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'

for (const { name } of transports) {
  t.test(`${name}: at the limit of open files new connections end, and nothing else`, { skip }, async (t) => {
    const words = ['serve', '--port', '0', '--admin-port', '0', '--config', fixtureConfig, '--no-auth']
    const child = spawn(
      'sh',
      ['-c', `ulimit -n ${filesMax}; exec "$0" "$@"`, process.execPath, main, ...words, '--transport', name],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    )
    t.teardown(() => child.kill('SIGKILL'))
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    let origin: string | undefined
    createInterface({ input: child.stdout }).on('line', (line) => {
      origin ??= /listens on (http:\S+)/.exec(line)?.[1]
    })
    await waitFor('the server', () => origin !== undefined)
    const { port, href } = new URL(origin ?? '')
    await waitFor('the warning', () => said.includes(`this process may have ${filesMax} open files`))

    const open = new Set<Socket>()
    let ended = 0
    for (let count = 0; count < filesMax + 100; count++) {
      const socket = connect(Number(port), '127.0.0.1')
      // The head of this request is never complete, so that the connection stays open.
      socket.on('connect', () => socket.write('POST / HTTP/1.1\r\n'))
      socket.on('error', () => undefined)
      socket.on('close', () => {
        ended++
        open.delete(socket)
      })
      open.add(socket)
      await once(socket, 'connect').catch(() => undefined)
    }
    await waitFor('connections that end', () => ended > 100)
    const files = readFileSync(`/proc/${child.pid}/limits`, 'latin1')
    t.match(files, new RegExp(`Max open files +${filesMax} `))
    // The measured time has no requests.
    const before = cpuMs(child.pid)
    await pause(1_000)
    t.ok(cpuMs(child.pid) - before < 500, `${cpuMs(child.pid) - before} ms of CPU in a second`)
    t.equal(said.split('connections reached the limit').length, 2, 'said once a minute')
    for (const socket of open) socket.destroy()
    await waitFor('an answer', async () => (await post(href, chainId).catch(() => undefined))?.status === 200)
    child.kill('SIGTERM')
    const [status] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode]
    t.equal(status, 0)
  })
}

function cpuMs(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  // User and system time, in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10
}
