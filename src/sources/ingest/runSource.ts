/**
 * The frame of every source that executes blocks: opens its store, counts what it takes in, and ends in order, whatever
 * happens: what it began, what is left to publish, the store. Owns none of its blocks.
 */
import { setImmediate } from 'node:timers/promises'
import type { ForkSchedule } from '../../data/chain/forks.js'
import type { ChainWriter } from '../../data/store/chainWriter.js'
import type { SourceCalls } from '../../primitives/upstreamCalls.js'
import type { Publisher } from '../feed/publisher.js'
import { CallAnswerer } from './callAnswerer.js'
import { ChainImporter } from './importer.js'
import { ImportSession } from './importSession.js'
import type { IngestMessage, IngestProgress, IngestStore } from './messages.js'
import { openTaskStore } from './taskStore.js'

/** How long the start waits for an upstream to say which chain it has, so that a wrong one is refused at once. */
export const checkMs = 2_000

export type Report = (message: IngestMessage) => void

/** Makes what publishes the blocks of a store; undefined where nothing is published. */
type OpenPublisher = (store: ChainWriter) => Publisher | undefined

/** What a source gets from its thread. */
export interface SourceHost {
  readonly report: Report
  /** Aborted when the source shall end. */
  readonly signal: AbortSignal
  /** Gets what takes calls, once the store is open, of a source that answers any. */
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
  /** Has `end` called when the source ends; what was begun last ends first, but nothing waits for another. */
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
 * Runs a source until `run` has settled; what it imported is on disk then, and published as far as the database answers.
 * Rejects as `run` and {@link openTaskStore} do.
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

/** What has to end with a source. */
export class Ends {
  #ends: (() => unknown)[] = []

  readonly add = (end: () => unknown): void => {
    this.#ends.unshift(end)
  }

  /** Each refuses further work at once; resolves when none of it is under way. */
  async end(): Promise<void> {
    await Promise.all(this.#ends.splice(0).map((end) => end()))
  }
}

/** Has calls answered until the source ends. */
export function takeCalls(
  { report, onReady }: SourceHost,
  onEnd: (end: () => unknown) => void,
  calls: SourceCalls,
): void {
  const answerer = new CallAnswerer(report, calls)
  onEnd(() => answerer.end())
  onReady?.(answerer)
}
