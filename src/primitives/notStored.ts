import { bytesToHex, type Hash32 } from './bytes.js'

/**
 * Data that a reader does not have and cannot report as absent. It is named by its hash if it has one; state is named
 * by the part that was read.
 */
export type Wanted =
  /** The canonical block of this number. */
  | { readonly kind: 'canonical'; readonly number: number }
  | { readonly kind: 'header' | 'body' | 'accessList' | 'code'; readonly hash: Hash32 }
  /** `others`: blocks whose receipts the same request will read next; `search`: position of a log search. */
  | {
      readonly kind: 'receipts'
      readonly hash: Hash32
      readonly others?: readonly Hash32[]
      readonly search?: SearchPlace
    }
  /** The block and index of the transaction with this hash. */
  | { readonly kind: 'location'; readonly hash: Hash32 }
  /** An account, and slots of it, in the state after the block with this hash, which has this state root. */
  | {
      readonly kind: 'state'
      readonly block: Hash32
      readonly stateRoot: Hash32
      readonly address: Uint8Array
      readonly slots: readonly Uint8Array[]
    }

/** The current block of a search from `first` to `last`. */
export interface SearchPlace {
  readonly number: number
  readonly first: number
  readonly last: number
}

/** The call that needs the data, from which its next reads can be guessed. `params` as the caller wrote them. */
export interface WantingCall {
  readonly method: string
  readonly params: unknown
}

/** Fetches data, and for `call` other data that it may lack; resolves to whether no upstream knows it. */
export type FetchMissing = (wanted: Wanted, call?: WantingCall) => Promise<boolean>

/**
 * Thrown by readers for data that is not stored here. A network that can fetch it does so and runs the request again.
 * Any other network turns it into a fault.
 */
export class NotStoredError extends Error {
  override readonly name = 'NotStoredError'
  constructor(readonly wanted: Wanted) {
    super(`not stored: ${nameOf(wanted)}`)
  }
}

/** Like {@link NotStoredError}, but for all data that one execution lacked. */
export class MissingStateError extends NotStoredError {
  constructor(readonly all: readonly [Wanted, ...Wanted[]]) {
    super(all[0])
  }
}

/** A unique text for wanted data, as the key of tables. {@link NotStoredError} has a shorter name, for people. */
export function wantedKey(wanted: Wanted): string {
  switch (wanted.kind) {
    case 'canonical':
      return `canonical ${wanted.number}`
    case 'state':
      return ['state', ...[wanted.block, wanted.address, ...wanted.slots].map(bytesToHex)].join(' ')
    default:
      return `${wanted.kind} ${bytesToHex(wanted.hash)}`
  }
}

function nameOf(wanted: Wanted): string {
  switch (wanted.kind) {
    case 'canonical':
      return `block ${wanted.number}`
    case 'state':
      return `state of block ${bytesToHex(wanted.block)}, account ${bytesToHex(wanted.address)}`
    default:
      return `${wanted.kind} ${bytesToHex(wanted.hash)}`
  }
}
