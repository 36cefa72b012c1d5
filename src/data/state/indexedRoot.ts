/** Roots of tries of lists: the transactions, receipts and withdrawals of a block. */
import { type Hash32, toMinimalBytes } from '../../primitives/bytes.js'
import { emptyTrieRoot } from '../../primitives/keccak.js'
import { encodeRlp } from '../../primitives/rlp.js'
import { buildNode, comparePaths } from './trie.js'
import { encodeRoot, toNibbles } from './trieNode.js'

/** Paths of the first indexes: most blocks have fewer items. */
const indexPaths: Uint8Array[] = []
const indexPathsMax = 1_024
const pathOfIndex = (index: number): Uint8Array => toNibbles(encodeRlp(toMinimalBytes(index)))

/** Root of the trie of `values` under the RLP of their indexes, as in transaction and receipt roots. */
export function indexedRoot(values: readonly Uint8Array[]): Hash32 {
  for (let index = indexPaths.length; index < Math.min(values.length, indexPathsMax); index++)
    indexPaths.push(pathOfIndex(index))
  const entries = values.map((value, index) => ({ path: indexPaths[index] ?? pathOfIndex(index), value }))
  entries.sort((a, b) => comparePaths(a.path, b.path))
  const root = buildNode(entries, 0)
  return root === undefined ? emptyTrieRoot : encodeRoot(root, undefined)
}
