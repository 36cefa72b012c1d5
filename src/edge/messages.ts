/** What passes between the main thread, edge 0, and the threads of the other edges. */
import type { Config } from '../config/config.js'
import type { StatusChange } from '../rollup/submissionService.js'
import type { Transport } from '../transport/wire.js'
import type { SourceState } from './chainFeed.js'

/** What an edge's thread knows from its start, as `workerData`. */
export interface EdgeData {
  readonly config: Config
  readonly clientVersion: string
  /** From 1. */
  readonly index: number
  readonly transport: Transport['name']
  /** The port that all edges listen on. */
  readonly port: number
  /** See `transport/totals.ts`. */
  readonly totals: SharedArrayBuffer
  /** Memory of the meter; undefined where nothing is counted. */
  readonly meter: SharedArrayBuffer | undefined
  /** One word for each edge, set once it listens no more. */
  readonly silent: SharedArrayBuffer
}

/**
 * What an edge asks of what there is once in the process.
 *
 *   job     [job, network, its arguments] → its result
 *   submit  [rollup, transaction] → its hash, once it is on disk
 *   filter  [network, name of the call, its argument] → its result; see RemoteFilters
 *   health  [rollup] → as `/health` shows it
 */
export type CallName = 'job' | 'submit' | 'filter' | 'health'

/** From an edge's thread. */
export type EdgeMessage =
  | { readonly type: 'listening' }
  /** Nothing more will come. `isDefect` tells a fault of the program from one that the operator can mend. */
  | { readonly type: 'failed'; readonly message: string; readonly isDefect: boolean; readonly stack?: string }
  /** `args` is msgpack in memory of its own, as of jobs. */
  | {
      readonly type: 'call'
      readonly serial: number
      readonly name: CallName
      readonly args: Uint8Array<ArrayBuffer>
      /** Whoever waits; undefined for a call that is nobody's. */
      readonly keyId: string | undefined
    }
  /** Whoever waits for a call is gone. Its reply comes all the same. */
  | { readonly type: 'cancel'; readonly serial: number }

/** To an edge's thread. */
export type EdgeCommand =
  | {
      readonly type: 'reply'
      readonly serial: number
      readonly reply: Uint8Array<ArrayBuffer>
      /** What the pool took for it. */
      readonly cpuMs: number
    }
  /** The store of a network may have a new head, or the state of its source changed. */
  | { readonly type: 'moved'; readonly network: string; readonly state: SourceState }
  /** A submitted transaction came to a state; it is on disk. */
  | { readonly type: 'status'; readonly rollup: string; readonly change: StatusChange }
  /** Take no new connections, answer what is under way, close everything and end. */
  | { readonly type: 'close' }
  /** Close the server at once: the process is about to end. */
  | { readonly type: 'abandon' }
