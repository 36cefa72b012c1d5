/**
 * Time that a head and its logs take of the event loop with thousands of subscribers, without sockets: from the head
 * event to the last event sent, per event.
 *
 *   npm run -s build && node dist/bench/scenarios/streams.js [--subscribers 5000] [--heads 200]
 *
 * Each subscriber has a socket that accepts and drops everything.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { LogFilter } from '../../src/chain/logFilter.js'
import { hexToBytes, toAddress, toHash32 } from '../../src/primitives/bytes.js'
import { NetworkStreams } from '../../src/streams/networkStreams.js'
import { Subscriber } from '../../src/streams/subscriber.js'
import { SubscriberPool } from '../../src/streams/subscriberPool.js'
import { localTotals } from '../../src/transport/totals.js'
import { wideSubscriptionLimits } from '../../test/transport/serverLimits.js'
import { type ChosenLog, ForkingChain } from '../../test/unit/streams/forkingChain.js'

const { values: options } = parseArgs({
  options: {
    subscribers: { type: 'string', default: '5000' },
    heads: { type: 'string', default: '200' },
  },
})
const subscribers = Number(options.subscribers)
const heads = Number(options.heads)

const delivery = { policy: 'close', queueBytes: 2 ** 20 } as const
const pool = new SubscriberPool(wideSubscriptionLimits, localTotals())
const token = `0x${'aa'.repeat(20)}`
const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}`

/** 200 transfers of one token, to receivers of whom a few are watched. */
const transfers: ChosenLog[] = Array.from({ length: 200 }, (_, index) => ({
  address: token,
  topics: [word(1), word(index), word(index * 50)],
}))

interface Scenario {
  readonly name: string
  readonly filterOf: (index: number) => LogFilter | undefined
  readonly logs: readonly ChosenLog[]
}

const toReceiver = (index: number) =>
  new LogFilter({
    addresses: [toAddress(hexToBytes(token))],
    topics: [[toHash32(hexToBytes(word(1)))], [], [toHash32(hexToBytes(word(index)))]],
  })

const scenarios: readonly Scenario[] = [
  { name: 'newHeads, empty blocks', filterOf: () => undefined, logs: [] },
  { name: 'logs, a receiver each, 200 transfers a block', filterOf: toReceiver, logs: transfers },
]

for (const scenario of scenarios) await measure(scenario)

async function measure({ name, filterOf, logs }: Scenario): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  const forks = ForkingChain.openIn(folder)
  const streams = new NetworkStreams(forks.chain, { replayBlocksMax: 10_000 }, (error) => {
    throw error
  })
  let events = 0
  let bytes = 0
  const sink = {
    bufferedBytes: 0,
    send(message: Uint8Array) {
      events++
      bytes += message.length
    },
    close() {
      throw new Error('closed')
    },
  }
  for (let index = 0; index < subscribers; index++) {
    const request = { delivery, filter: filterOf(index), from: undefined, within: undefined }
    streams.subscribe(new Subscriber(sink, undefined, pool), request).start()
  }
  const samples: number[] = []
  let cpuMicros = 0
  for (let i = 0; i < heads; i++) {
    forks.writeNext(logs)
    const before = events
    const cpu = process.cpuUsage()
    const start = performance.now()
    forks.chain.refreshHead()
    // Sending may take several turns of the event loop; it is over after two idle ones.
    for (let seen = -1; seen !== events; ) {
      seen = events
      await nextTurn()
      await nextTurn()
    }
    samples.push(performance.now() - start)
    const { user, system } = process.cpuUsage(cpu)
    cpuMicros += user + system
    if (events === before) throw new Error('a head that nobody heard of')
  }
  const [median = 0, worst = 0] = [0.5, 0.99].map(
    (part) => samples.sort((a, b) => a - b)[Math.floor(heads * part)],
  )
  console.log(
    `${name}: ${subscribers} subscribers, ${Math.round(events / heads)} events of ${Math.round(bytes / events)} bytes a head; ` +
      `${median.toFixed(2)} ms a head (p99 ${worst.toFixed(2)}), ${(cpuMicros / events).toFixed(2)} µs of CPU an event`,
  )
  streams.close()
  await forks.close()
  rmSync(folder, { recursive: true, force: true })
}
