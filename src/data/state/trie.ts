/**
 * Merkle Patricia tries (yellow paper, appendix D): reading a key, and applying many changes at once. Owns the effect
 * of changes on a trie; trieNode.ts owns nodes, the caller stores them.
 *
 * An update visits each node on the path to a change once, for all changes below it, and hashes each new node once. No
 * key of a trie may be a prefix of another. That is true for hashed keys and for the RLP-encoded indexes of transaction
 * and receipt tries.
 */
import {
  equalBytes,
  type Hash32,
  hashBytes,
  latin1Key,
  noBytes,
  toMinimalBytes,
} from '../../primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../primitives/keccak.js'
import { encodeRlp } from '../../primitives/rlp.js'
import { putNewRows, type RowSink } from './newRows.js'
import {
  Branch,
  type Child,
  Extension,
  encodeRoot,
  fromNibbles,
  isHashed,
  Leaf,
  loadNode,
  type NodeReader,
  type NodeSink,
  nodeRlp,
  ownPath,
  referenceTo,
  type TrieNode,
  toNibbles,
} from './trieNode.js'

/** A key with its RLP-encoded value, or undefined to remove the key. */
export type TrieChange = readonly [key: Uint8Array, value: Uint8Array | undefined]

/** A change, its key as nibbles. */
interface Entry {
  readonly path: Uint8Array
  readonly value: Uint8Array | undefined
}

/** Number of nodes, or rows of nodes, above which {@link RecentTries} forgets all: they take at most 40 MB. */
const recentNodesMax = 16_384

/**
 * Cache of the newest tries by root, with their nodes in memory: the next update needs many of them. A trie that was
 * changed is not kept in its old form, because otherwise all its old nodes would stay.
 */
export class RecentTries {
  readonly #roots = new Map<string, TrieNode>()
  #nodes = 0

  /** The trie with this root, which the caller will change. */
  take(root: Hash32): TrieNode | undefined {
    const name = latin1Key(root)
    const node = this.#roots.get(name)
    this.#roots.delete(name)
    return node
  }

  /** `more`: number of nodes that the trie has in memory beyond those at its {@link take}. */
  keep(root: Hash32, node: TrieNode, more: number): void {
    this.#nodes += more
    if (this.#nodes > recentNodesMax) {
      this.#roots.clear()
      this.#nodes = 0
    }
    this.#roots.set(latin1Key(root), node)
  }
}

interface Update {
  readonly readNode: NodeReader
  /** Nodes that were added to memory; a lower bound. */
  more: number
  /** {@link latin1Key} of the paths of rows that may be removed; undefined if no rows are kept. */
  readonly visited: Map<string, Uint8Array> | undefined
}

/**
 * Applies `changes` (any order, each key once) to the trie with `root` and returns the new root. Passes new nodes to
 * `emit`; nodes of `recent` are not read. Throws {@link MissingNodeError}.
 */
export function updateTrie(
  root: Hash32,
  changes: readonly TrieChange[],
  readNode: NodeReader,
  emit: NodeSink | undefined,
  recent?: RecentTries,
): Hash32 {
  if (changes.length === 0) return root
  const update: Update = { readNode, more: 0, visited: undefined }
  const take: NodeSink = (...emitted) => {
    update.more++
    emit?.(...emitted)
  }
  const node = changedRoot(root, changes, update, recent)
  if (node === undefined) return emptyTrieRoot
  const after = encodeRoot(node, emit && take)
  recent?.keep(after, node, update.more)
  return after
}

/**
 * Like {@link updateTrie}, but for a trie stored in rows. Passes changed rows to `put`, in any order: with their new
 * content, or without content if they are removed.
 */
export function updateTrieRows(
  root: Hash32,
  changes: readonly TrieChange[],
  readNode: NodeReader,
  put: RowSink,
  recent?: RecentTries,
): Hash32 {
  if (changes.length === 0) return root
  const visited = new Map<string, Uint8Array>()
  const update: Update = { readNode, more: 0, visited }
  const node = changedRoot(root, changes, update, recent)
  const take: RowSink = (path, row) => {
    update.more++
    visited.delete(latin1Key(path))
    put(path, row)
  }
  const after = node === undefined ? emptyTrieRoot : putNewRows(node, take)
  for (const path of visited.values()) put(path, noBytes)
  if (node !== undefined) recent?.keep(after, node, update.more)
  return after
}

function changedRoot(
  root: Hash32,
  changes: readonly TrieChange[],
  update: Update,
  recent: RecentTries | undefined,
): TrieNode | undefined {
  const entries = changes.map(([key, value]) => ({ path: toNibbles(key), value }))
  entries.sort((a, b) => comparePaths(a.path, b.path))
  const isEmpty = equalBytes(root, emptyTrieRoot)
  const before = isEmpty ? undefined : (recent?.take(root) ?? referenceTo(root))
  return applyChanges(before, entries, 0, update)
}

/** The RLP-encoded value under `key`; undefined if there is none. Throws {@link MissingNodeError}. */
export function readTrie(root: Hash32, key: Uint8Array, readNode: NodeReader): Uint8Array | undefined {
  if (equalBytes(root, emptyTrieRoot)) return undefined
  const path = toNibbles(key)
  let depth = 0
  let child: Child = referenceTo(root)
  for (;;) {
    if (child === undefined) return undefined
    const node: TrieNode = loadChild(child, readNode, path.subarray(0, depth))
    if (node instanceof Branch) {
      child = node.children[path[depth] as number]
      depth++
      continue
    }
    const { length } = node.path
    if (commonLength(path, depth, node.path) < length) return undefined
    if (node instanceof Leaf) return depth + length === path.length ? node.value : undefined
    child = node.child
    depth += length
  }
}

/**
 * Every leaf below `root`, in key order, from the key `start` on, which may be shorter; checks each node's hash. Throws
 * {@link MissingNodeError}, and RangeError if a node does not have the hash under which it is stored.
 */
export function* trieLeaves(
  root: Hash32,
  readNode: NodeReader,
  start: Uint8Array = new Uint8Array(0),
): Generator<readonly [key: Uint8Array, value: Uint8Array]> {
  if (equalBytes(root, emptyTrieRoot)) return
  const readChecked: NodeReader = (hash, path) => {
    const node = readNode(hash, path)
    if (node === undefined) return undefined
    const rlp = node instanceof Uint8Array ? node : nodeRlp(node)
    if (!equalBytes(keccak256(rlp), hash)) {
      throw new RangeError(
        `trie node ${Buffer.from(hash).toString('hex')} has other content than its hash says`,
      )
    }
    return node
  }
  yield* leavesBelow(referenceTo(root), new Uint8Array(0), toNibbles(start), readChecked)
}

function* leavesBelow(
  child: TrieNode | Uint8Array,
  prefix: Uint8Array,
  start: Uint8Array,
  readNode: NodeReader,
): Generator<readonly [Uint8Array, Uint8Array]> {
  // All keys below it are less than the start.
  if (comparePaths(prefix, start.subarray(0, prefix.length)) < 0) return
  const node = loadChild(child, readNode, prefix)
  if (node instanceof Leaf) {
    const path = joinPaths(prefix, node.path)
    if (comparePaths(path, start) >= 0) yield [fromNibbles(path), node.value]
  } else if (node instanceof Extension) {
    yield* leavesBelow(node.child, joinPaths(prefix, node.path), start, readNode)
  } else {
    for (const [nibble, below] of node.children.entries()) {
      if (below !== undefined) yield* leavesBelow(below, joinPaths(prefix, [nibble]), start, readNode)
    }
  }
}

function loadChild(child: TrieNode | Uint8Array, readNode: NodeReader, path: Uint8Array): TrieNode {
  return child instanceof Uint8Array ? loadNode(child, readNode, path) : child
}

/** The node that replaces `child` after the sorted `entries` are applied; undefined for none. */
function applyChanges(
  child: Child,
  entries: readonly Entry[],
  depth: number,
  update: Update,
): TrieNode | undefined {
  if (child === undefined) return buildNode(entries.filter(isInsert), depth)
  const [first] = entries as readonly [Entry]
  if (child instanceof Uint8Array && entries.length === 1) {
    // Most changes concern one leaf.
    const path = first.value && ownPath(child, first.path, depth)
    if (path !== undefined) return new Leaf(path, first.value as Uint8Array)
  }
  const node =
    child instanceof Uint8Array ? loadNode(child, update.readNode, first.path.subarray(0, depth)) : child
  // The replacement is counted when it is emitted.
  if (node === child && isHashed(node)) update.more--
  const after =
    node instanceof Branch
      ? applyToBranch(node, entries, depth, update)
      : node instanceof Leaf
        ? applyToLeaf(node, entries, depth)
        : applyToExtension(node, entries, depth, update)
  if (after !== node && !(node instanceof Branch && beginsRow(after)))
    visitRow(node, first.path.subarray(0, depth), update)
  return after
}

/** Whether the replacement of a branch certainly has a row in its place, because it is longer than a hash. */
function beginsRow(after: TrieNode | undefined): boolean {
  return (
    after instanceof Branch &&
    after.children.some((child) => child instanceof Uint8Array && child.length >= hashBytes)
  )
}

/** Notes that a node left a path, where it may have begun a row. */
function visitRow(node: TrieNode, path: Uint8Array, { visited }: Update): void {
  if (visited === undefined || !isHashed(node) || (node instanceof Leaf && path.length > 0)) return
  visited.set(latin1Key(path), path)
}

function applyToLeaf(leaf: Leaf, entries: readonly Entry[], depth: number): TrieNode | undefined {
  const isOwn = (entry: Entry) => commonLength(entry.path, depth, leaf.path) === leaf.path.length
  const [first] = entries
  if (entries.length === 1 && first?.value !== undefined && isOwn(first)) {
    return new Leaf(leaf.path, first.value)
  }
  const kept = entries.filter(isInsert)
  if (!entries.some(isOwn)) {
    const path = joinPaths((entries[0] as Entry).path.subarray(0, depth), leaf.path)
    kept.push({ path, value: leaf.value })
    kept.sort((a, b) => comparePaths(a.path, b.path))
  }
  return buildNode(kept, depth)
}

function applyToExtension(
  extension: Extension,
  entries: readonly Entry[],
  depth: number,
  update: Update,
): TrieNode | undefined {
  const { path } = extension
  // Removing a key that is not below this extension changes nothing.
  const relevant = entries.filter(
    (entry) => isInsert(entry) || commonLength(entry.path, depth, path) === path.length,
  )
  if (relevant.length === 0) return extension
  let shared = path.length
  for (const entry of relevant) shared = Math.min(shared, commonLength(entry.path, depth, path))
  const { child } = extension
  if (shared === path.length) {
    const start = (entries[0] as Entry).path.subarray(0, depth)
    const branch = loadChild(child, update.readNode, joinPaths(start, path))
    if (!(branch instanceof Branch)) throw new RangeError('an extension without a branch')
    const below = applyToBranch(branch, relevant, depth + shared, update)
    return below && joinNode(path, below)
  }
  const children: Child[] = new Array<Child>(16).fill(undefined)
  const rest = path.subarray(shared + 1)
  // A branch begins a row at its path, so a moved one must not look like the stored one.
  const isRow = update.visited !== undefined && child instanceof Branch
  const moved = isRow ? new Branch(child.children, child.references) : child
  children[path[shared] as number] = rest.length === 0 ? moved : new Extension(rest, child)
  const split = applyToBranch(new Branch(children), relevant, depth + shared, update)
  return split && joinNode(path.subarray(0, shared), split)
}

function applyToBranch(
  before: Branch,
  entries: readonly Entry[],
  depth: number,
  update: Update,
): TrieNode | undefined {
  const children = before.children.slice()
  const references = before.references?.slice()
  for (let start = 0; start < entries.length; ) {
    const end = endOfNibble(entries, start, depth)
    const nibble = nibbleAt(entries[start] as Entry, depth)
    children[nibble] = applyChanges(children[nibble], entries.slice(start, end), depth + 1, update)
    if (references !== undefined) references[nibble] = undefined
    start = end
  }
  const first = children.findIndex((child) => child !== undefined)
  if (first === -1) return undefined
  if (children.findIndex((child, nibble) => nibble > first && child !== undefined) !== -1) {
    return new Branch(children, references)
  }
  // A branch with one child left is replaced by a longer path.
  const path = joinPaths((entries[0] as Entry).path.subarray(0, depth), [first])
  const only = loadChild(children[first] as Exclude<Child, undefined>, update.readNode, path)
  // The branch may be new, in place of a node that began a row.
  if (!(only instanceof Leaf)) update.visited?.set(latin1Key(path), path)
  return joinNode(Uint8Array.of(first), only)
}

/** A new subtrie of sorted entries, all of them insertions. */
export function buildNode(entries: readonly Entry[], depth: number): TrieNode | undefined {
  const first = entries[0]
  if (first === undefined) return undefined
  if (entries.length === 1) return new Leaf(first.path.subarray(depth), first.value as Uint8Array)
  const last = entries[entries.length - 1] as Entry
  const shared = commonLength(last.path, depth, first.path.subarray(depth))
  const children: Child[] = new Array<Child>(16).fill(undefined)
  for (let start = 0; start < entries.length; ) {
    const end = endOfNibble(entries, start, depth + shared)
    const nibble = nibbleAt(entries[start] as Entry, depth + shared)
    children[nibble] = buildNode(entries.slice(start, end), depth + shared + 1)
    start = end
  }
  return joinNode(first.path.subarray(depth, depth + shared), new Branch(children))
}

/** End of the entries that have the same nibble at `depth` as the one at `start`. */
function endOfNibble(entries: readonly Entry[], start: number, depth: number): number {
  const nibble = nibbleAt(entries[start] as Entry, depth)
  let end = start + 1
  while (end < entries.length && nibbleAt(entries[end] as Entry, depth) === nibble) end++
  return end
}

function joinNode(prefix: Uint8Array, node: TrieNode): TrieNode {
  if (prefix.length === 0) return node
  if (node instanceof Branch) return new Extension(prefix, node)
  const path = joinPaths(prefix, node.path)
  return node instanceof Leaf ? new Leaf(path, node.value) : new Extension(path, node.child)
}

export function comparePaths(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const difference = (a[at] as number) - (b[at] as number)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

function joinPaths(prefix: Uint8Array, path: ArrayLike<number>): Uint8Array {
  const joined = new Uint8Array(prefix.length + path.length)
  joined.set(prefix)
  joined.set(path, prefix.length)
  return joined
}

function isInsert(entry: Entry): boolean {
  return entry.value !== undefined
}

function nibbleAt(entry: Entry, depth: number): number {
  return entry.path[depth] as number
}

/** Number of nibbles of `key` from `depth` on that agree with `path`. */
function commonLength(key: Uint8Array, depth: number, path: Uint8Array): number {
  let length = 0
  while (length < path.length && key[depth + length] === path[length]) length++
  return length
}

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
