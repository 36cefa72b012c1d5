/** New nodes of an update, as rows of a trie by path (`store/trieRow.ts`). */
import type { Hash32 } from '../../primitives/bytes.js'
import { encodeTrieRow } from '../store/layouts/trieRow.js'
import {
  Branch,
  Extension,
  encodeNode,
  encodeRoot,
  isHashed,
  Leaf,
  nodeRlp,
  settleLeaves,
  type TrieNode,
} from './trieNode.js'

/** Called with each row that changes: its path, a nibble per byte, and its content. */
export type RowSink = (path: Uint8Array, content: Uint8Array) => void

const noNibbles = new Uint8Array(0)
const noChildren: readonly undefined[] = []

/**
 * Passes a row for each new node of a trie to `put`, and returns the root. Nodes that were read, or passed before, are
 * not new.
 */
export function putNewRows(root: TrieNode, put: RowSink): Hash32 {
  if (root.reference !== undefined) return encodeRoot(root, undefined)
  if (root instanceof Leaf) {
    put(noNibbles, encodeTrieRow({ extension: noNibbles, children: [...noChildren], leaf: nodeRlp(root) }))
  } else put(noNibbles, rowOf(root, noNibbles, put))
  return encodeRoot(root, undefined)
}

/** The content of the row of a node that is not encoded yet; the rows below it are passed first. */
function rowOf(node: Branch | Extension, path: Uint8Array, put: RowSink): Uint8Array {
  const extension = node instanceof Extension ? node.path : noNibbles
  const branch = node instanceof Extension ? node.child : node
  if (!(branch instanceof Branch)) throw new Error('a trie that was read by hashes has no rows')
  settleLeaves(branch)
  const children = branch.children.map((child, nibble) => {
    if (child === undefined || child instanceof Uint8Array) return child
    if (child.reference === undefined && !(child instanceof Leaf)) {
      const own = new Uint8Array(path.length + extension.length + 1)
      own.set(path)
      own.set(extension, path.length)
      own[own.length - 1] = nibble
      const content = rowOf(child, own, put)
      encodeNode(child, undefined)
      if (isHashed(child)) put(own, content)
    }
    return encodeNode(child, undefined)
  })
  return encodeTrieRow({ extension, children, leaf: undefined })
}
