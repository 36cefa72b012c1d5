/**
 * The shape of a method: a name, its parameters as decoders, and a `run` whose argument types derive from them.
 * Owns decoding a list or an object of parameters. Does not own single parameters (params.ts) nor when and how often
 * a method runs (dispatch.ts).
 */

import type { Hash32 } from '../../primitives/bytes.js'
import { type Fault, FaultError } from '../../primitives/faults.js'
import type { Wanted, WantingCall } from '../../primitives/notStored.js'
import type { JobClass } from '../pool/jobs.js'
import type { JsonStream } from './answers/jsonStream.js'
import type { Price } from './contexts/price.js'
import type { RequestContext } from './contexts/requestContext.js'
import type { Schema } from './params/schema.js'
import { byteAt, hashOf, isAt, type Pattern, patternOf, spaceEnd, takeCall } from './reading/callText.js'
import { plainValueEnd } from './reading/scan.js'

/** A rendered `result`: JSON as text or as UTF-8 bytes. Bytes are never changed after they are returned. */
export type Json = string | Uint8Array

/** A result that may change before the head does, so that dispatch never repeats it. */
export class UncacheableResult {
  constructor(readonly json: Json) {}
}

/** The last block of a network as a request sees it. */
export interface RpcHead {
  readonly number: number
  /** Undefined on a network without blocks. */
  readonly hash: Hash32 | undefined
  /** Grows with every change of the block that a tag means; stored answers are valid only within one generation. */
  readonly generation: number
}

/** The parts of a network at one block that dispatch needs. */
export interface RpcNetwork {
  /** The network's name in paths and logs. */
  readonly name: string
  readonly head: RpcHead
  /**
   * The fault of every call of a method with this {@link MethodDefinition.jobClass} while the caller's queue in the
   * pool is full; otherwise undefined.
   */
  readonly refusal?: ((jobClass: JobClass, context: RequestContext) => Fault | undefined) | undefined
}

/** Passes calls of unknown methods on to upstreams. */
export interface MethodRelay {
  passes(method: string): boolean
  /** Returns an upstream's result. `params` is JSON. Rejects with FaultError. */
  ask(method: string, params: string): Promise<Json>
}

/**
 * The sources that a caller has to trust if an answer is not proved. `quorum`: the upstreams that agree on the block of
 * a number. `none`: one upstream, for the whole answer.
 */
export type Trust = 'quorum' | 'none'

export interface ReportedAnswer {
  readonly trust: Trust
  readonly json: string
}

/** Asks upstreams for answers that the network cannot prove or execute. */
export interface ReportedAnswers {
  /** Whether upstreams answer every call of this method, although it is known here. */
  asks(method: string): boolean
  /** Whether upstreams may answer a call of this method that cannot be proved or executed here. */
  mayAsk(method: string): boolean
  /**
   * `params` is JSON. An answer is valid within one `generation` of the head. It stays valid if a quorum gave it and
   * `block`, the number that the parameters name, is final. Rejects with FaultError.
   */
  ask(generation: number, method: string, params: string, block: number | undefined): Promise<ReportedAnswer>
}

/** A network at any of its blocks. A view never changes, even if the store does. */
export interface NetworkViews<out N extends RpcNetwork> {
  /**
   * The network at the newest block: the same object until that block changes. Throws FaultError `NotOpen` if there is
   * no block yet.
   */
  readonly current: N
  /** The network at the block with this hash, a new object; undefined for an unknown block. */
  pinned(hash: Hash32): N | undefined
  /**
   * Fetches missing data; the data is stored when the promise resolves. Rejects with FaultError if the fetch fails.
   * `call` is passed only the first time that a call lacks data. The member is absent on a network that fetches
   * nothing.
   */
  readonly fetchMissing?:
    | ((wanted: Wanted, context: RequestContext, call?: WantingCall) => Promise<void>)
    | undefined
  /** Passes unknown methods on to upstreams; absent on a network without passed methods. */
  readonly relay?: MethodRelay | undefined
  /** Absent if nothing is fetched from upstreams. */
  readonly reported?: ReportedAnswers | undefined
  /** The weakest trust among the data read since this was called last; absent if all data is proved. */
  readonly readEvidence?: (() => Trust | 'proved') | undefined
}

/** How a JSON value becomes an argument. `decode` throws FaultError; `index` counts from 0. */
export interface Param<out T> {
  /** Used in documents, and in requests of methods with `byName`; empty if the parameter has no name. */
  readonly name: string
  /** For absent and null values: a fault if `required`, otherwise `fallback` is the argument. */
  readonly required: boolean
  readonly fallback: T | undefined
  /** Schema of the JSON value, for documentation; only `decode` decides. */
  readonly schema: Schema
  decode(value: unknown, index: number): T
  /** The same parameter under this name. */
  as(name: string): Param<T>
  /**
   * Decodes the JSON value between `start` and `end` of the call (callText.ts); the value has no escapes. Returns the
   * result of `decode`, or undefined if only `decode` can decide. Absent if no value can be read in this form.
   */
  read?(start: number, end: number): T | undefined
}

type ArgumentsOf<P extends readonly Param<unknown>[]> = {
  readonly [I in keyof P]: P[I] extends Param<infer T> ? T : never
}

/** Runs a function that only reads, and runs it again each time data that it lacked was fetched. */
export type WhenStored = <T>(read: () => T | Promise<T>) => T | Promise<T>

/** For methods that only read: dispatch runs the whole method again. */
export const readOnce: WhenStored = (read) => read()

export interface MethodDefinition<N extends RpcNetwork, P extends readonly Param<unknown>[]> {
  /** The name on the wire. Absent in a family of methods: {@link nameMethods} sets it. */
  readonly name?: string
  /** The result, in one sentence without full stop. */
  readonly summary?: string
  /** The parameters; if absent, the method has none. */
  readonly params?: P
  /** Whether an object of parameters by name is accepted instead of a list. */
  readonly byName?: boolean
  readonly result?: Schema
  /**
   * `inline`, the default: runs to its end on the calling thread. `job`: may pass work to the pool or a disk and answer
   * later.
   */
  readonly cost?: 'inline' | 'job'
  /** Whether a cheap call may have a long result: it waits where the turn is over, and its result counts for the turn. */
  readonly mayBeLong?: boolean
  /**
   * The pool's class of its jobs: while the caller fills its queue, calls are refused undecoded. If absent, they are
   * decoded.
   */
  readonly jobClass?: JobClass
  /** Whether the network's configuration may pass calls on to upstreams, as it does for unknown methods. */
  readonly isRelayed?: boolean
  /** Price of a call in compute units; see price.ts. */
  readonly price: Price<ArgumentsOf<P>>
  /**
   * Whether a call changes the data of other callers, or the meaning of the caller's next calls: it sends, subscribes,
   * creates or removes. Such a method runs once, even if data has to be fetched; it passes the parts that only read to
   * `whenStored`.
   */
  readonly effect?: boolean
  /**
   * `head`: the result depends only on the parameters and the head, so it may be repeated. If absent, it is never
   * repeated.
   */
  readonly memo?: 'head' | 'never'
  /**
   * Answers a call. Returns a promise only for a job or for missing data; the promise may resolve to a stream. Throws
   * FaultError for a caller's fault. Pass `context` to jobs, so that they end when the caller leaves. Long work of its
   * own must pause after `turnMsMax` milliseconds (requestSlices.ts). May run again after missing data was fetched,
   * unless the method has an `effect`.
   */
  run(
    network: N,
    args: ArgumentsOf<P>,
    context: RequestContext,
    turnMsMax: number,
    whenStored: WhenStored,
  ): Json | Promise<Json | JsonStream | UncacheableResult>
}

/** A method as dispatch sees it, without the static types of its arguments. */
export interface Method<N extends RpcNetwork = RpcNetwork>
  extends Required<
    Omit<MethodDefinition<N, readonly Param<unknown>[]>, 'summary' | 'result' | 'jobClass' | 'run'>
  > {
  readonly summary: string | undefined
  readonly result: Schema | undefined
  readonly jobClass: JobClass | undefined
  run(
    network: N,
    args: readonly unknown[],
    context: RequestContext,
    turnMsMax: number,
    whenStored: WhenStored,
  ): Json | Promise<Json | JsonStream | UncacheableResult>
}

/**
 * Declares a method.
 *
 * @example
 * eth_getStorageAt: defineMethod({
 *   params: [address.as('address'), storageKey.as('position'), stateBlockId.as('block')],
 *   price: 2,
 *   memo: 'head',
 *   run: ({ state }: Network, [account, slot, block]) => …,
 * })
 */
export function defineMethod<const P extends readonly Param<unknown>[], N extends RpcNetwork>(
  definition: MethodDefinition<N, P>,
): Method<N> {
  const { name = '', params = [], memo = 'never' } = definition
  if (definition.effect === true && memo === 'head')
    throw new RangeError(`${name} has an effect, and is not repeated`)
  const { price, run } = definition as unknown as Pick<Method<N>, 'price' | 'run'>
  const { summary, byName = false, isRelayed = false, effect = false, mayBeLong = false } = definition
  const { result, cost = 'inline', jobClass } = definition
  const call = { params, byName, isRelayed, effect, mayBeLong, cost, jobClass, price, memo, run }
  return { name, summary, result, ...call }
}

/** The methods with their keys as names, sorted by name. */
export function nameMethods<N extends RpcNetwork, K extends string>(
  methods: Readonly<Record<K, Method<N>>>,
): Readonly<Record<K, Method<N>>> {
  const entries = Object.entries<Method<N>>(methods).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, method]) => [name, { ...method, name }])) as Record<
    K,
    Method<N>
  >
}

type ParamShape = Pick<Method<never>, 'params' | 'byName'>

/** Decodes `params` in go-ethereum's order: given values, surplus ones, missing ones. Throws FaultError. */
export function decodeParams(method: ParamShape, raw: unknown): unknown[] {
  const { params } = method
  const values = Array.isArray(raw) ? raw : positional(method, raw)
  const args: unknown[] = new Array(params.length)
  for (let index = 0; index < params.length; index++) {
    const param = params[index] as Param<unknown>
    const value: unknown = values[index]
    if (value !== undefined && value !== null) args[index] = param.decode(value, index)
    else if (!param.required) args[index] = param.fallback
    // A null before other values is a fault at once; missing values at the end are reported after surplus ones.
    else if (index < values.length) throw new FaultError({ kind: 'MissingArgument', index })
    else args[index] = undefined
  }
  if (values.length > params.length) throw new FaultError({ kind: 'TooManyArguments', max: params.length })
  for (let index = values.length; index < params.length; index++) {
    if (params[index]?.required) throw new FaultError({ kind: 'MissingArgument', index })
  }
  return args
}

/**
 * Like {@link decodeParams}, but for the list between `start` and `end` of the call (callText.ts), without making text
 * of the values. Reads only the forms that nearly all clients write. Returns undefined for any other list, right or
 * wrong.
 */
export function readParams(params: Method['params'], start: number, end: number): unknown[] | undefined {
  const args: unknown[] = new Array(params.length)
  const last = end - 1
  let index = 0
  if (byteAt(start) !== openBracket || byteAt(last) !== closeBracket) return undefined
  for (let at = spaceEnd(start + 1); at < last || index > 0; index++) {
    const valueEnd = plainValueEnd(at)
    const value = valueEnd < 0 ? undefined : params[index]?.read?.(at, valueEnd)
    if (value === undefined) return undefined
    args[index] = value
    at = spaceEnd(valueEnd)
    if (at === last) {
      index++
      break
    }
    if (byteAt(at) !== comma) return undefined
    at = spaceEnd(at + 1)
  }
  for (; index < params.length; index++) {
    const { required, fallback } = params[index] as Param<unknown>
    if (required) return undefined
    args[index] = fallback
  }
  return args
}

const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d

/** A method as requests name it. */
export interface NamedMethod {
  readonly name: string
  /** Unique within a table of methods. */
  readonly number: number
  /** Undefined if some parameter cannot be read from bytes ({@link Param.read}). */
  readonly params: Method['params'] | undefined
  /** Whether all parameters can be read from bytes, and a call passes nothing to the pool or a disk. */
  readonly isQuick: boolean
}

/**
 * Finds methods by the bytes of their names. A string for each request would have to be hashed and compared as well.
 */
export class MethodNames {
  readonly #places: { readonly pattern: Pattern; readonly method: NamedMethod }[][]

  /** `readsBytes`: whether parameters that were read from bytes need no text. */
  constructor(methods: Iterable<Method<never>>, readsBytes: boolean) {
    this.#places = Array.from({ length: namePlaces }, () => [])
    let number = 0
    for (const { name, params, isRelayed, cost } of methods) {
      const bytes = Buffer.from(name)
      takeCall(bytes)
      const isRead = readsBytes && !isRelayed && params.every(({ read }) => read !== undefined)
      const isQuick = isRead && cost === 'inline'
      const method = { name, number: number++, params: isRead ? params : undefined, isQuick }
      this.#places[placeOf(0, bytes.length)]?.push({ pattern: patternOf(bytes), method })
    }
  }

  /** The method whose name is between `start` and `end` of the call (callText.ts). */
  find(start: number, end: number): NamedMethod | undefined {
    const place = this.#places[placeOf(start, end)] as []
    for (const { pattern, method } of place as { pattern: Pattern; method: NamedMethod }[]) {
      if (pattern.length === end - start && isAt(start, pattern)) return method
    }
    return undefined
  }
}

/** Several times the number of methods. */
const namePlaces = 512

function placeOf(start: number, end: number): number {
  return hashOf(start, end) & (namePlaces - 1)
}

function positional(method: ParamShape, raw: unknown): readonly unknown[] {
  if (raw === undefined || raw === null) return []
  const { params, byName } = method
  if (!byName || typeof raw !== 'object') throw new FaultError({ kind: 'ParamsNotArray' })
  const named = new Map<string, unknown>(Object.entries(raw))
  for (const name of named.keys()) {
    if (!params.some((param) => param.name === name)) throw new FaultError({ kind: 'UnknownArgument', name })
  }
  const values = params.map(({ name }) => named.get(name))
  while (values.length > 0 && values.at(-1) === undefined) values.pop()
  return values
}
