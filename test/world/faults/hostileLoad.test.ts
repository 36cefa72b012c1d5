/**
 * A hostile load on the program as an operator runs it. Calls every method, subscriptions and pages over both
 * transports at once, with parameters that are changed at random. No turn of the event loop takes long.
 * `HOSTILE_SECONDS=300` makes it longer, `HOSTILE=calls,pages` chooses parts, SEED repeats a run.
 */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { WebSocket } from 'ws'
import { toQuantity } from '../../../src/primitives/bytes.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { HostileCalls } from '../../faults/hostileCalls.js'
import { LogBlocks } from '../../faults/logBlocks.js'
import { mergedConfig, testGenesis } from '../../ingest/chainMaker.js'
import { writeInto } from '../../library/folder.js'
import { notedTurns } from '../../library/loopWatch.js'
import { someOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { copyDemo } from '../../service/servedDemo.js'
import { reportsOf, type Service, startService } from '../../service/service.js'

/** Length of a window, and the number of windows until one has only short turns: machines are sometimes busy. */
const seconds = Number(process.env.HOSTILE_SECONDS ?? 3)
const windowsMax = 8
/** node:http parses all requests of a packet at once, before any code of the program runs. */
const turnMsMax = { uws: 50, node: 100 }
const seed = Number(process.env.SEED ?? Date.now() & 0x7fffffff)

/** An attacker: repeats actions until the load is over. */
class Attacker {
  readonly calls: HostileCalls
  isOver = false
  /** Number of finished actions. */
  done = 0
  readonly #service: Service

  /** Requests of one packet. node:http parses all of them at once, which no setting of it divides. */
  readonly pipelined: number

  constructor(service: Service, seed: number, transport: string) {
    this.#service = service
    this.pipelined = transport === 'uws' ? 200 : 20
    this.calls = new HostileCalls(seed)
  }

  get port(): number {
    return Number(new URL(this.#service.origin).port)
  }

  get network(): 'demo' | 'dev' {
    return this.calls.pick(['demo', 'dev'] as const)
  }

  /** Repeats `work` in this number of lanes; failed work is tried again. */
  repeat(lanes: number, work: () => Promise<void>): void {
    const lane = async () => {
      while (!this.isOver) {
        await work().then(
          () => this.done++,
          () => sleep(20),
        )
      }
    }
    for (let started = 0; started < lanes; started++) void lane()
  }

  post(agent: Agent, path: string, body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const sent = request(
        { host: '127.0.0.1', port: this.port, path, method: 'POST', agent, headers, timeout: 20_000 },
        (response) => {
          let text = ''
          response.on('data', (chunk: Buffer) => {
            if (text.length < 10_000) text += chunk.toString('latin1')
          })
          response.on('end', () => resolve(text))
          response.on('error', reject)
        },
      )
      sent.on('error', reject)
      sent.on('timeout', () => sent.destroy(new Error('late')))
      sent.end(body)
    })
  }

  async socket(): Promise<WebSocket> {
    const socket = new WebSocket(`ws://127.0.0.1:${this.port}/${this.network}/ws`, {
      perMessageDeflate: false,
    })
    socket.on('error', () => {})
    await once(socket, 'open')
    return socket
  }
}

/** The parts of the load. */
const parts: Readonly<Record<string, (attacker: Attacker) => void>> = {
  calls(attacker) {
    const agent = new Agent({ keepAlive: true, maxSockets: 16 })
    attacker.repeat(16, async () => {
      await attacker.post(agent, `/${attacker.network}`, attacker.calls.body())
    })
  },
  sockets(attacker) {
    attacker.repeat(8, async () => {
      const socket = await attacker.socket()
      let due = 0
      socket.on('message', () => due--)
      for (let sent = 0; sent < 500 && socket.readyState === WebSocket.OPEN && !attacker.isOver; sent++) {
        socket.send(attacker.calls.body().slice(0, 900_000))
        due++
        while (due > 20 && socket.readyState === WebSocket.OPEN) await sleep(5)
      }
      socket.terminate()
    })
  },
  subscriptions(attacker) {
    const subscribe = (params: readonly unknown[]) =>
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params })
    const word = () =>
      `0x${attacker.calls.dice
        .throw(2 ** 31)
        .toString(16)
        .padStart(64, '0')}`
    const topic = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
    const kinds: readonly (() => readonly unknown[])[] = [
      () => ['logs', { fromBlock: '0x0', toBlock: '0x0' }],
      () => ['logs', { topics: [[topic(1), word()], [word()]] }],
      () => ['logs', { topics: [attacker.calls.dice.times(200, word)] }],
      () => ['logs'],
      () => ['logs', { policy: 'dropOldest', queueBytes: 2 ** 24 }],
      () => ['logs', { replayFrom: '0x0' }],
      () => ['transactionReceipts', { replayFrom: '0x1' }],
      () => ['transactionReceipts'],
      () => ['newHeads', { replayFrom: '0x0' }],
      () => ['newHeads', { policy: 'conflate' }],
      () => ['newPendingTransactions', true],
      () => ['syncing'],
    ]
    attacker.repeat(16, async () => {
      const socket = await attacker.socket()
      const isReader = attacker.calls.dice.throw(2) === 0
      if (!isReader) socket.pause()
      for (let sent = 0; sent < 1_000 && socket.readyState === WebSocket.OPEN; sent++) {
        socket.send(subscribe(attacker.calls.pick(kinds)()))
        if (sent % 50 === 0) await sleep(5)
      }
      await Promise.race([sleep(2_000 + attacker.calls.dice.throw(8_000)), once(socket, 'close')])
      socket.terminate()
    })
  },
  pages(attacker) {
    const heads = [
      'GET / HTTP/1.1',
      'HEAD / HTTP/1.1',
      'GET /health HTTP/1.1',
      'OPTIONS / HTTP/1.1',
      'GET /demo/block/latest HTTP/1.1',
      'GET /nothing HTTP/1.1',
      'GET /openrpc.json HTTP/1.1',
    ]
    attacker.repeat(8, async () => {
      const socket = connect(attacker.port, '127.0.0.1')
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.resume()
      const head = attacker.calls.pick(heads)
      const text = `${head}\r\nhost: localhost\r\naccept-encoding: gzip\r\norigin: http://localhost\r\n\r\n`
      for (let sent = 0; sent < 50 && !socket.destroyed; sent++) {
        await new Promise<void>((resolve) => socket.write(text.repeat(attacker.pipelined), () => resolve()))
        await sleep(2)
      }
      socket.destroy()
    })
  },
  readers(attacker) {
    // Clients that request long answers and never read.
    const much = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockReceipts', params: ['latest'] })
    attacker.repeat(8, async () => {
      const socket = await attacker.socket()
      socket.pause()
      for (let sent = 0; sent < 100 && socket.readyState === WebSocket.OPEN; sent++) socket.send(much)
      await Promise.race([sleep(5_000), once(socket, 'close')])
      socket.terminate()
    })
    attacker.repeat(16, async () => {
      const socket = connect(attacker.port, '127.0.0.1')
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.pause()
      const body = `[${Array(20).fill(much).join()}]`
      const head = `POST /dev HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
      socket.write(head + body)
      await Promise.race([sleep(5_000), once(socket, 'close')])
      socket.destroy()
    })
  },
  blocks(attacker) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const made = new LogBlocks((body) => attacker.post(agent, '/dev', body))
    attacker.repeat(1, async () => {
      const answer = await made.make()
      if (!answer.includes('"result"')) throw new Error(answer.slice(0, 200))
      await sleep(500)
    })
  },
}

const chosen = process.env.HOSTILE?.split(',') ?? Object.keys(parts)

for (const transport of someOf(['uws', 'node'] as const, 1)) {
  t.test(
    `${transport}: no turn of the event loop takes long, whatever comes`,
    { timeout: 600_000 },
    async (t) => {
      t.comment(`seed ${seed}`)
      const developer = {
        name: 'dev',
        genesis: 'genesis.json',
        source: { type: 'develop', blockSeconds: 0 },
      }
      const copy = copyDemo(t, { networks: [developer], transport })
      writeInto(copy.folder, 'genesis.json', testGenesis(mergedConfig()))
      const path = writeInto(copy.folder, 'turns', '')
      const watch = join(packageRoot(), 'dist/modules/test/library/loopWatch.js')
      const service = await startService(['--config', copy.config, '--no-auth'], {
        NODE_OPTIONS: `--import=file://${watch}`,
        LOOP_WATCH: path,
      })
      t.teardown(() => service.stop())
      const attackers = chosen.map((name, at) => {
        const attacker = new Attacker(service, seed + at, transport)
        parts[name]?.(attacker)
        return attacker
      })
      // Before a block with logs all subscriptions wait.
      const maker = attackers[chosen.indexOf('blocks')]
      if (maker !== undefined) await waitFor('blocks with logs', () => maker.done > 1)
      let longest = Number.POSITIVE_INFINITY
      const longestAllowed = turnMsMax[transport]
      for (let window = 0; window < windowsMax && longest > longestAllowed; window++) {
        const sinceMs = Date.now()
        await sleep(seconds * 1_000)
        const turns = notedTurns(path, sinceMs).sort((a, b) => b - a)
        const shown = turns.slice(0, 10).map((ms) => ms.toFixed(0))
        t.comment(`longest turns of ${seconds} s: ${shown.join(', ')} ms`)
        longest = turns[0] ?? 0
      }
      t.ok(longest <= longestAllowed, `${longest} ms`)
      for (const attacker of attackers) attacker.isOver = true
      const { exitCode, signalCode } = service.process
      t.same({ exitCode, signalCode }, { exitCode: null, signalCode: null }, service.said.err.slice(-500))
      t.same(reportsOf(service.said.err), [], 'no defect is logged')
      const ask = async (method: string, params: readonly unknown[]) => {
        const { text } = await service.post('/dev', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
        return (JSON.parse(text) as { readonly result?: unknown }).result
      }
      const head = Number(await ask('eth_blockNumber', []))
      await ask('evm_mine', [])
      t.ok(Number(await ask('eth_blockNumber', [])) > head, 'the chain goes on')
      const receipts = await Promise.all(
        Array.from({ length: Math.min(head, 20) }, (_, at) =>
          ask('eth_getBlockReceipts', [toQuantity(head - at)]),
        ),
      )
      t.comment(`${head} blocks`)
      t.ok(receipts.every(Array.isArray), 'with the receipts of its blocks')
    },
  )
}
