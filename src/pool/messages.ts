/**
 * Messages between the edge and the threads of the pool, and their encoding. Everything is msgpack in its own memory:
 * a structured clone of a view would copy the whole buffer behind it, such as a body of 5 MiB for one address.
 */
import type { MessagePort } from 'node:worker_threads'
import { Packr } from 'msgpackr'
import { type Fault, FaultError } from '../primitives/faults.js'
import { NotHeldError, type Wanted } from '../primitives/notHeld.js'

/** A store that threads open when a job first needs it. */
export interface StoreLocation {
  readonly network: string
  readonly path: string
  /** Bytes of address space. */
  readonly mapBytes: number
}

/** Place of a job's work. */
export interface Work {
  /** URL of the compiled file of the thread's entry. */
  readonly entry: string
  /** The function that the entry exports for this job. */
  readonly handler: string
}

/** `workerData` of a thread. */
export interface ThreadData {
  /** Every job by its name. */
  readonly works: Readonly<Record<string, Work>>
  /** URL of the entry that is loaded before the first job; others are loaded when a job first needs them. */
  readonly preload: string
  /** See {@link JobCells}. */
  readonly cells: SharedArrayBuffer
  readonly stores: readonly StoreLocation[]
  /** Settings for the work itself. */
  readonly settings: unknown
  /** Priority as in `os.setPriority`. */
  readonly niceness: number
}

/** The only task of a thread for Piscina: do jobs until it ends. */
export interface SessionTask {
  /** Jobs come in and replies go out here. */
  readonly port: MessagePort
  /** One word in shared memory that counts the jobs posted. */
  readonly posted: Int32Array
  /** One number in shared memory, in which the thread says how large its JavaScript heap is, in bytes. */
  readonly heap: Float64Array
}

/**
 * Why a job on trial is not done and waits again: it takes longer than a trial may, or the jobs before it took the
 * time.
 */
export type PutOff = 'long' | 'unbegun'

/** Replies to the jobs posted last, in their order; as a {@link Parcel} on the way. */
export interface JobReplies {
  /** msgpack, or why there is none. */
  readonly replies: readonly (Uint8Array | PutOff)[]
  /** Run time of each on the thread, in ms. */
  readonly ranMs: readonly number[]
  /** CPU time of each, in ms. */
  readonly cpuMs: readonly number[]
  /** Bodies of jobs that were told to stop and may begin again. */
  readonly bodies: readonly (Uint8Array | undefined)[]
}

/** A part of the result of a running job, before its reply. */
export interface JobPart {
  readonly serial: number
  readonly part: Uint8Array<ArrayBuffer>
}

/** Sent once a thread's code is loaded. All its other messages are parcels of {@link JobReplies}, and {@link JobPart}s. */
export type ThreadReady = 'ready'

/** A job for a thread. */
export interface JobMessage {
  readonly name: string
  readonly network: string | undefined
  /** msgpack. */
  readonly args: Uint8Array
  /** Bytes transferred besides the arguments. */
  readonly body: Uint8Array | undefined
  readonly cell: number
  readonly serial: number
  /** Time from its start after which it must stop. */
  readonly runMsMax: number
  /** It was posted with others because it may be short, and is put off if it is not. */
  readonly isTrial: boolean
}

/**
 * A message to or from a thread: many short pieces as one msgpack, because each object and each byte array that is
 * cloned or moved takes longer than a short piece; long byte arrays are moved beside it, without a copy.
 */
export interface Parcel {
  readonly packed: Uint8Array
  readonly moved: readonly Uint8Array[]
}

/** Records distinguish a Map from an object; each message defines its own. */
const packr = new Packr({ useRecords: true, mapsAsObjects: false, useBigIntExtension: true })

type Reply =
  | readonly [kind: 'result', result: unknown]
  | readonly [kind: 'fault', fault: Fault]
  | readonly [kind: 'notHeld', wanted: Wanted]
  | readonly [kind: 'defect', message: string, stack: string | undefined]

/** A defect in the work of a job, as thrown on its thread. For the log, not for callers. */
export class JobDefect extends Error {
  override readonly name = 'JobDefect'
}

/** `value` as msgpack in memory that nothing else uses. */
export function encodeArgs(value: unknown): Uint8Array<ArrayBuffer> {
  // Copied, because the encoder reuses its memory.
  return new Uint8Array(packr.pack(value))
}

/** Pieces from this length on are moved, and so have memory of their own. */
const movedBytesMin = 4_096

/**
 * `value` as msgpack for a {@link Parcel}; shorter ones share memory, because to allocate and to collect it takes as
 * long as the rest.
 */
export function encodePiece(value: unknown): Uint8Array<ArrayBuffer> {
  const packed = packr.pack(value)
  return packed.length < movedBytesMin ? Buffer.from(packed) : new Uint8Array(packed)
}

/** Posts a parcel, whose memory is then gone. */
export function post(port: MessagePort, parcel: Parcel): void {
  const { packed, moved } = parcel
  port.postMessage(
    parcel,
    [packed, ...moved].map(({ buffer }) => buffer as ArrayBuffer),
  )
}

type PackedJob = readonly [
  name: string,
  network: string | undefined,
  args: Uint8Array,
  hasBody: boolean,
  cell: number,
  serial: number,
  runMsMax: number,
  isTrial: boolean,
]

export function packJobs(jobs: readonly JobMessage[]): Parcel {
  const moved: Uint8Array[] = []
  const rows = jobs.map(({ name, network, args, body, cell, serial, runMsMax, isTrial }): PackedJob => {
    if (body !== undefined) moved.push(body)
    return [name, network, args, body !== undefined, cell, serial, runMsMax, isTrial]
  })
  return { packed: encodeArgs(rows), moved }
}

export function unpackJobs({ packed, moved }: Parcel): JobMessage[] {
  let next = 0
  return (packr.unpack(packed) as PackedJob[]).map(
    ([name, network, args, hasBody, cell, serial, runMsMax, isTrial]) => {
      const body = hasBody ? moved[next++] : undefined
      return { name, network, args, body, cell, serial, runMsMax, isTrial }
    },
  )
}

/** Of each reply the msgpack if it is short, `null` if it is moved, or why there is none. */
type PackedReplies = readonly [
  replies: readonly (Uint8Array | PutOff | null)[],
  ranMs: readonly number[],
  cpuMs: readonly number[],
  hasBody: readonly boolean[],
]

export function packReplies({ replies, ranMs, cpuMs, bodies }: JobReplies): Parcel {
  const moved: Uint8Array[] = []
  const short = replies.map((reply) => {
    if (typeof reply === 'string' || reply.length < movedBytesMin) return reply
    moved.push(reply)
    return null
  })
  const hasBody = bodies.map((body) => {
    if (body !== undefined) moved.push(body)
    return body !== undefined
  })
  return { packed: encodeArgs([short, ranMs, cpuMs, hasBody] satisfies PackedReplies), moved }
}

export function unpackReplies({ packed, moved }: Parcel): JobReplies {
  const [short, ranMs, cpuMs, hasBody] = packr.unpack(packed) as PackedReplies
  let next = 0
  const replies = short.map((reply) => reply ?? (moved[next++] as Uint8Array))
  return { replies, ranMs, cpuMs, bodies: hasBody.map((has) => (has ? moved[next++] : undefined)) }
}

/** Byte arrays in the value are views of `bytes`. */
export function decodeArgs(bytes: Uint8Array): unknown {
  return packr.unpack(bytes)
}

export function encodeResult(result: unknown, encode = encodeArgs): Uint8Array<ArrayBuffer> {
  return encode(['result', result] satisfies Reply)
}

/**
 * Encodes an exception of a job: a FaultError or NotHeldError completely, any other error with its message and stack.
 */
export function encodeThrown(thrown: unknown): Uint8Array<ArrayBuffer> {
  if (thrown instanceof FaultError) return encodeArgs(['fault', thrown.fault] satisfies Reply)
  if (thrown instanceof NotHeldError) return encodeArgs(['notHeld', thrown.wanted] satisfies Reply)
  const { message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
  return encodeArgs(['defect', message, stack] satisfies Reply)
}

/**
 * The result of a job. Throws FaultError, NotHeldError or {@link JobDefect} where it threw. Byte arrays in it are
 * views of `reply`.
 */
export function decodeReply(reply: Uint8Array): unknown {
  const [kind, value, stack] = packr.unpack(reply) as Reply
  if (kind === 'result') return value
  if (kind === 'fault') throw new FaultError(value)
  if (kind === 'notHeld') throw new NotHeldError(value)
  const defect = new JobDefect(value)
  if (stack !== undefined) defect.stack = stack
  throw defect
}
