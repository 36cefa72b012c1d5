/**
 * Waiting data of clients that do not read, or that do not finish their requests, are charged. The memory of the
 * program, by the operating system, grows by no more than its own count, within 10 %. Runs three kinds of attacks on one
 * transport, others in each run. `KILLS` or `RUNS` ask for all kinds, `KILLS` also for all at once. Buffers of the operating
 * system are not the program's. SEED repeats a run.
 */
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { WebSocket } from 'ws'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { LogBlocks } from '../../faults/logBlocks.js'
import { mergedConfig, testGenesis } from '../../ingest/chainMaker.js'
import { writeInto } from '../../library/folder.js'
import { Dice, killsAll, someOf } from '../../library/property.js'
import { until, waitFor } from '../../library/until.js'
import { adminOf } from '../../service/adminClient.js'
import { copyDemo } from '../../service/servedDemo.js'
import { reportsOf, startService } from '../../service/service.js'

const seed = Number(process.env.SEED ?? Date.now() & 0x7fffffff)
const mebibyte = 2 ** 20

/** Memory with limits of its own, which grows once: caches, compiled code, halves of a young generation. */
const otherBytes = 32 * mebibyte

/** Other growth at the same moment hides an attack once; uncharged bytes show at each attempt. */
const triesMax = 3

/** A time within which the slowest of these calls ends. */
const restMs = 1_000

const contract = `0x${'0'.repeat(36)}c0de`

function rpc(method: string, params: unknown, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/** A call whose answer has two characters for each of this number of bytes. */
function longAnswer(bytes: number): string {
  // PUSH3 bytes, PUSH0, RETURN
  const code = `0x62${bytes.toString(16).padStart(6, '0')}5ff3`
  return rpc('eth_call', [{ to: contract }, 'latest', { [contract]: { code } }])
}

/** A trace of a loop, of about this number of bytes, that comes in parts. */
function longTrace(bytes: number): string {
  const gas = `0x${(21_000 + Math.ceil((bytes / 67 / 3) * 11)).toString(16)}`
  return rpc('debug_traceCall', [
    { to: contract, gas },
    'latest',
    { stateOverrides: { [contract]: { code: '0x5b5f56' } } },
  ])
}

function posted(body: string, announced = Buffer.byteLength(body)): string {
  return `POST /demo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${announced}\r\n\r\n${body}`
}

/** Connections of one attack, which never read. */
class Attacker {
  readonly #open: { destroy(): void }[] = []

  constructor(
    readonly port: number,
    readonly dice: Dice,
    readonly makeBlock: () => Promise<unknown>,
  ) {}

  async write(text: string): Promise<void> {
    const socket = connect(this.port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.pause()
    this.#open.push(socket)
    socket.write(text)
  }

  async send(messages: Iterable<string>, network = 'demo'): Promise<void> {
    const socket = new WebSocket(`ws://127.0.0.1:${this.port}/${network}/ws`, { perMessageDeflate: false })
    socket.on('error', () => {})
    await once(socket, 'open')
    socket.pause()
    this.#open.push({ destroy: () => socket.terminate() })
    for (const message of messages) socket.send(message)
  }

  async times(count: number, work: () => Promise<void>): Promise<void> {
    await Promise.all(Array.from({ length: count }, work))
  }

  leave(): void {
    for (const each of this.#open.splice(0)) each.destroy()
  }
}

const word = (dice: Dice) =>
  `0x${dice
    .throw(2 ** 31)
    .toString(16)
    .padStart(64, '0')}`

type Attack = (attacker: Attacker) => Promise<unknown>

const longAnswers: Attack = (attacker) =>
  attacker.times(10, () => attacker.write(posted(longAnswer(4_000_000 + attacker.dice.throw(200_000)))))

const batches: Attack = (attacker) =>
  attacker.times(6, () => {
    const call = longAnswer(100_000 + attacker.dice.throw(1_000_000))
    return attacker.write(posted(`[${Array(10).fill(call).join()}]`))
  })

/** Loopback takes some 4 MB by itself. */
const streams: Attack = (attacker) =>
  attacker.times(16, () => attacker.write(posted(longTrace(4_000_000 + attacker.dice.throw(1_200_000)))))

const pages: Attack = (attacker) =>
  attacker.times(20, () => {
    const asked = [
      posted(rpc('eth_getBlockReceipts', ['latest'])),
      'GET /openrpc.json HTTP/1.1\r\nhost: localhost\r\n\r\n',
    ]
    return attacker.write(attacker.dice.times(200, () => asked[attacker.dice.throw(2)] as string).join(''))
  })

const sockets: Attack = (attacker) =>
  attacker.times(12, () => {
    const short = Array<string>(200).fill(longAnswer(10_000))
    return attacker.send([...attacker.dice.times(2, () => longAnswer(4_000_000)), ...short])
  })

const subscriptions: Attack = (attacker) =>
  attacker.times(16, () => {
    const { dice } = attacker
    const kinds: readonly (() => readonly unknown[])[] = [
      () => ['logs', { topics: [dice.times(10, () => word(dice))] }],
      () => ['logs', { replayFrom: '0x0' }],
      () => ['transactionReceipts', { replayFrom: '0x1' }],
      () => ['newHeads', { replayFrom: '0x0', policy: 'conflate' }],
      () => ['newPendingTransactions', true],
      () => ['syncing'],
    ]
    const one = () => rpc('eth_subscribe', (kinds[dice.throw(kinds.length)] as () => readonly unknown[])())
    return attacker.send(dice.times(900, one))
  })

/**
 * Subscriptions to a chain whose blocks come during the attack, each with thousands of logs. The first block comes once
 * all are subscribed.
 */
const liveBlocks: Attack = async (attacker) => {
  const kinds = ['newHeads', 'logs', 'transactionReceipts', 'newPendingTransactions']
  await attacker.times(12, () => {
    const each = (kind: string) => rpc('eth_subscribe', [kind])
    return attacker.send(
      attacker.dice.times(12, () => each(kinds[attacker.dice.throw(4)] as string)),
      'dev',
    )
  })
  await sleep(restMs)
  for (let made = 0; made < 4; made++) await attacker.makeBlock()
}

const bodies: Attack = (attacker) =>
  attacker.times(30, () => {
    const begun = ' '.repeat(mebibyte + attacker.dice.throw(3 * mebibyte))
    return attacker.write(posted(begun, 5 * mebibyte))
  })

const attacks: Readonly<Record<string, readonly Attack[]>> = {
  'long answers and batches over HTTP': [longAnswers, batches],
  'streams and pages': [streams, pages],
  'answers over WebSockets': [sockets],
  'subscriptions, and bodies that do not end': [subscriptions, bodies],
  'subscriptions while blocks come, and answers': [liveBlocks, longAnswers, sockets],
  ...(process.env.KILLS !== undefined && {
    'all at once': [longAnswers, batches, streams, pages, sockets, subscriptions, liveBlocks, bodies],
  }),
}

for (const transport of someOf(['uws', 'node'] as const, 1)) {
  t.test(`${transport}: bytes that wait are charged`, { timeout: 600_000 }, async (t) => {
    t.comment(`seed ${seed}`)
    const dice = new Dice(seed)
    const source = { type: 'develop', blockSeconds: 0 }
    const networks = [{ name: 'dev', genesis: 'genesis.json', source }]
    const copy = copyDemo(t, { transport, networks, limits: { poolThreads: 2 }, admin: { port: 0 } })
    writeInto(copy.folder, 'genesis.json', testGenesis(mergedConfig()))
    const path = writeInto(copy.folder, 'collected', '')
    const service = await startService(['--config', copy.config, '--no-auth'], {
      NODE_OPTIONS: `--import=file://${join(packageRoot(), 'dist/modules/test/library/heapWatch.js')}`,
      HEAP_WATCH: path,
      // Freed memory returns to the operating system at once.
      MALLOC_MMAP_THRESHOLD_: '65536',
      MALLOC_TRIM_THRESHOLD_: '65536',
    })
    t.teardown(() => service.stop())
    const admin = await adminOf(service, copy.dataDir)
    const port = Number(new URL(service.origin).port)
    const blocks = new LogBlocks(async (body) => (await service.post('/dev', body)).text)
    t.match(await blocks.make(), '"result"', 'the contract')

    /** Charged bytes, and the finished work of the pool. */
    const figures = async () => {
      const metrics = await admin.metrics()
      const of = (name: string) => metrics.get(`tidegate_${name}_bytes`) ?? Number.NaN
      const done = [...metrics].filter(([name]) => name.startsWith('tidegate_pool_finished_jobs_total'))
      const charged = of('body_buffer') + of('websocket_buffer') + of('subscription')
      return { charged, done: done.reduce((sum, [, count]) => sum + count, 0) }
    }
    /** Resident memory without mapped files, after a garbage collection. */
    const held = async () => {
      const { size } = statSync(path)
      process.kill(service.process.pid as number, 'SIGUSR2')
      await until(() => statSync(path).size > size)
      const status = readFileSync(`/proc/${service.process.pid}/status`, 'latin1')
      return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]) * 1024
    }
    /** The charged bytes, once they are stable for a while: threads of unread streams stay busy. */
    const settled = async () => {
      let last = await figures()
      let sinceMs = performance.now()
      await waitFor(
        'the server to be at rest',
        async () => {
          const now = await figures()
          if (now.charged !== last.charged || now.done !== last.done) sinceMs = performance.now()
          last = now
          return performance.now() - sinceMs > restMs
        },
        100,
      )
      return last.charged
    }

    const isCharged = async (name: string, chosen: readonly Attack[]) => {
      const attacker = new Attacker(port, dice, () => blocks.make())
      const before = await held()
      await Promise.all(chosen.map((each) => each(attacker)))
      const charged = await settled()
      const waits = (await held()) - before
      attacker.leave()
      await waitFor('everything to be given back', async () => (await figures()).charged === 0)
      t.comment(`${name}: ${(waits / 1e6).toFixed(1)} MB wait, ${(charged / 1e6).toFixed(1)} MB are charged`)
      return waits <= 1.1 * charged + otherBytes
    }
    // Threads of the pool, and the thread that makes blocks, take memory of their own once.
    await isCharged('long answers and blocks, first', [longAnswers, liveBlocks])
    const all = Object.entries(attacks)
    for (const [name, chosen] of killsAll ? all : someOf(all, 3)) {
      let isSo = false
      for (let tried = 0; !isSo && tried < triesMax; tried++) isSo = await isCharged(name, chosen)
      t.ok(isSo, name)
    }
    t.same(reportsOf(service.said.err), [], 'no defect is logged')
  })
}
