/** The entry of one method in `methodTable.ts`. */
import type { MethodName } from '../../src/serving/rpc/registry.js'
import type { RollupMethodName } from '../../src/serving/rpc/rollup/rollupRegistry.js'

export type AnyMethod = MethodName | RollupMethodName

/** A call; its parameters may need the id from the first call of its sequence. */
export type Call = readonly [method: AnyMethod, params: unknown]

/** Consecutive calls on one connection. */
export type Example = readonly Call[]

/** Placeholder in parameters for the id from the first call of a sequence. */
export const idOfFirst = '<id>'

/** Kinds of networks by the origin of their chain. */
export type Kind = 'archive' | 'follower' | 'replica' | 'gateway'

export type Params = readonly unknown[]

/** The entry of a method of any kind of network. */
export interface AnyEntry {
  /** Sequences of calls with this method, sent by `parity.test.ts`. */
  readonly sequences?: readonly Example[]
  /** Parameters of single calls, sent by `parity.test.ts`. They may be an object. */
  readonly examples?: readonly unknown[]
  /** Parameters of a call whose answer on the demo chain is longer than 1 MiB. */
  readonly longCall?: unknown
  /** Pattern for the answers of these kinds, if they differ from the archive's. */
  readonly ownAnswers?: { readonly [K in Kind]?: RegExp }
  /** The result is an id, a new one each time. */
  readonly givesId?: true
  /** Valid parameters with all optional members; `malformedParams.test.ts` makes them invalid. */
  readonly full: readonly Params[]
}

/** A method of a network of blocks. Members that every new method must define are not optional. */
export interface MethodEntry extends AnyEntry {
  /**
   * Parameters of questions that read the demo chain, for networks that are compared with its archive. Undefined for a
   * method that does not read rows of a chain. `parity.test.ts` sends the first of them if there are no examples.
   */
  readonly reads: readonly Params[] | undefined
  /**
   * Parameters with the given block, as a list that may end with it; undefined for a method without a block parameter.
   */
  readonly pinned: ((block: unknown) => unknown[]) | undefined
}
