/**
 * Publicly known keys of accounts: those of the mnemonic with which anvil and Hardhat begin. Derived as wallets do
 * (BIP-39, BIP-32, BIP-44 with the path m/44'/60'/0'/0/INDEX). Nothing of value may belong to them.
 */
import { createHmac, pbkdf2Sync } from 'node:crypto'
import { libsecp256k1 } from '../../../execution/evm/transactions/libsecp256k1.js'
import { bytesToBigInt, concatBytes, padLeft, toMinimalBytes } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'

export const knownMnemonic = 'test test test test test test test test test test test junk'

/** Number of accounts that anvil has without flags. */
export const knownAccountsDefault = 10

/** BIP-39: rounds of PBKDF2 from a mnemonic to its seed. */
const seedRounds = 2_048
/** BIP-32: bit of the index of a hardened child. */
const hardened = 2 ** 31
/** Order of the curve secp256k1 (SEC 2, section 2.4.1). */
const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

interface ExtendedKey {
  readonly key: Uint8Array
  readonly chainCode: Uint8Array
}

/** The first keys of {@link knownMnemonic}, 32 bytes each; some 0.05 ms for each. */
export function knownKeys(count: number): Uint8Array[] {
  const seed = pbkdf2Sync(knownMnemonic, 'mnemonic', seedRounds, 64, 'sha512')
  const path = [44 + hardened, 60 + hardened, hardened, 0]
  const parent = path.reduce(childOf, halvesOf('Bitcoin seed', seed))
  return Array.from({ length: count }, (_, index) => childOf(parent, index).key)
}

export function addressOfKey(key: Uint8Array): Uint8Array {
  return keccak256(libsecp256k1().publicKey(key, false).subarray(1)).subarray(12)
}

/** BIP-32's private derivation. An invalid child has a chance of 2^-127, and none of these is one. */
function childOf({ key, chainCode }: ExtendedKey, index: number): ExtendedKey {
  const start = index < hardened ? libsecp256k1().publicKey(key, true) : concatBytes(new Uint8Array(1), key)
  const { key: left, chainCode: next } = halvesOf(chainCode, concatBytes(start, indexBytes(index)))
  const sum = (bytesToBigInt(left) + bytesToBigInt(key)) % curveOrder
  return { key: padLeft(toMinimalBytes(sum), 32), chainCode: next }
}

function halvesOf(secret: string | Uint8Array, data: Uint8Array): ExtendedKey {
  const whole = createHmac('sha512', secret).update(data).digest()
  return { key: whole.subarray(0, 32), chainCode: whole.subarray(32) }
}

function indexBytes(index: number): Uint8Array {
  return padLeft(toMinimalBytes(index), 4)
}
