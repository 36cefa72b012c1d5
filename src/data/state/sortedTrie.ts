/**
 * Builds a trie from its leaves in key order, in memory that does not grow with it. Leaves are added some thousand at a
 * time, and only the rows on the path to the last leaf may still change.
 */
import { type Hash32, latin1Key } from '../../primitives/bytes.js'
import { emptyTrieRoot } from '../../primitives/keccak.js'
import { decodeTrieRow } from '../store/layouts/trieRow.js'
import type { RowSink } from './newRows.js'
import { type TrieChange, updateTrieRows } from './trie.js'
import { toNibbles } from './trieNode.js'
import { nodeOfRow } from './tries.js'

/**
 * Leaves that are added at once take some 4 MB. With this number, the time to rebuild the path to the last leaf is
 * negligible.
 */
const leavesAtOnce = 4_096

export class SortedTrie {
  readonly #put: RowSink
  readonly #leavesAtOnce: number
  #root: Hash32 = emptyTrieRoot
  #leaves: TrieChange[] = []
  /** Rows that may still change, by their paths. */
  readonly #edge = new Map<string, readonly [path: Uint8Array, content: Uint8Array]>()

  /** `put` gets each row once, in no order. */
  constructor(put: RowSink, most = leavesAtOnce) {
    this.#put = put
    this.#leavesAtOnce = most
  }

  /** Adds a leaf with a greater key than all before. Keeps both arrays. */
  add(key: Uint8Array, value: Uint8Array): void {
    if (this.#leaves.length === this.#leavesAtOnce) this.#apply()
    this.#leaves.push([key, value])
  }

  /** The root of the whole trie; afterwards another trie can be built. */
  finish(): Hash32 {
    this.#apply()
    for (const row of this.#edge.values()) this.#put(...row)
    this.#edge.clear()
    const root = this.#root
    this.#root = emptyTrieRoot
    return root
  }

  #apply(): void {
    const last = this.#leaves.at(-1)
    if (last === undefined) return
    this.#root = updateTrieRows(
      this.#root,
      this.#leaves,
      (_hash, path) => {
        const row = this.#edge.get(latin1Key(path))
        return row && nodeOfRow(decodeTrieRow(row[1]))
      },
      (path, content) => {
        if (content.length === 0) this.#edge.delete(latin1Key(path))
        else this.#edge.set(latin1Key(path), [path, content])
      },
    )
    this.#leaves = []
    const nibbles = toNibbles(last[0])
    for (const [name, row] of this.#edge) {
      if (isPrefix(row[0], nibbles)) continue
      this.#put(...row)
      this.#edge.delete(name)
    }
  }
}

function isPrefix(path: Uint8Array, nibbles: Uint8Array): boolean {
  return path.every((nibble, at) => nibble === nibbles[at])
}
