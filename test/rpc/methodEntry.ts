/** What an entry of `methodTable.ts` holds of one method. */
import type { MethodName } from '../../src/serving/rpc/registry.js'
import type { RollupMethodName } from '../../src/serving/rpc/rollup/rollupRegistry.js'

export type AnyMethod = MethodName | RollupMethodName

/** A call; its parameters may need the id that the first call of its sequence gave. */
export type Call = readonly [method: AnyMethod, params: unknown]

/** Calls that are made one after the other, on one connection. */
export type Example = readonly Call[]

/** Stands in parameters for the id that the first call of a sequence gave. */
export const idOfFirst = '<id>'

/** How a network comes by its chain. */
export type Kind = 'archive' | 'follower' | 'replica' | 'gateway'

export type Params = readonly unknown[]

/** A method of any network. */
export interface AnyEntry {
  /** Sequences of calls with this method, asked by `parity.test.ts`. */
  readonly sequences?: readonly Example[]
  /** Parameters of single calls, asked by `parity.test.ts`. They may be an object. */
  readonly examples?: readonly unknown[]
  /** Parameters of a call whose answer on the demo chain is longer than 1 MiB. */
  readonly longCall?: unknown
  /** Text of the answers of these kinds, where they differ from the answers of the archive. */
  readonly ownAnswers?: { readonly [K in Kind]?: RegExp }
  /** The result is an id, a new one each time. */
  readonly givesId?: true
  /** Right parameters with all optional members; `malformedParams.test.ts` makes them wrong. */
  readonly full: readonly Params[]
}

/** A method of a network of blocks. Members that a new method must decide about are not optional. */
export interface MethodEntry extends AnyEntry {
  /**
   * Parameters of questions that read the demo chain, for networks that are compared with its archive; undefined for a
   * method that does not read rows of a chain. `parity.test.ts` asks the first of them where no examples are given.
   */
  readonly reads: readonly Params[] | undefined
  /** Parameters with the given block, as a list that may end with it; undefined for a method that takes no block. */
  readonly pinned: ((block: unknown) => unknown[]) | undefined
}
