/**
 * Signs for the rich accounts of a developer chain, with publicly known keys. Owns the list of these keys. No other
 * network signs: valuable accounts are signed for by their owners.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { libsecp256k1 } from '../../../execution/evm/transactions/libsecp256k1.js'
import {
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  hexToBytes,
  noBytes,
  toMinimalBytes,
} from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import { excerpt } from '../../../primitives/jsonType.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { packageRoot } from '../../../primitives/packageRoot.js'
import { decodeRlpList, encodeRlp } from '../../../primitives/rlp.js'
import { transactionTypes } from '../../../primitives/transactionTypes.js'
import { addressOfKey, knownKeys } from './knownKeys.js'

/** Most characters of the reason why typed data is invalid. */
const reasonCharsMax = 200

/** Keys of the accounts of the demo network. */
function keysOfDemo(): readonly string[] {
  const examples = readFileSync(join(packageRoot(), 'data/devnet/examples.json'), 'utf8')
  const { accounts } = JSON.parse(examples) as { accounts: readonly { readonly privateKey?: string }[] }
  return accounts.flatMap(({ privateKey }) => privateKey ?? [])
}

/** The secret keys that a developer chain signs with: the demo network's, and the first ones of {@link knownKeys}. */
export function signingKeys(count: number): Uint8Array[] {
  return [...keysOfDemo().map(hexToBytes), ...knownKeys(count)]
}

export class Signer {
  /** By address, hex. */
  readonly #keys: ReadonlyMap<string, Uint8Array>
  readonly #isRich: (address: Uint8Array) => boolean

  /** Signs only for accounts of {@link signingKeys} that are rich at that moment, because balances change. */
  constructor(isRich: (address: Uint8Array) => boolean, accounts: number) {
    this.#keys = new Map(signingKeys(accounts).map((key) => [bytesToHex(addressOfKey(key)), key]))
    this.#isRich = isRich
  }

  /** Addresses, hex. */
  get accounts(): readonly string[] {
    return [...this.#keys.keys()].filter((address) => this.#isRich(hexToBytes(address)))
  }

  /**
   * Signs a message as wallets do (EIP-191, version 0x45): 65 bytes, hex. This and the next methods throw FaultError
   * MessageRefused for an account whose key is not known.
   */
  signMessage(account: string, message: Uint8Array): string {
    const key = this.#keyOf(account)
    const prefix = new TextEncoder().encode(`\x19Ethereum Signed Message:\n${message.length}`)
    const { signature, parity } = libsecp256k1().sign(keccak256(concatBytes(prefix, message)), key)
    return bytesToHex(concatBytes(signature, Uint8Array.of(27 + parity)))
  }

  /** Signs typed data (EIP-712): 65 bytes, hex. Rejects where {@link signMessage} throws. */
  async signTypedData(account: string, typed: unknown): Promise<string> {
    const key = this.#keyOf(account)
    // Loaded at the first use, because that takes 50 ms.
    const { signTyped } = await import('micro-eth-signer')
    try {
      return signTyped(typed as Parameters<typeof signTyped>[0], bytesToHex(key), false)
    } catch (error) {
      // The library's message repeats its input.
      const why = excerpt((error as Error).message, reasonCharsMax)
      throw messageRefused(`this is no typed data (EIP-712): ${why}`)
    }
  }

  /**
   * Signs a transaction with this nonce. It comes as EIP-2718 bytes or a list; any signature in it is ignored. Without
   * a chain id a legacy one is signed as before EIP-155.
   */
  signTransaction(account: string, raw: Uint8Array, nonce: bigint, chainId: bigint | undefined): Uint8Array {
    const key = this.#keyOf(account)
    return withSignature(raw, nonce, chainId, (hash) => {
      const { signature, parity } = libsecp256k1().sign(hash, key)
      const [r, s] = [signature.subarray(0, 32), signature.subarray(32)]
      return { parity, r: bytesToBigInt(r), s: bytesToBigInt(s) }
    })
  }

  requireAccount(account: string): void {
    this.#keyOf(account)
  }

  #keyOf(account: string): Uint8Array {
    const address = account.toLowerCase()
    const key = this.#keys.get(address)
    if (key === undefined || !this.#isRich(hexToBytes(address)))
      throw messageRefused(`unknown account ${account}: its key is not known here`)
    return key
  }
}

/** The transaction with this nonce, signed by `sign`. See {@link Signer.signTransaction}. */
export function withSignature(
  raw: Uint8Array,
  nonce: bigint,
  chainId: bigint | undefined,
  sign: (hash: Uint8Array) => { readonly parity?: number; readonly r: bigint; readonly s: bigint },
): Uint8Array {
  const [first = 0] = raw
  const isTyped = first <= 0x7f
  const type = transactionTypes.get(isTyped ? first : 0)
  if (type === undefined) throw new RangeError(`transaction type ${first} is not known`)
  const { names } = type
  const fields = decodeRlpList(isTyped ? raw.subarray(1) : raw).slice(0, names.length)
  fields[names.indexOf('nonce')] = toMinimalBytes(nonce)
  const ofType = (items: typeof fields) =>
    isTyped ? concatBytes(raw.subarray(0, 1), encodeRlp(items)) : encodeRlp(items)
  const hasChain = !isTyped && chainId !== undefined
  const signed = hasChain ? [...fields, toMinimalBytes(chainId), noBytes, noBytes] : fields
  const { parity = 0, r, s } = sign(keccak256(ofType(signed)))
  const base = hasChain ? chainId * 2n + 35n : 27n
  const v = toMinimalBytes(isTyped ? parity : base + BigInt(parity))
  return ofType([...fields, v, toMinimalBytes(r), toMinimalBytes(s)])
}
