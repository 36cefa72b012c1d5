import { bytesToBigInt, equalBytes, type Hash32, toHash32, toMinimalBytes } from '../primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot } from '../primitives/keccak.js'
import { decodeRlpList, encodeRlp, rlpBytes } from '../primitives/rlp.js'

/** An account as the state trie holds it (yellow paper 4.1). */
export interface Account {
  readonly nonce: bigint
  /** Wei. */
  readonly balance: bigint
  readonly storageRoot: Hash32
  readonly codeHash: Hash32
}

/** What an address without an account counts as. */
export const emptyAccount: Account = {
  nonce: 0n,
  balance: 0n,
  storageRoot: emptyTrieRoot,
  codeHash: emptyCodeHash,
}

/** Whether a message to the account runs anything; a delegation (EIP-7702) is code too. */
export function hasCode(account: Account | undefined): boolean {
  return account !== undefined && !equalBytes(account.codeHash, emptyCodeHash)
}

/** Reads an account's RLP. Throws RlpError or RangeError for anything else. */
export function decodeAccount(rlp: Uint8Array): Account {
  const [nonce, balance, storageRoot, codeHash] = decodeRlpList(rlp)
  return {
    nonce: bytesToBigInt(rlpBytes(nonce)),
    balance: bytesToBigInt(rlpBytes(balance)),
    storageRoot: toHash32(rlpBytes(storageRoot)),
    codeHash: toHash32(rlpBytes(codeHash)),
  }
}

export function encodeAccount({ nonce, balance, storageRoot, codeHash }: Account): Uint8Array {
  return encodeRlp([toMinimalBytes(nonce), toMinimalBytes(balance), storageRoot, codeHash])
}
