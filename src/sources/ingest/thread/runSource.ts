/**
 * The frame of every source that executes blocks: opens its store, counts its blocks, and always ends in order. First
 * the tasks of the source end, then unpublished blocks are sent, then the store closes. Owns no blocks.
 */
import { setImmediate } from 'node:timers/promises'
import type { ForkSchedule } from '../../../data/chain/forks.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import type { SourceCalls } from '../../../primitives/upstreamCalls.js'
import type { Publisher } from '../../feed/publisher.js'
import { ChainImporter } from '../blocks/importer.js'
import { ImportSession } from '../blocks/importSession.js'
import { CallAnswerer } from './callAnswerer.js'
import type { IngestMessage, IngestProgress, IngestStore } from './messages.js'
import { openTaskStore } from './taskStore.js'

/** How long the start waits until an upstream reports its chain, so that a wrong one is refused at once. */
export const checkMs = 2_000

export type Report = (message: IngestMessage) => void

/** Makes the publisher of a store's blocks; undefined if nothing is published. */
type OpenPublisher = (store: ChainWriter) => Publisher | undefined

/** Services of its thread for a source. */
export interface SourceHost {
  readonly report: Report
  /** Aborted when the source must end. */
  readonly signal: AbortSignal
  /** Gets the answerer of calls once the store is open, if the source answers calls. */
  readonly onReady?: (calls: CallAnswerer) => void
  /** Called once the store is open. */
  readonly openPublisher?: OpenPublisher
}

export interface Source {
  readonly store: ChainWriter
  readonly schedule: ForkSchedule
  readonly importer: ChainImporter
  readonly session: ImportSession
  readonly publisher: Publisher | undefined
  /** Registers `end` for the end of the source. The last registered starts first, but none waits for another. */
  onEnd(end: () => unknown): void
}

/** Progress of a source that imports nothing. */
export const noProgress: IngestProgress = {
  number: 0,
  executed: 0,
  known: 0,
  side: 0,
  gas: 0,
  bytesRead: 0,
  bytesTotal: 0,
  elapsedMs: 0,
}

/**
 * Runs a source until `run` has settled. Then its imports are on disk, and published if the database answers. Rejects
 * as `run` and {@link openTaskStore} do.
 */
export async function runSource(
  task: IngestStore,
  { report, signal, openPublisher }: SourceHost,
  run: (source: Source) => Promise<unknown>,
  open: () => ReturnType<typeof openTaskStore> = () => openTaskStore(task),
): Promise<void> {
  const { store, schedule } = await open()
  const ends = new Ends()
  let publisher: Publisher | undefined
  try {
    publisher = openPublisher?.(store)
    const importer = new ChainImporter(store, schedule)
    const session = new ImportSession(importer, store, report, publisher)
    await run({ store, schedule, importer, session, publisher, onEnd: ends.add })
    await session.commit()
    while (!signal.aborted && store.cutHistory()) await setImmediate()
    await ends.end()
    const progress = { ...session.progress(), number: store.readHead()?.number ?? 0 }
    report({ type: 'finished', progress, stopped: signal.aborted })
  } finally {
    await ends.end()
    try {
      await publisher?.end()
    } finally {
      await store.close()
    }
  }
}

/** Tasks that must end with a source. */
export class Ends {
  #ends: (() => unknown)[] = []

  readonly add = (end: () => unknown): void => {
    this.#ends.unshift(end)
  }

  /** Each refuses further work at once. Resolves when no work is running. */
  async end(): Promise<void> {
    await Promise.all(this.#ends.splice(0).map((end) => end()))
  }
}

/** Answers calls until the source ends. */
export function takeCalls(
  { report, onReady }: SourceHost,
  onEnd: (end: () => unknown) => void,
  calls: SourceCalls,
): void {
  const answerer = new CallAnswerer(report, calls)
  onEnd(() => answerer.end())
  onReady?.(answerer)
}
