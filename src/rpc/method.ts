/**
 * The shape of a method file: a name, its parameters as decoders, and a `run` whose arguments derive from them.
 * Owns decoding a list or an object of parameters to arguments. Does not own what a parameter may look like
 * (params.ts) nor when and how often a method runs (dispatch.ts).
 */
import type { WholeAnswer, WholeCallClass } from '../pool/jobs.js'
import type { Hash32 } from '../primitives/bytes.js'
import { FaultError } from '../primitives/faults.js'
import type { Wanted } from '../primitives/notHeld.js'
import type { Caller } from './caller.js'
import type { Price } from './price.js'
import type { Schema } from './schema.js'

/** A rendered `result`: JSON as text or as UTF-8 bytes. Bytes are never written to after they are returned. */
export type Json = string | Uint8Array

/** The block that a network seen by a request ends with. */
export interface RpcHead {
  readonly number: number
  /** Undefined on a network without blocks. */
  readonly hash: Hash32 | undefined
  /** Grows with every change of what a tag points to; answers are memoised only within one. */
  readonly generation: number
}

/** The least that dispatch needs to know of a network as it stands at one block. */
export interface RpcNetwork {
  /** The network's name in paths and logs. */
  readonly name: string
  readonly head: RpcHead
  /**
   * Has a thread of the pool read, run and render a call of a method with a {@link MethodDefinition.jobClass}. `text` is
   * the call as JSON, whose memory is given away. Rejects with FaultError: ParseError where that is no JSON, else as
   * jobs do. Absent where there is no such pool, or it may lack data.
   */
  readonly answerWhole?: ((call: LongCall, caller: Caller) => Promise<WholeAnswer>) | undefined
}

/** A call that is left as text. */
export interface LongCall {
  readonly method: string
  readonly jobClass: WholeCallClass
  readonly text: Uint8Array
}

/** A network as of any of its blocks. A view stays what it is, whatever the writer does meanwhile. */
export interface NetworkViews<out N extends RpcNetwork> {
  /** As of the newest block: the same object until that changes. */
  readonly current: N
  /**
   * As of the block with this hash, which all tags then stand for; an object of its own. Undefined where no such
   * block is known.
   */
  pinned(hash: Hash32): N | undefined
  /**
   * Gets what a reader did not hold, so that it is held when this resolves; rejects with FaultError where it cannot be
   * had. Absent on a network that holds all it ever will.
   */
  readonly supply?: ((wanted: Wanted, caller: Caller) => Promise<void>) | undefined
}

/**
 * One parameter: how its JSON value becomes an argument.
 * `decode` throws a FaultError for a value that does not fit; `index` counts parameters from 0.
 */
export interface Param<out T> {
  /** Absent and null values: a fault if `required`, otherwise `fallback` stands in. */
  readonly required: boolean
  readonly fallback: T | undefined
  /** Of the JSON value, for documents: looser than `decode`, which alone decides. */
  readonly schema: Schema
  decode(value: unknown, index: number): T
}

/** The arguments that a tuple of parameters decodes to. */
export type ArgumentsOf<P extends readonly Param<unknown>[]> = {
  readonly [I in keyof P]: P[I] extends Param<infer T> ? T : never
}

export interface MethodDefinition<N extends RpcNetwork, P extends readonly Param<unknown>[]> {
  /** The name on the wire. */
  readonly name: string
  /** What it answers, in one sentence without its full stop. */
  readonly summary?: string
  readonly params: P
  /** Names of `params`, in order. */
  readonly paramNames?: readonly string[]
  /** Whether an object of `paramNames` may stand in place of a list; refused otherwise. */
  readonly byName?: boolean
  /** Of the result. */
  readonly result?: Schema
  /** `inline`: runs to its end on the calling thread. `job`: may hand work to the pool or a disk and answer later. */
  readonly cost: 'inline' | 'job'
  /**
   * The pool's class of work to which the method counts where a thread reads, runs and renders a whole call
   * (wholeCall.ts), as it does with long ones: reading them would hold the edge up. Absent where all calls need the edge.
   */
  readonly jobClass?: WholeCallClass
  /** What each call is charged; price.ts says in which units. */
  readonly price: Price<ArgumentsOf<P>>
  /**
   * `head`: the result is a pure function of the parameters and the network's head, so dispatch may repeat it
   * until the head changes (a null result is never repeated). `never`: each call runs.
   */
  readonly memo: 'head' | 'never'
  /**
   * Answers a call. Returns a promise only for a job or a miss; throws a FaultError for a caller's fault.
   * A job is handed `caller`, so that it ends when nobody waits for its result any more. Long work of its own pauses
   * after `turnMsMax` milliseconds (turns.ts).
   */
  run(network: N, args: ArgumentsOf<P>, caller: Caller, turnMsMax: number): Json | Promise<Json>
}

/** A method as dispatch sees it: its parameters and arguments have no static type any more. */
export interface Method<N extends RpcNetwork = RpcNetwork> {
  readonly name: string
  readonly params: readonly Param<unknown>[]
  readonly summary: string | undefined
  readonly paramNames: readonly string[] | undefined
  readonly byName: boolean
  readonly result: Schema | undefined
  readonly cost: 'inline' | 'job'
  readonly jobClass: WholeCallClass | undefined
  readonly price: Price<readonly unknown[]>
  readonly memo: 'head' | 'never'
  run(network: N, args: readonly unknown[], caller: Caller, turnMsMax: number): Json | Promise<Json>
}

/**
 * Declares a method.
 *
 * @example
 * export const eth_getStorageAt = defineMethod({
 *   name: 'eth_getStorageAt',
 *   params: [address, storageKey, blockId({ acceptsHash: true })],
 *   cost: 'inline',
 *   price: 1,
 *   memo: 'head',
 *   run: (network: Network, [account, slot, block]) => …,
 * })
 */
export function defineMethod<const P extends readonly Param<unknown>[], N extends RpcNetwork>(
  definition: MethodDefinition<N, P>,
): Method<N> {
  const {
    name,
    summary,
    params,
    paramNames,
    byName = false,
    result,
    cost,
    jobClass,
    price,
    memo,
  } = definition
  if (paramNames !== undefined && paramNames.length !== params.length) {
    throw new RangeError(`${name} has ${params.length} parameters but ${paramNames.length} names`)
  }
  return {
    name,
    summary,
    params,
    paramNames,
    byName,
    result,
    cost,
    jobClass,
    price: price as Price<readonly unknown[]>,
    memo,
    run: (network, args, caller, turnMsMax) =>
      definition.run(network, args as ArgumentsOf<P>, caller, turnMsMax),
  }
}

/**
 * Decodes the `params` member of a call, in go-ethereum's order: the values that are there, then a surplus, then
 * what is missing. Absent and null `params` are no parameters. Throws FaultError.
 */
export function decodeParams(method: Method<never>, raw: unknown): unknown[] {
  const { params } = method
  const values = Array.isArray(raw) ? raw : positional(method, raw)
  const args: unknown[] = new Array(params.length)
  for (let index = 0; index < params.length; index++) {
    const param = params[index] as Param<unknown>
    const value: unknown = values[index]
    if (value !== undefined && value !== null) args[index] = param.decode(value, index)
    else if (!param.required) args[index] = param.fallback
    // A null that has a value after it is a fault at once; an absent tail waits for the count of the surplus.
    else if (index < values.length) throw new FaultError({ kind: 'MissingArgument', index })
    else args[index] = undefined
  }
  if (values.length > params.length) throw new FaultError({ kind: 'TooManyArguments', max: params.length })
  for (let index = values.length; index < params.length; index++) {
    if (params[index]?.required) throw new FaultError({ kind: 'MissingArgument', index })
  }
  return args
}

function positional(method: Method<never>, raw: unknown): readonly unknown[] {
  if (raw === undefined || raw === null) return []
  const { paramNames: names, byName } = method
  if (!byName || names === undefined || typeof raw !== 'object')
    throw new FaultError({ kind: 'ParamsNotArray' })
  const named = new Map<string, unknown>(Object.entries(raw))
  for (const name of named.keys()) {
    if (!names.includes(name)) throw new FaultError({ kind: 'UnknownArgument', name })
  }
  const values = names.map((name) => named.get(name))
  while (values.length > 0 && values.at(-1) === undefined) values.pop()
  return values
}
