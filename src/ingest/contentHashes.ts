/** The hashes of a block's content, as its header has them. */
import { blockAccessListHash } from '../chain/blockAccessList.js'
import type { Header } from '../chain/header.js'
import { keccak256 } from '../primitives/keccak.js'
import { decodeRlpList, encodeRlp, rlpBytes, rlpList } from '../primitives/rlp.js'
import { indexedRoot } from '../state/trie.js'

type HashField = keyof Pick<
  Required<Header>,
  'transactionsRoot' | 'unclesHash' | 'receiptsRoot' | 'withdrawalsRoot' | 'blockAccessListHash'
>

/** What a store holds of a block besides its header. */
export interface BlockContent {
  /** RLP list: transactions, uncles and, since Shanghai, withdrawals. */
  readonly body: Uint8Array
  /** RLP list of receipts in consensus encoding; undefined where the store has none. */
  readonly receipts: Uint8Array | undefined
  /** RLP of the block access list (EIP-7928); undefined where the store has none. */
  readonly accessList: Uint8Array | undefined
}

/** The signed encoding of each transaction of a body. Throws RlpError. */
export function transactionsOf(body: Uint8Array): Uint8Array[] {
  return rlpList(decodeRlpList(body)[0]).map((item) => (item instanceof Uint8Array ? item : encodeRlp(item)))
}

/** The fields of a header that follow from the content alone. Throws RlpError. */
export function contentHashes({ body, receipts, accessList }: BlockContent): [HashField, Uint8Array][] {
  const [, uncles, withdrawals] = decodeRlpList(body)
  const hashes: [HashField, Uint8Array][] = [
    ['transactionsRoot', indexedRoot(transactionsOf(body))],
    ['unclesHash', keccak256(encodeRlp(rlpList(uncles)))],
  ]
  if (receipts !== undefined) {
    hashes.push(['receiptsRoot', indexedRoot(decodeRlpList(receipts).map(rlpBytes))])
  }
  if (withdrawals !== undefined) {
    hashes.push(['withdrawalsRoot', indexedRoot(rlpList(withdrawals).map(encodeRlp))])
  }
  if (accessList !== undefined) hashes.push(['blockAccessListHash', blockAccessListHash(accessList)])
  return hashes
}
