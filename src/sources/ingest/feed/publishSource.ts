/**
 * Runs a source whose blocks are published, as the one writer of its feed; until this process is that, it stands by:
 * it keeps its store as the feed has it, and takes over when the writer's lease is over.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { FaultError } from '../../../primitives/faults.js'
import { sourceCallsBy } from '../../../primitives/upstreamCalls.js'
import { type Lease, Publisher, type PublishPlan } from '../../feed/publisher.js'
import { CallAnswerer } from '../callAnswerer.js'
import type { IngestFigures } from '../messages.js'
import type { SourceHost } from '../runSource.js'
import type { openTaskStore } from '../taskStore.js'
import { withFeedFigures } from './feedFigures.js'
import { withFollower } from './followFeed.js'

/** Opens the store as the source does. */
type OpenStore = () => ReturnType<typeof openTaskStore>

/** Two senders are recovered of each block that another writer published, as by default in a replica. */
const sendersChecked = 2

/** Runs `source` whenever this process is the writer, until it has ended of itself or the signal is aborted. */
export async function publishSource(
  plan: PublishPlan,
  host: SourceHost,
  openStore: OpenStore,
  source: (host: SourceHost) => Promise<void>,
): Promise<void> {
  const { report, signal, onReady } = host
  const say = (text: string) => report({ type: 'said', text })
  const holder = `${hostname()} ${process.pid} ${randomUUID()}`
  for (;;) {
    onReady?.(new CallAnswerer(report, sourceCallsBy(refuseCalls)))
    const lease = await standBy(plan, openStore, holder, host)
    if (lease === undefined) return
    const { epoch } = lease
    say(`this process writes the feed, with epoch ${epoch}`)
    let publisher: Publisher | undefined
    let figures: IngestFigures | undefined
    const stop = new AbortController()
    const onStop = () => stop.abort()
    signal.addEventListener('abort', onStop)
    if (signal.aborted) onStop()
    const openPublisher = (store: ChainWriter) => {
      publisher = new Publisher(plan, lease, store, say, stop.signal)
      publisher.fenced.addEventListener('abort', onStop)
      return publisher
    }
    await source({
      ...host,
      signal: stop.signal,
      openPublisher,
      report(message) {
        if (message.type === 'figures') figures = message.figures
        report(publisher === undefined ? message : withFeedFigures(message, publisher))
      },
    })
    signal.removeEventListener('abort', onStop)
    if (publisher === undefined) return
    // What was left has been published after the source told its last figures.
    if (figures !== undefined) report(withFeedFigures({ type: 'figures', figures }, publisher))
    if (!publisher.fenced.aborted || signal.aborted) return
    say(`another process writes the feed; this one, of epoch ${epoch}, stands by`)
  }
}

async function refuseCalls(): Promise<never> {
  throw new FaultError({ kind: 'UpstreamsFailed', why: 'this process stands by and asks no node' })
}

/** Follows the feed until this process has the lease and everything that is in the feed; undefined once stopped. */
async function standBy(
  plan: PublishPlan,
  openStore: OpenStore,
  holder: string,
  host: SourceHost,
): Promise<Lease | undefined> {
  return withFollower(await openStore(), { ...plan, sendersChecked }, host, async (follower) => {
    let epoch: number | undefined
    let lease: Lease | undefined
    await follower.run(true, async (log, position) => {
      epoch ??= await log.acquire(holder, plan.leaseMs)
      if (epoch === undefined) return false
      const tip = await log.readTip()
      // Lost again, while the connection was away or entries were applied.
      if (tip.epoch !== epoch) epoch = undefined
      // What the writer before appended last comes first.
      if (epoch === undefined || tip.sequence > position) return false
      lease = { epoch, holder, tip }
      return true
    })
    if (lease === undefined) host.report({ type: 'finished', progress: follower.progress(), stopped: true })
    return lease
  })
}
