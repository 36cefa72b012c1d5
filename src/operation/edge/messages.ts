/** Messages between the main thread (edge 0) and the threads of the other edges. */
import type { SpentMemory } from '../../serving/access/allowances.js'
import type { UsageReport } from '../../serving/access/usageCounter.js'
import type { JobName, JobOwner, NetworkJobs } from '../../serving/pool/jobs.js'
import type { SubmissionRow } from '../../serving/rollup/submissionService.js'
import type { Transport } from '../../serving/transport/wire.js'
import type { Config } from '../config/config.js'
import type { SourceState } from './chainFeed.js'
import type { EdgeSettings } from './settings.js'

/** `workerData` of an edge's thread. */
export interface EdgeData {
  readonly config: Config
  readonly clientVersion: string
  /** Number of the edge, from 1. */
  readonly index: number
  readonly transport: Transport['name']
  readonly port: number
  /** See `transport/totals.ts`. */
  readonly totals: SharedArrayBuffer
  /** See `metrics/edgeCounts.ts`. */
  readonly counts: SharedArrayBuffer
  /** Memory of the units that keys have spent; see `access/allowances.ts`. */
  readonly spent: SpentMemory
  /** Freshness of shared keys; undefined if keys are not shared. See `access/keyFreshness.ts`. */
  readonly keyFreshness: SharedArrayBuffer | undefined
  /** Each network with a source → its state when the edge was started. */
  readonly sources: ReadonlyMap<string, SourceState>
  /** One 32-bit integer per edge: 1 once it has stopped listening. */
  readonly silent: SharedArrayBuffer
}

/**
 * Calls to the parts that exist once per process.
 *
 *   submit  [rollup, transaction] → the id of the submission (`SubmissionId`), once it is on disk
 *   submission  [rollup, a name of `SubmissionReader`, its arguments] → its result, if the edge has no store to read
 *   filter  [network, name of the call, its argument] → its result
 *   health  [rollup] → its entry in `/health`
 *   source  [network, name of a call of its source, its arguments …] → its result
 */
export type CallName = 'submit' | 'submission' | 'filter' | 'health' | 'source'

/** Members of every request to the main thread, a call or a job. */
interface Asked {
  readonly serial: number
  /** msgpack in its own ArrayBuffer, as for jobs. */
  readonly args: Uint8Array<ArrayBuffer>
  /** Key of the caller; undefined if the call has no caller or the caller no key. */
  readonly keyId: string | undefined
  /** See {@link JobOwner}. */
  readonly weight: number | undefined
}

export interface AskedCall extends Asked {
  readonly type: 'call'
  readonly name: CallName
}

/** A job for the pool; see {@link NetworkJobs.run}. */
export interface AskedJob extends Asked {
  readonly type: 'job'
  readonly name: JobName
  readonly network: string
}

/** Messages from an edge's thread. */
export type EdgeMessage =
  | { readonly type: 'listening' }
  /** Usage of keys since the last such message. */
  | { readonly type: 'used'; readonly report: UsageReport }
  /** The last message. `isDefect`: the program is at fault; otherwise the operator can remove the cause. */
  | { readonly type: 'failed'; readonly message: string; readonly isDefect: boolean; readonly stack?: string }
  | AskedCall
  | AskedJob
  /** The caller no longer waits for a call. Its reply is sent nevertheless. */
  | { readonly type: 'cancel'; readonly serial: number }
  /** The caller passed on the oldest outstanding {@link EdgeCommand} `part` of a call. */
  | { readonly type: 'taken'; readonly serial: number }

/** Messages to an edge's thread. */
export type EdgeCommand =
  /** A part of the result of a call. The reply that follows has the last part. */
  | { readonly type: 'part'; readonly serial: number; readonly part: Uint8Array<ArrayBuffer> }
  | {
      readonly type: 'reply'
      readonly serial: number
      readonly reply: Uint8Array<ArrayBuffer>
      /** CPU time that the pool spent on the call. */
      readonly cpuMs: number
    }
  /** The store of a network may have a new head, or the state of its source changed. */
  | { readonly type: 'moved'; readonly network: string; readonly state: SourceState }
  /** The status of a submitted transaction changed and is on disk. */
  | { readonly type: 'status'; readonly rollup: string; readonly row: SubmissionRow }
  /** Report that the server is about to stop. */
  | { readonly type: 'drain' }
  | { readonly type: 'reload'; readonly settings: EdgeSettings }
  /** Accept no new connections, finish open requests, close everything and end. */
  | { readonly type: 'close' }
  /** Close the server at once: the process is about to end. */
  | { readonly type: 'abandon' }
