/**
 * One number for all rows of a kind, in any order and any tables: the exclusive or of a hash of each. The writer keeps
 * it beside the rows, so a reader of all rows can detect a damaged one. It protects against damage only: an attacker
 * who can write the store can write the number, too.
 */
import { readUint32, writeUint32 } from '../../../primitives/bytes.js'

export const digestBytes = 8

export class RowDigest {
  #low: number
  #high: number

  constructor(bytes: Uint8Array = new Uint8Array(digestBytes)) {
    this.#low = readUint32(bytes, 0) | 0
    this.#high = readUint32(bytes, 4) | 0
  }

  /** Adds a row; `since` is a number in its key or value. A second call with the same row removes it. */
  toggle(key: Uint8Array, since: number, value: Uint8Array): void {
    let low = Math.imul(since | 0, 0x9e3779b1) ^ key.length
    let high = Math.imul(Math.floor(since / 2 ** 32), 0x85ebca77) ^ value.length ^ 0x2545f491
    for (let at = 0; at < key.length; at++) {
      const byte = key[at] as number
      low = Math.imul(low ^ byte, 0x01000193)
      high = Math.imul(high ^ (byte + at), 0x5bd1e995)
      high ^= high >>> 15
    }
    for (let at = 0; at < value.length; at++) {
      const byte = value[at] as number
      low = Math.imul(low ^ byte, 0x01000193)
      high = Math.imul(high ^ (byte + at), 0x5bd1e995)
      high ^= high >>> 15
    }
    low ^= high >>> 7
    this.#low ^= mix(low)
    this.#high ^= mix(high ^ Math.imul(low, 0x27d4eb2f))
  }

  get bytes(): Uint8Array {
    const bytes = new Uint8Array(digestBytes)
    writeUint32(bytes, this.#low >>> 0, 0)
    writeUint32(bytes, this.#high >>> 0, 4)
    return bytes
  }
}

/** The finalizer of MurmurHash3. */
function mix(bits: number): number {
  let mixed = bits ^ (bits >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}
