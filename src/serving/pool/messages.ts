/**
 * Messages between the edge and the threads of the pool, and their encoding. Everything is msgpack in its own memory:
 * a structured clone of a view would copy the whole buffer behind it.
 */
import type { MessagePort } from 'node:worker_threads'
import { Packr } from 'msgpackr'
import { type Fault, FaultError } from '../../primitives/faults.js'
import { NotStoredError, type Wanted } from '../../primitives/notStored.js'

/** A store that threads open when a job first needs it. */
export interface StoreLocation {
  readonly network: string
  readonly path: string
  /** Bytes of address space. */
  readonly mapBytes: number
}

/** `workerData` of a thread. */
export interface ThreadData {
  readonly jobs: Readonly<Record<string, { readonly entry: string; readonly handler: string }>>
  /** URL of the entry that is loaded before the first job; others are loaded when a job first needs them. */
  readonly preload: string
  /** See `jobCells.ts`. */
  readonly cells: SharedArrayBuffer
  readonly stores: readonly StoreLocation[]
  readonly settings: unknown
  readonly niceness: number
}

/** The only task of a thread for Piscina: do jobs until it ends. */
export interface SessionTask {
  /** Jobs come in and replies go out here. */
  readonly port: MessagePort
  /** One word in shared memory that counts the jobs posted. */
  readonly posted: Int32Array
  /** One number in shared memory: the size of the thread's JavaScript heap, in bytes. */
  readonly heap: Float64Array
}

/** Why a job on trial waits again: it takes longer than a trial may, or earlier jobs of its group used up the time. */
export type Postponed = 'long' | 'unbegun'

/** A thread's reply to one of the jobs posted last; the replies to all of them form a {@link Parcel}. */
export interface JobReply {
  /** msgpack, or the reason for its absence. */
  readonly reply: Uint8Array | Postponed
  /** Time on the thread. */
  readonly ranMs: number
  readonly cpuMs: number
}

/** A part of the result of a running job, before its reply. */
export interface JobPart {
  readonly serial: number
  readonly part: Uint8Array<ArrayBuffer>
}

/** Sent once a thread's code is loaded. All its other messages are parcels of {@link JobReply}s, and {@link JobPart}s. */
export interface ThreadReady {
  /** Path of its CPU time, see `threadCpu.ts`. */
  readonly schedstat: string | undefined
}

export interface JobMessage {
  readonly name: string
  readonly network: string | undefined
  /** msgpack. */
  readonly args: Uint8Array
  readonly cell: number
  readonly serial: number
  /** Time from its start after which it must stop. */
  readonly runMsMax: number
  /** Posted in a group because it may be short; postponed if it is not. */
  readonly isTrial: boolean
  /** Parts of its result that it sent before it was interrupted and does not send again. */
  readonly partsGiven: number
}

/**
 * A message to or from a thread: many short pieces as one msgpack, with long byte arrays beside it, which are moved
 * without a copy. Cloning or moving an object or a byte array takes longer than a short piece.
 */
export interface Parcel {
  readonly packed: Uint8Array
  readonly moved: readonly Uint8Array[]
}

/** Records distinguish a Map from an object; each message defines its own. */
const packr = new Packr({ useRecords: true, mapsAsObjects: false, useBigIntExtension: true })

const resultKind = 0
const faultKind = 1
const notStoredKind = 2
const defectKind = 3

type Thrown =
  | readonly [kind: typeof faultKind, fault: Fault]
  | readonly [kind: typeof notStoredKind, wanted: Wanted]
  | readonly [kind: typeof defectKind, message: string, stack: string | undefined]

/** A defect in the work of a job, as thrown on its thread. For the log, not for callers. */
export class JobDefect extends Error {
  override readonly name = 'JobDefect'
}

/** `value` as msgpack in memory that nothing else uses. */
export function encodeArgs(value: unknown): Uint8Array<ArrayBuffer> {
  // Copied, because the encoder reuses its memory.
  return new Uint8Array(packr.pack(value))
}

/** Pieces of this length or more are moved, and so have memory of their own. */
const movedBytesMin = 4_096

/** `value` as msgpack for a {@link Parcel}. Short pieces share memory, because allocation takes as long as all else. */
export function encodePiece(value: unknown): Uint8Array<ArrayBuffer> {
  const packed = packr.pack(value)
  return packed.length < movedBytesMin ? Buffer.from(packed) : new Uint8Array(packed)
}

/** Posts a parcel; its memory then belongs to the receiver. */
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
  cell: number,
  serial: number,
  runMsMax: number,
  isTrial: boolean,
  partsGiven: number,
]

export function packJobs(jobs: readonly JobMessage[]): Parcel {
  const rows = jobs.map(({ name, network, args, ...run }): PackedJob => {
    const { cell, serial, runMsMax, isTrial, partsGiven } = run
    return [name, network, args, cell, serial, runMsMax, isTrial, partsGiven]
  })
  return { packed: encodeArgs(rows), moved: [] }
}

export function unpackJobs({ packed }: Parcel): JobMessage[] {
  return (packr.unpack(packed) as PackedJob[]).map(
    ([name, network, args, cell, serial, runMsMax, isTrial, partsGiven]) => {
      return { name, network, args, cell, serial, runMsMax, isTrial, partsGiven }
    },
  )
}

/** The reply: the msgpack if it is short, `null` if it is moved, or the reason for its absence. */
type PackedReply = readonly [reply: Uint8Array | Postponed | null, ranMs: number, cpuMs: number]

export function packReplies(replies: readonly JobReply[]): Parcel {
  const moved: Uint8Array[] = []
  const rows = replies.map(({ reply, ranMs, cpuMs }): PackedReply => {
    const isMoved = typeof reply !== 'string' && reply.length >= movedBytesMin
    if (isMoved) moved.push(reply)
    return [isMoved ? null : reply, ranMs, cpuMs]
  })
  return { packed: encodeArgs(rows), moved }
}

export function unpackReplies({ packed, moved }: Parcel): JobReply[] {
  let next = 0
  return (packr.unpack(packed) as PackedReply[]).map(([short, ranMs, cpuMs]) => {
    const reply = short ?? (moved[next++] as Uint8Array)
    return { reply, ranMs, cpuMs }
  })
}

/** Byte arrays in the value are views of `bytes`. */
export function decodeArgs(bytes: Uint8Array): unknown {
  return packr.unpack(bytes)
}

export function encodeResult(result: unknown, encode = encodeArgs): Uint8Array<ArrayBuffer> {
  return encode([resultKind, result])
}

/** Encodes an exception: a FaultError or NotStoredError completely, any other with its message and stack. */
export function encodeThrown(thrown: unknown): Uint8Array<ArrayBuffer> {
  if (thrown instanceof FaultError) return encodeArgs([faultKind, thrown.fault] satisfies Thrown)
  if (thrown instanceof NotStoredError) return encodeArgs([notStoredKind, thrown.wanted] satisfies Thrown)
  const { message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
  return encodeArgs([defectKind, message, stack] satisfies Thrown)
}

/** Whether a reply has a result, without decoding it: the kind follows the byte that begins the array. */
export function isResult(reply: Uint8Array): boolean {
  return reply[1] === resultKind
}

/** The result of a job, whose byte arrays are views of `reply`. Throws the job's exception, or {@link JobDefect}. */
export function decodeReply(reply: Uint8Array): unknown {
  if (isResult(reply)) return packr.unpack(reply)[1]
  throw decodeThrown(reply)
}

/** The exception in a reply without a result. */
export function decodeThrown(reply: Uint8Array): Error {
  const [kind, value, stack] = packr.unpack(reply) as Thrown
  if (kind === faultKind) return new FaultError(value)
  if (kind === notStoredKind) return new NotStoredError(value)
  const defect = new JobDefect(value)
  if (stack !== undefined) defect.stack = stack
  return defect
}
