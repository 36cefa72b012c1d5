import { bls12_381 } from '@noble/curves/bls12-381.js'
import { committeeSize } from './network.js'

const { G1, longSignatures } = bls12_381
type Key = InstanceType<typeof G1.Point>

/** The ciphersuite of Ethereum's consensus layer: proofs of possession are checked when a validator is added. */
const signatureDomain = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_'

/** Indices of the members whose bits are set. */
export function participantsOf(bits: Uint8Array): number[] {
  return Array.from({ length: committeeSize }, (_, at) => at).filter(
    (at) => (((bits[at >> 3] as number) >> (at & 7)) & 1) === 1,
  )
}

/**
 * The 512 validators that sign for a period of 27 hours. Once its root is proved, its keys are those of the chain's
 * state.
 */
export class SyncCommittee {
  /** Decoded keys. Only needed keys are decoded, because each takes 1.5 ms. */
  readonly #keys = new Map<number, Key>()
  #whole: Key | undefined

  /** Public keys of 48 bytes, their sum, and the root of both. */
  constructor(
    readonly pubkeys: readonly Uint8Array[],
    readonly aggregatePubkey: Uint8Array,
    readonly root: Uint8Array,
  ) {}

  /**
   * `FastAggregateVerify` with the participants' keys. The state has the sum of all keys. So only the keys of absent
   * validators are decoded and subtracted; if most are absent, the keys of the others are added instead.
   */
  verify(bits: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
    try {
      const key = this.#sum(participantsOf(bits))
      const point = longSignatures.Signature.fromBytes(signature)
      return longSignatures.verify(point, longSignatures.hash(message, signatureDomain), key)
    } catch {
      // The bytes are not a point of the curve.
      return false
    }
  }

  #sum(present: readonly number[]): Key {
    if (2 * present.length < committeeSize) {
      return present.reduce((sum, at) => sum.add(this.#key(at)), G1.Point.ZERO)
    }
    this.#whole ??= G1.Point.fromBytes(this.aggregatePubkey)
    const isPresent = new Set(present)
    let sum = this.#whole
    for (let at = 0; at < committeeSize; at++) if (!isPresent.has(at)) sum = sum.subtract(this.#key(at))
    return sum
  }

  #key(at: number): Key {
    let key = this.#keys.get(at)
    if (key === undefined) {
      key = G1.Point.fromBytes(this.pubkeys[at] as Uint8Array)
      this.#keys.set(at, key)
    }
    return key
  }
}
