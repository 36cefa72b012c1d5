/**
 * The tries of the state after a block, for all kinds of storage. Archives have rows by path, for canonical and for
 * unwound blocks. Gateways have nodes by hash. Owns the choice, and the conversion of rows to nodes.
 */
import { equalBytes, latin1Key, toHash32 } from '../../primitives/bytes.js'
import { keccak256 } from '../../primitives/keccak.js'
import { decodeRlpList, rlpBytes } from '../../primitives/rlp.js'
import type { Change } from '../store/blockDiff.js'
import type { BlockName, ChainRows } from '../store/chainRows.js'
import { decodeTrieRow, type TrieRow } from '../store/layouts/trieRow.js'
import { accountTrie, storageTrie, trieKey } from '../store/trieRows.js'
import type { RowSink } from './newRows.js'
import { Branch, Extension, type NodeReader, nodeRlp, parseNode, type TrieNode } from './trieNode.js'

/** The tries of one state: of the slots of `address`, or of all accounts without it. */
export type Tries = (address?: Uint8Array) => NodeReader

/** Tries whose nodes are read by hash. */
export function hashedTries(readNode: (hash: Uint8Array) => Uint8Array | undefined): Tries {
  return () => readNode
}

/** The tries after the head of a store. */
export function headTries(store: ChainRows): Tries {
  return isHashed(store)
    ? hashedTries((hash) => store.readNode(hash))
    : pathTries((key) => store.readTrieRow?.(key))
}

/** The tries after canonical block `number`. If they were removed, throws FaultError at their first use. */
export function historicalTries(store: ChainRows, number: number): Tries {
  if (isHashed(store)) return hashedTries((hash) => store.readNode(hash))
  const tries = pathTries((key) => store.readTrieRow?.(key, number))
  return (address) => {
    store.requireTries?.(number)
    return tries(address)
  }
}

/** The tries after any block that was executed. */
export function triesAfter(store: ChainRows, block: BlockName): Tries {
  const { number, hash } = block
  if (isHashed(store)) return hashedTries((asked) => store.readNode(asked))
  return store.isCanonical(number, hash) ? historicalTries(store, number) : sideTries(store, block)
}

function isHashed(store: ChainRows): boolean {
  return !hasRows(store)
}

/** Whether a store keeps tries in rows by path. */
export function hasRows(store: ChainRows): boolean {
  return store.mayLack !== true && store.readTrieRow !== undefined
}

/**
 * The tries after a block that is not canonical: rows of its branch, on top of those of the canonical block below the
 * branch. Each node is compared with its hash. Rows of such blocks are removed after a while, and the canonical chain
 * may change between two reads.
 */
function sideTries(store: ChainRows, block: BlockName): Tries {
  let branch = branchOf(store, block)
  const read = (key: Uint8Array): TrieRow | undefined => {
    for (const each of branch.blocks) {
      const row = store.readSideTrieRow?.(each, key)
      if (row !== undefined) return row ?? undefined
    }
    return branch.base < 0 ? undefined : store.readTrieRow?.(key, branch.base)
  }
  return (address) => {
    store.requireTries?.(branch.base)
    const readNode = pathTries(read)(address)
    const readRight = (hash: Uint8Array, path: Uint8Array): TrieNode | undefined => {
      const node = readNode(hash, path) as TrieNode | undefined
      return node !== undefined && equalBytes(keccak256(nodeRlp(node)), hash) ? node : undefined
    }
    return (hash, path) => {
      const node = readRight(hash, path)
      if (node !== undefined) return node
      branch = branchOf(store, block)
      return readRight(hash, path)
    }
  }
}

interface SideBranch {
  /** Newest first. */
  readonly blocks: readonly BlockName[]
  /** Number of the canonical block below the branch; −1 if the branch is not known down to one. */
  readonly base: number
}

function branchOf(store: ChainRows, block: BlockName): SideBranch {
  const blocks: BlockName[] = []
  for (let { number, hash } = block; !store.isCanonical(number, hash); number--) {
    blocks.push({ number, hash })
    const header = store.readHeader(hash)
    if (header === undefined) return { blocks, base: -1 }
    // The first field of every header (yellow paper 4.4).
    hash = toHash32(Uint8Array.from(rlpBytes(decodeRlpList(header)[0])))
  }
  return { blocks, base: block.number - blocks.length }
}

/** Tries of rows by {@link trieKey}. */
function pathTries(read: (key: Uint8Array) => TrieRow | undefined): Tries {
  return (address) => {
    const owner = address === undefined ? accountTrie : storageTrie(address)
    return (_hash, path) => {
      const row = read(trieKey(owner, path))
      return row && nodeOfRow(row)
    }
  }
}

/** The node at which a row begins. */
export function nodeOfRow({ extension, children, leaf }: TrieRow): TrieNode {
  if (leaf !== undefined) return parseNode(leaf)
  const branch = new Branch(children)
  return extension.length === 0 ? branch : new Extension(extension, branch)
}

/** Adds rows of one trie to those of a block diff. */
export function rowSink(rows: Change[], address?: Uint8Array): RowSink {
  const owner = address === undefined ? accountTrie : storageTrie(address)
  return (path, content) => rows.push([trieKey(owner, path), content])
}

/**
 * Single nodes, each as its RLP, of tries whose rows have several. The reader of a node does not get the others of its
 * row. `note` is called with each node that is read.
 */
export function singleNodes(tries: Tries, note: (hash: Uint8Array, rlp: Uint8Array) => void): Tries {
  /** Other nodes in the rows that were read, by hash. */
  const beside = new Map<string, Uint8Array>()
  const keep = (node: TrieNode): Uint8Array => {
    const rlp = nodeRlp(node)
    if (node instanceof Extension && node.child instanceof Branch) {
      const branch = keep(node.child)
      beside.set(latin1Key(keccak256(branch)), branch)
    }
    for (const [nibble, reference] of ((node instanceof Branch && node.references) || []).entries()) {
      const leaf = (node as Branch).children[nibble]
      if (reference !== undefined && leaf instanceof Uint8Array)
        beside.set(latin1Key(reference.subarray(1)), leaf)
    }
    return rlp
  }
  return (address) => {
    const readNode = tries(address)
    return (hash, path) => {
      const stored = beside.get(latin1Key(hash)) ?? readNode(hash, path)
      const rlp = stored === undefined || stored instanceof Uint8Array ? stored : keep(stored)
      if (rlp !== undefined) note(hash, rlp)
      return rlp
    }
  }
}

/** Rows of block diffs that no store has applied yet. */
export class TrieOverlay {
  readonly #rows = new Map<string, Uint8Array>()

  add(changes: readonly Change[]): void {
    for (const [key, row] of changes) this.#rows.set(latin1Key(key), row)
  }

  /** The tries with these rows instead of those `below`. */
  over(below: Tries): Tries {
    return (address) => {
      const owner = address === undefined ? accountTrie : storageTrie(address)
      const readBelow = below(address)
      return (hash, path) => {
        const row = this.#rows.get(latin1Key(trieKey(owner, path)))
        if (row === undefined) return readBelow(hash, path)
        return row.length === 0 ? undefined : nodeOfRow(decodeTrieRow(row))
      }
    }
  }
}
