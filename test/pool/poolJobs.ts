/** Jobs that only tests run: good and bad behaviour of a thread, without any store. */

import type { Fault } from '../../src/primitives/faults.js'
import { Pool } from '../../src/serving/pool/pool.js'
import type {
  ClassLimits,
  JobDefinition,
  PoolOptions,
  ThreadLoss,
} from '../../src/serving/pool/poolOptions.js'

export interface TestJobs {
  /** Returns its argument; counts as short. */
  readonly echo: { readonly class: 'proof'; readonly args: unknown; readonly result: unknown }
  /** Returns `bytes` equal bytes after computing for `ms`. */
  readonly fill: {
    readonly class: 'proof'
    readonly args: { readonly bytes: number; readonly value: number; readonly ms?: number }
    readonly result: Uint8Array
  }
  /** Number of bytes from its last `fill` that the thread can still access. */
  readonly leftBehind: { readonly class: 'proof'; readonly args: null; readonly result: number }
  readonly whoAmI: {
    readonly class: 'proof'
    readonly args: null
    readonly result: { readonly thread: number; readonly niceness: number }
  }
  /** Computes for `ms`, unless asked to stop; returns whether it finished. */
  readonly spin: {
    readonly class: 'execute'
    readonly args: { readonly ms: number }
    readonly result: boolean
  }
  /** Computes for `ms` like an execution: throws ExecutionTimedOut if asked to stop. */
  readonly execute: {
    readonly class: 'turns'
    readonly args: { readonly ms: number }
    readonly result: null
  }
  /** Sends `count` parts, each with its number, after computing for `ms`. */
  readonly tell: {
    readonly class: 'turns'
    readonly args: { readonly count: number; readonly ms: number }
    readonly result: null
  }
  /**
   * After `ms`, checks `looks` times whether to stop; returns how often it was started under its name. Counts as short.
   */
  readonly dash: {
    readonly class: 'turns'
    readonly args: { readonly name: string; readonly looks: number; readonly ms?: number }
    readonly result: number
  }
  /** Sleeps `times` times for `ms`, and checks after each whether to stop. */
  readonly doze: {
    readonly class: 'execute'
    readonly args: { readonly ms: number; readonly times: number }
    readonly result: number
  }
  /** Computes for `ms` and never checks whether to stop. */
  readonly stubborn: {
    readonly class: 'execute'
    readonly args: { readonly ms: number }
    readonly result: null
  }
  /** Like `stubborn`, but it counts as short for any `ms`. */
  readonly linger: { readonly class: 'proof'; readonly args: { readonly ms: number }; readonly result: null }
  /** Number of the head of the job's network. */
  readonly readHead: { readonly class: 'proof'; readonly args: null; readonly result: number }
  /** Reads and iterates over the network's store for `ms` and never checks whether to stop. */
  readonly readStubbornly: {
    readonly class: 'execute'
    readonly args: { readonly ms: number }
    readonly result: null
  }
  /** Ends the thread. */
  readonly exit: { readonly class: 'execute'; readonly args: number; readonly result: never }
  /** Like `exit`, but counts as short. */
  readonly quit: { readonly class: 'proof'; readonly args: number; readonly result: never }
  readonly throwError: { readonly class: 'execute'; readonly args: string; readonly result: never }
  /** Throws outside any handler, while the job waits. */
  readonly throwOutside: { readonly class: 'execute'; readonly args: string; readonly result: never }
  readonly throwFault: { readonly class: 'execute'; readonly args: Fault; readonly result: never }
  readonly lackBlock: { readonly class: 'execute'; readonly args: number; readonly result: never }
  /** Fills the heap. */
  readonly allocate: { readonly class: 'execute'; readonly args: null; readonly result: never }
  /** Computes for `ms`, in any case; like `stubborn`, in a class of its own. */
  readonly work: { readonly class: 'slots'; readonly args: { readonly ms: number }; readonly result: null }
}

type TestClass = TestJobs[keyof TestJobs]['class']

const entry = new URL('./poolThread.js', import.meta.url)

function job<C extends TestClass>(className: C, handler: keyof TestJobs): JobDefinition<C> {
  return { class: className, entry: entry.href, handler }
}

const limits: ClassLimits = {
  waitingMax: 1_000,
  deadlineMsMax: 3_600_000,
  runMsMax: 1_800_000,
  timedOut: { kind: 'ExecutionTimedOut', limitSeconds: 30 },
}

/** A pool of test jobs whose limits are too high to reach by accident. `losses` collects its reports. */
export function openTestPool(
  options: Partial<Omit<PoolOptions<TestJobs>, 'classes'>> & {
    readonly classes?: { readonly [C in TestClass]?: Partial<ClassLimits> }
  } = {},
): { readonly pool: Pool<TestJobs>; readonly losses: ThreadLoss[] } {
  const losses: ThreadLoss[] = []
  const { classes, ...others } = options
  const pool = new Pool<TestJobs>({
    threads: 2,
    jobs: {
      echo: { ...job('proof', 'echo'), shortBytesMax: 1_000 },
      fill: job('proof', 'fill'),
      leftBehind: job('proof', 'leftBehind'),
      whoAmI: job('proof', 'whoAmI'),
      spin: job('execute', 'spin'),
      execute: job('turns', 'execute'),
      tell: job('turns', 'tell'),
      dash: { ...job('turns', 'dash'), shortBytesMax: 1_000 },
      doze: job('execute', 'doze'),
      stubborn: job('execute', 'stubborn'),
      linger: { ...job('proof', 'stubborn'), shortBytesMax: 1_000 },
      readHead: job('proof', 'readHead'),
      readStubbornly: job('execute', 'readStubbornly'),
      exit: job('execute', 'exit'),
      quit: { ...job('proof', 'exit'), shortBytesMax: 1_000 },
      throwError: job('execute', 'throwError'),
      throwOutside: job('execute', 'throwOutside'),
      throwFault: job('execute', 'throwFault'),
      lackBlock: job('execute', 'lackBlock'),
      allocate: job('execute', 'allocate'),
      work: job('slots', 'work'),
    },
    classes: {
      proof: { ...limits, ...classes?.proof },
      execute: { ...limits, ...classes?.execute },
      slots: { ...limits, ...classes?.slots },
      turns: { ...limits, turnMs: 20, ...classes?.turns },
    },
    session: new URL('../../workers/session.js', import.meta.url),
    preload: entry,
    stores: [],
    settings: undefined,
    waitingBytesMax: 2 ** 26,
    heapBytesMax: 2 ** 26,
    graceMs: 1_800_000,
    niceness: 0,
    onThreadLost: (loss) => losses.push(loss),
    ...others,
  })
  return { pool, losses }
}
