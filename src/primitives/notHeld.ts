import { bytesToHex, type Hash32 } from './bytes.js'

/**
 * Something that a reader was asked for, does not hold, and cannot tell to be absent. What can be named by a hash is;
 * of state, the part that was read.
 */
export type Wanted =
  /** The canonical block of this number. */
  | { readonly kind: 'canonical'; readonly number: number }
  | { readonly kind: 'header' | 'body' | 'receipts' | 'code'; readonly hash: Hash32 }
  /** Where the transaction with this hash stands. */
  | { readonly kind: 'location'; readonly hash: Hash32 }
  /** An account, and slots of it, in the state with this root. */
  | {
      readonly kind: 'state'
      readonly stateRoot: Hash32
      readonly address: Uint8Array
      readonly slots: readonly Uint8Array[]
    }

/**
 * Thrown by readers for what is not held here. Not an answer: a network that can get it does, and what asked is done
 * again; another one turns it into a fault.
 */
export class NotHeldError extends Error {
  override readonly name = 'NotHeldError'
  constructor(readonly wanted: Wanted) {
    super(`not held: ${nameOf(wanted)}`)
  }
}

function nameOf(wanted: Wanted): string {
  switch (wanted.kind) {
    case 'canonical':
      return `block ${wanted.number}`
    case 'state':
      return `state ${bytesToHex(wanted.stateRoot)}, account ${bytesToHex(wanted.address)}`
    default:
      return `${wanted.kind} ${bytesToHex(wanted.hash)}`
  }
}
