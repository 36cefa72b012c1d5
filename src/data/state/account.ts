import { bytesToBigInt, equalBytes, type Hash32, toHash32, toMinimalBytes } from '../../primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot } from '../../primitives/keccak.js'
import { NotStoredError, type Wanted } from '../../primitives/notStored.js'
import { decodeRlpList, encodeRlp, rlpBytes } from '../../primitives/rlp.js'
import { Slab } from '../../primitives/slab.js'
import type { ChainRows } from '../store/chainRows.js'

/** An account of the state trie (yellow paper 4.1). */
export interface Account {
  readonly nonce: bigint
  /** In wei. */
  readonly balance: bigint
  readonly storageRoot: Hash32
  readonly codeHash: Hash32
}

/** Stands for an address without an account. */
export const emptyAccount: Account = {
  nonce: 0n,
  balance: 0n,
  storageRoot: emptyTrieRoot,
  codeHash: emptyCodeHash,
}

/** Whether the account has code; a delegation (EIP-7702) is code too. */
export function hasCode(account: Account | undefined): boolean {
  return account !== undefined && !equalBytes(account.codeHash, emptyCodeHash)
}

/** Whether the account is deleted once a transaction touches it (EIP-161). */
export function isEmptyAccount({ nonce, balance, codeHash }: Account): boolean {
  return nonce === 0n && balance === 0n && equalBytes(codeHash, emptyCodeHash)
}

/** Decodes an account's RLP. Throws RlpError or RangeError for malformed data. */
export function decodeAccount(rlp: Uint8Array): Account {
  const [nonce, balance, storageRoot, codeHash] = decodeRlpList(rlp)
  return {
    nonce: bytesToBigInt(rlpBytes(nonce)),
    balance: bytesToBigInt(rlpBytes(balance)),
    storageRoot: toHash32(rlpBytes(storageRoot)),
    codeHash: toHash32(rlpBytes(codeHash)),
  }
}

/** Small chunks, because a trie leaf that stays in memory keeps its whole chunk. */
const slab = new Slab(2_048)

export function encodeAccount({ nonce, balance, storageRoot, codeHash }: Account): Uint8Array {
  return encodeRlp([toMinimalBytes(nonce), toMinimalBytes(balance), storageRoot, codeHash], slab)
}

/**
 * Throws NotStoredError if an account has code that is neither stored nor fetchable. Its leaf may have come with the
 * proof of another account, and does not contain its address. Its own proof, `wanted`, has the address.
 */
export function checkCodeKnown(
  store: Pick<ChainRows, 'knowsCode'>,
  account: Account | undefined,
  wanted: () => Wanted,
): void {
  if (account === undefined || store.knowsCode === undefined || !hasCode(account)) return
  if (!store.knowsCode(account.codeHash)) throw new NotStoredError(wanted())
}
