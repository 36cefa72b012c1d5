/**
 * What passes between the edge and the threads of the pool, and how it is written. Everything is msgpack in memory
 * of its own: a structured clone of a view would carry the whole buffer behind it, a request body of 5 MiB for one
 * address in it.
 */
import type { MessagePort } from 'node:worker_threads'
import { Packr } from 'msgpackr'
import { type Fault, FaultError } from '../primitives/faults.js'
import { NotHeldError, type Wanted } from '../primitives/notHeld.js'

/** A store that threads open when a job first asks for it. */
export interface StoreLocation {
  readonly network: string
  readonly path: string
  /** Bytes of address space. */
  readonly mapBytes: number
}

/** Where a job's work is found. */
export interface Work {
  /** URL of the compiled file of the thread's entry. */
  readonly entry: string
  /** The function that the entry exports for this job. */
  readonly handler: string
}

/** What a thread knows from its start, as `workerData`. */
export interface ThreadData {
  /** Every job by its name. */
  readonly works: Readonly<Record<string, Work>>
  /** URL of the entry that is loaded before the first job; others when a job first needs them. */
  readonly preload: string
  /** See {@link JobCells}. */
  readonly cells: SharedArrayBuffer
  readonly stores: readonly StoreLocation[]
  /** What the work itself wants to know. */
  readonly settings: unknown
  /** Scheduling priority as of `os.setPriority`. */
  readonly niceness: number
}

/** The one task that Piscina gives a thread: to do jobs until it ends. */
export interface SessionTask {
  /** Jobs come in and replies go out here. */
  readonly port: MessagePort
  /** One word in shared memory that counts the jobs posted. */
  readonly posted: Int32Array
}

/** What a thread did with the jobs that it was given last, in their order. */
export interface JobReplies {
  /** msgpack. */
  readonly replies: readonly Uint8Array[]
  /** How long each had the thread. */
  readonly ranMs: readonly number[]
  /** How much CPU of the thread each took. */
  readonly cpuMs: readonly number[]
  /** Bodies of those that were told to stop, which may be begun anew. */
  readonly bodies: readonly (Uint8Array | undefined)[]
}

/** What a thread says once its code is loaded. All else that it says are {@link JobReplies}. */
export type ThreadReady = 'ready'

/** A job on its way to a thread. */
export interface JobMessage {
  readonly name: string
  readonly network: string | undefined
  /** msgpack. */
  readonly args: Uint8Array
  /** What was handed over as it is. */
  readonly body: Uint8Array | undefined
  readonly cell: number
  readonly serial: number
  /** Time from its start after which it is told to stop. */
  readonly runMsMax: number
}

/** Records keep the difference between a Map and an object, and each message describes its own. */
const packr = new Packr({ useRecords: true, mapsAsObjects: false, useBigIntExtension: true })

type Reply =
  | readonly [kind: 'result', result: unknown]
  | readonly [kind: 'fault', fault: Fault]
  | readonly [kind: 'notHeld', wanted: Wanted]
  | readonly [kind: 'defect', message: string, stack: string | undefined]

/** A mistake in the work of a job, as it was thrown on its thread. For the log, not for callers. */
export class JobDefect extends Error {
  override readonly name = 'JobDefect'
}

/** `value` as msgpack in memory that nothing else uses. */
export function encodeArgs(value: unknown): Uint8Array<ArrayBuffer> {
  // The encoder returns a window of memory that it goes on using.
  return new Uint8Array(packr.pack(value))
}

/** Bytes in the value are windows of `bytes`. */
export function decodeArgs(bytes: Uint8Array): unknown {
  return packr.unpack(bytes)
}

export function encodeResult(result: unknown): Uint8Array<ArrayBuffer> {
  return encodeArgs(['result', result] satisfies Reply)
}

/** What a job threw: a fault and what is not held whole, of anything else its message and stack. */
export function encodeThrown(thrown: unknown): Uint8Array<ArrayBuffer> {
  if (thrown instanceof FaultError) return encodeArgs(['fault', thrown.fault] satisfies Reply)
  if (thrown instanceof NotHeldError) return encodeArgs(['notHeld', thrown.wanted] satisfies Reply)
  const { message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
  return encodeArgs(['defect', message, stack] satisfies Reply)
}

/** The result of a job. Throws FaultError, NotHeldError or {@link JobDefect} where it threw. Bytes in it are windows of `reply`. */
export function decodeReply(reply: Uint8Array): unknown {
  const [kind, value, stack] = packr.unpack(reply) as Reply
  if (kind === 'result') return value
  if (kind === 'fault') throw new FaultError(value)
  if (kind === 'notHeld') throw new NotHeldError(value)
  const defect = new JobDefect(value)
  if (stack !== undefined) defect.stack = stack
  throw defect
}
