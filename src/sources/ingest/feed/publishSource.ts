/**
 * Runs a source whose blocks are published, as the only writer of its feed. Until this process has the lease, it stands
 * by: it keeps its store equal to the feed, and takes over when the writer's lease ends.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { FaultError } from '../../../primitives/faults.js'
import { sourceCallsBy } from '../../../primitives/upstreamCalls.js'
import { type Lease, Publisher, type PublishPlan } from '../../feed/publisher.js'
import { CallAnswerer } from '../thread/callAnswerer.js'
import type { IngestFigures } from '../thread/messages.js'
import type { SourceHost } from '../thread/runSource.js'
import type { openTaskStore } from '../thread/taskStore.js'
import { withFeedFigures, withFollower } from './followFeed.js'

/** Opens the store as the source does. */
type OpenStore = () => ReturnType<typeof openTaskStore>

/** Number of senders that are recovered in each block of another writer: the default of a replica. */
const sendersChecked = 2

/** Runs `source` whenever this process is the writer, until the source ends or the signal is aborted. */
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
    // The remaining blocks were published after the source reported its last figures.
    if (figures !== undefined) report(withFeedFigures({ type: 'figures', figures }, publisher))
    if (!publisher.fenced.aborted || signal.aborted) return
    say(`another process writes the feed; this one, of epoch ${epoch}, stands by`)
  }
}

async function refuseCalls(): Promise<never> {
  throw new FaultError({ kind: 'UpstreamsFailed', why: 'this process stands by and asks no node' })
}

/** Follows the feed until this process has the lease and all entries of the feed; undefined once stopped. */
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
      // The last entries of the previous writer are applied first.
      if (epoch === undefined || tip.sequence > position) return false
      lease = { epoch, holder, tip }
      return true
    })
    if (lease === undefined) host.report({ type: 'finished', progress: follower.progress(), stopped: true })
    return lease
  })
}
