import { bytesToHex, type Hash32 } from './bytes.js'

/**
 * Data that a reader does not hold and cannot say to be absent. It is named by its hash where it has one; for state,
 * by the part that was read.
 */
export type Wanted =
  /** The canonical block of this number. */
  | { readonly kind: 'canonical'; readonly number: number }
  | { readonly kind: 'header' | 'body' | 'accessList' | 'code'; readonly hash: Hash32 }
  /** `others`: blocks whose receipts the same request will read next; `search`: where a search of logs stands with it. */
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

/** The block at which a search of the blocks from `first` to `last` stands. */
export interface SearchPlace {
  readonly number: number
  readonly first: number
  readonly last: number
}

/** The call that wants something: what else it will read can be guessed from it. `params` as the caller wrote them. */
export interface WantingCall {
  readonly method: string
  readonly params: unknown
}

/** Fetches something, and for `call` what it may lack besides; resolves to whether nobody knows it. */
export type FetchMissing = (wanted: Wanted, call?: WantingCall) => Promise<boolean>

/**
 * Thrown by readers for data that is not held here. A network that can fetch it does so and runs the request again;
 * any other network turns it into a fault.
 */
export class NotHeldError extends Error {
  override readonly name = 'NotHeldError'
  constructor(readonly wanted: Wanted) {
    super(`not held: ${nameOf(wanted)}`)
  }
}

/** A text that only what is wanted equally has, as the key of tables. {@link NotHeldError} names it shorter, for people. */
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
