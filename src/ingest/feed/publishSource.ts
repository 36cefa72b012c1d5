/**
 * Runs a source whose blocks are published, as the one writer of its feed; until this process is that, it stands by:
 * it keeps its store as the feed has it, and takes over when the writer's lease is over.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Lease, PublishPlan } from '../../feed/publisher.js'
import { Publisher } from '../../feed/publisher.js'
import { FaultError } from '../../primitives/faults.js'
import type { ChainWriter } from '../../store/chainWriter.js'
import { CallTaker } from '../callTaker.js'
import type { IngestFigures, IngestMessage } from '../messages.js'
import { publishFigures } from '../publishFigures.js'
import type { openTaskStore } from '../taskStore.js'
import { withFeedFigures } from './feedFigures.js'
import { FeedFollower } from './followFeed.js'

/** Makes what publishes the blocks of a store, once the source has opened it; undefined where nothing is published. */
export type OpenPublisher = (store: ChainWriter) => Publisher | undefined

/** Opens the store as the source does. */
type OpenStore = () => ReturnType<typeof openTaskStore>

type Report = (message: IngestMessage) => void

/** Two senders are recovered of each block that another writer published, as by default in a replica. */
const sendersChecked = 2

/** Runs `source` whenever this process is the writer, until it has ended of itself or `signal` is aborted. */
export async function publishSource(
  task: { readonly publish: PublishPlan },
  report: Report,
  signal: AbortSignal,
  onReady: (calls: CallTaker) => void,
  openStore: OpenStore,
  source: (openPublisher: OpenPublisher, signal: AbortSignal, report: Report) => Promise<void>,
): Promise<void> {
  const say = (text: string) => report({ type: 'said', text })
  const holder = `${hostname()} ${process.pid} ${randomUUID()}`
  for (;;) {
    onReady(new CallTaker(report, refuseCalls))
    const lease = await standBy(task, openStore, holder, report, signal)
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
      publisher = new Publisher(task.publish, lease, store, say, stop.signal)
      publisher.fenced.addEventListener('abort', onStop)
      return publisher
    }
    await source(openPublisher, stop.signal, (message) => {
      if (message.type === 'figures') figures = message.figures
      report(publisher === undefined ? message : withFeedFigures(message, publisher))
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
  task: { readonly publish: PublishPlan },
  openStore: OpenStore,
  holder: string,
  report: Report,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  const { store, schedule } = await openStore()
  let endFigures = () => {}
  try {
    report({ type: 'opened' })
    const follower = new FeedFollower({ ...task.publish, sendersChecked }, store, schedule, report, signal)
    endFigures = publishFigures((message) => report(withFeedFigures(message, follower)), { store })
    let epoch: number | undefined
    let lease: Lease | undefined
    await follower.run(true, async (log, position) => {
      epoch ??= await log.acquire(holder, task.publish.leaseMs)
      if (epoch === undefined) return false
      const tip = await log.readTip()
      // Lost again, while the connection was away or entries were applied.
      if (tip.epoch !== epoch) epoch = undefined
      // What the writer before appended last comes first.
      if (epoch === undefined || tip.sequence > position) return false
      lease = { epoch, tip }
      return true
    })
    if (lease === undefined) {
      const progress = follower.progress()
      report({ type: 'finished', progress, stopped: true })
    }
    return lease
  } finally {
    endFigures()
    await store.close()
  }
}
