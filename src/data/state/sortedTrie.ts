/**
 * A trie made of its leaves in the order of their keys, in memory that does not grow with it: leaves are added some
 * thousand at a time, and of what was made only the rows on the path to the last leaf may still change.
 */
import { type Hash32, latin1Key } from '../../primitives/bytes.js'
import { emptyTrieRoot } from '../../primitives/keccak.js'
import { decodeTrieRow } from '../store/trieRow.js'
import type { RowSink } from './newRows.js'
import { type TrieChange, updateTrieRows } from './trie.js'
import { toNibbles } from './trieNode.js'
import { nodeOfRow } from './tries.js'

/** They take some 4 MB while they are added. With as many the path to the last leaf, made again each time, takes nothing. */
const leavesAtOnce = 4_096

export class SortedTrie {
  readonly #put: RowSink
  readonly #leavesAtOnce: number
  #root: Hash32 = emptyTrieRoot
  #leaves: TrieChange[] = []
  /** Rows that may change, by their paths. */
  readonly #edge = new Map<string, readonly [path: Uint8Array, content: Uint8Array]>()

  /** `put` gets each row once, in no order. */
  constructor(put: RowSink, most = leavesAtOnce) {
    this.#put = put
    this.#leavesAtOnce = most
  }

  /** A leaf with a greater key than all before. Keeps both. */
  add(key: Uint8Array, value: Uint8Array): void {
    if (this.#leaves.length === this.#leavesAtOnce) this.#apply()
    this.#leaves.push([key, value])
  }

  /** The root of the whole trie; afterwards another one may begin. */
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
