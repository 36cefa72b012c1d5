import type { Address, Hash32 } from '../primitives/bytes.js'

/** A storage key to prove, and how its caller wrote it. */
export interface ProofKey {
  readonly slot: Hash32
  /** Bytes that the caller wrote it with, which decides how the answer repeats it. */
  readonly writtenBytes: number
}

/** What an `eth_getProof` job works on. */
export interface ProofRequest {
  readonly stateRoot: Hash32
  readonly address: Address
  readonly keys: readonly ProofKey[]
}
