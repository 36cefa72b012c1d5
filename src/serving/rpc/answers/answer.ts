import type { Fault } from '../../../primitives/faults.js'
import type { Json, Trust } from '../method.js'

export type { Trust } from '../method.js'

import type { JsonStream } from './jsonStream.js'

/** Text (sent as UTF-8), or pieces that are sent one after another. Empty if all calls were notifications. */
export type AnswerBody = string | readonly (string | Uint8Array)[]

export interface Answer {
  /** HTTP status; ignored by WebSockets. */
  readonly status: number
  /** The bytes may belong to caches: never write to them. */
  readonly body: AnswerBody
  /** The parts after the body, and then `end`; only for callers that take streams. */
  readonly rest?: { readonly stream: JsonStream; readonly end: string }
  /** `Retry-After`, with status 429 or 503. */
  readonly retryAfterMs: number | undefined
  /** Number and hash of the block it was made from, as text; absent on a network without blocks. */
  readonly block?: string | undefined
  /** Absent if everything was executed or proved here; of a batch, the weakest trust of its answers. */
  readonly trust?: Trust | undefined
  /** The result of a single call, or the fault. Both are absent for a defect and for any other request. */
  readonly result?: Json | undefined
  readonly fault?: Fault | undefined
  /** Whether the last piece of the body is stored, and is the same object in each answer with this result. */
  readonly isKept?: boolean | undefined
}
