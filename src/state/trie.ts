/**
 * Merkle Patricia tries (yellow paper, appendix D): reading a key, applying many changes at once, and the root of a
 * new trie. Owns node structure and hashing; the caller stores nodes.
 *
 * An update visits each node on the path to a change once, for all changes below it, and hashes each new node once.
 * No key of a trie may be a prefix of another. That holds for hashed keys and for the RLP-encoded indexes of
 * transaction and receipt tries, so branches never have a value.
 */
import { equalBytes, type Hash32, toMinimalBytes } from '../primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../primitives/keccak.js'
import { decodeRlp, encodeRlp, type RlpItem, rlpBytes } from '../primitives/rlp.js'

/** Reads a node's RLP by its hash; undefined where it is not held. */
export type NodeReader = (hash: Uint8Array) => Uint8Array | undefined
/** Called with each new node that is referred to by hash. */
export type NodeSink = (hash: Hash32, rlp: Uint8Array) => void
/** A key with its RLP-encoded value, or undefined to remove the key. */
export type TrieChange = readonly [key: Uint8Array, value: Uint8Array | undefined]

/** A node of a trie is not held: the store is damaged, or the state is not kept. */
export class MissingNodeError extends Error {
  override readonly name = 'MissingNodeError'
  constructor(readonly hash: Uint8Array) {
    super(`trie node ${Buffer.from(hash).toString('hex')} is missing`)
  }
}

/** A child within its parent: a 32-byte hash, or the node itself where its RLP is shorter. Empty for none. */
type Reference = RlpItem

type Node =
  | { readonly kind: 'leaf'; readonly path: Uint8Array; readonly value: Uint8Array }
  | { readonly kind: 'extension'; readonly path: Uint8Array; readonly child: Child }
  | { readonly kind: 'branch'; readonly children: readonly Child[] }
/** A reference that did not change, or a node that this update made. */
type Child = { readonly reference: Reference } | { readonly node: Node } | undefined

/** A change, its key as nibbles. */
interface Entry {
  readonly path: Uint8Array
  readonly value: Uint8Array | undefined
}

const noBytes = new Uint8Array(0)

/**
 * Applies `changes` (any order, each key once) to the trie with `root` and returns the new root. Passes new nodes to
 * `emit`. Throws {@link MissingNodeError}.
 */
export function updateTrie(
  root: Hash32,
  changes: readonly TrieChange[],
  readNode: NodeReader,
  emit: NodeSink,
): Hash32 {
  if (changes.length === 0) return root
  const entries = changes.map(([key, value]) => ({ path: toNibbles(key), value }))
  entries.sort((a, b) => Buffer.compare(a.path, b.path))
  const child: Child = equalBytes(root, emptyTrieRoot) ? undefined : { reference: root }
  const node = applyChanges(child, entries, 0, readNode)
  if (node === undefined) return emptyTrieRoot
  const rlp = encodeRlp(encodeNode(node, emit))
  const hash = keccak256(rlp)
  emit(hash, rlp)
  return hash
}

/** Root of the trie of `values` under the RLP of their indexes, as in transaction and receipt roots. */
export function indexedRoot(values: readonly Uint8Array[]): Hash32 {
  const changes = values.map((value, index) => [encodeRlp(toMinimalBytes(index)), value] as const)
  return updateTrie(emptyTrieRoot, changes, () => undefined, ignoreNode)
}

const ignoreNode: NodeSink = () => undefined

/** The RLP-encoded value under `key`; undefined where there is none. Throws {@link MissingNodeError}. */
export function readTrie(root: Hash32, key: Uint8Array, readNode: NodeReader): Uint8Array | undefined {
  if (equalBytes(root, emptyTrieRoot)) return undefined
  const path = toNibbles(key)
  let depth = 0
  let reference: Reference = root
  for (;;) {
    const node = loadNode(reference, readNode)
    if (node.kind === 'branch') {
      const child: Child = node.children[path[depth] as number]
      if (child === undefined) return undefined
      reference = (child as { reference: Reference }).reference
      depth++
      continue
    }
    const rest = path.subarray(depth, depth + node.path.length)
    if (!equalBytes(rest, node.path)) return undefined
    if (node.kind === 'leaf') return depth + node.path.length === path.length ? node.value : undefined
    reference = (node.child as { reference: Reference }).reference
    depth += node.path.length
  }
}

/**
 * Every leaf below `root`, in key order; checks each node's hash. Throws {@link MissingNodeError}, and RangeError
 * where a node does not have the hash under which it is stored.
 */
export function* trieLeaves(
  root: Hash32,
  readNode: NodeReader,
): Generator<readonly [key: Uint8Array, value: Uint8Array]> {
  if (equalBytes(root, emptyTrieRoot)) return
  yield* leavesBelow(root, noBytes, (hash) => {
    const rlp = readNode(hash)
    if (rlp !== undefined && !equalBytes(keccak256(rlp), hash)) {
      throw new RangeError(
        `trie node ${Buffer.from(hash).toString('hex')} has other content than its hash says`,
      )
    }
    return rlp
  })
}

function* leavesBelow(
  reference: Reference,
  prefix: Uint8Array,
  readNode: NodeReader,
): Generator<readonly [Uint8Array, Uint8Array]> {
  const node = loadNode(reference, readNode)
  if (node.kind === 'leaf') {
    yield [fromNibbles(joinPaths(prefix, node.path)), node.value]
  } else if (node.kind === 'extension') {
    yield* leavesBelow(
      (node.child as { reference: Reference }).reference,
      joinPaths(prefix, node.path),
      readNode,
    )
  } else {
    for (const [nibble, child] of node.children.entries()) {
      if (child === undefined) continue
      yield* leavesBelow((child as { reference: Reference }).reference, joinPaths(prefix, [nibble]), readNode)
    }
  }
}

/** The node that replaces `child` after the sorted `entries` are applied; undefined for none. */
function applyChanges(
  child: Child,
  entries: readonly Entry[],
  depth: number,
  readNode: NodeReader,
): Node | undefined {
  if (child === undefined) return buildNode(entries.filter(isInsert), depth)
  const node = 'node' in child ? child.node : loadNode(child.reference, readNode)
  switch (node.kind) {
    case 'leaf':
      return applyToLeaf(node, entries, depth)
    case 'extension':
      return applyToExtension(node, entries, depth, readNode)
    case 'branch':
      return applyToBranch(node, entries, depth, readNode)
  }
}

function applyToLeaf(
  leaf: Node & { kind: 'leaf' },
  entries: readonly Entry[],
  depth: number,
): Node | undefined {
  const first = entries[0] as Entry
  const path = joinPaths(first.path.subarray(0, depth), leaf.path)
  const kept = entries.filter(isInsert)
  if (!entries.some((entry) => equalBytes(entry.path, path))) {
    kept.push({ path, value: leaf.value })
    kept.sort((a, b) => Buffer.compare(a.path, b.path))
  }
  return buildNode(kept, depth)
}

function applyToExtension(
  extension: Node & { kind: 'extension' },
  entries: readonly Entry[],
  depth: number,
  readNode: NodeReader,
): Node | undefined {
  const { path } = extension
  // Removing a key that is not below this extension changes nothing.
  const relevant = entries.filter(
    (entry) => isInsert(entry) || commonLength(entry.path, depth, path) === path.length,
  )
  if (relevant.length === 0) return extension
  let shared = path.length
  for (const entry of relevant) shared = Math.min(shared, commonLength(entry.path, depth, path))
  if (shared === path.length) {
    const below = applyChanges(extension.child, relevant, depth + shared, readNode)
    return below && joinNode(path, below)
  }
  const children: Child[] = new Array<Child>(16).fill(undefined)
  const rest = path.subarray(shared + 1)
  children[path[shared] as number] =
    rest.length === 0 ? extension.child : { node: { kind: 'extension', path: rest, child: extension.child } }
  const branch = applyToBranch({ kind: 'branch', children }, relevant, depth + shared, readNode)
  return branch && joinNode(path.subarray(0, shared), branch)
}

function applyToBranch(
  branch: Node & { kind: 'branch' },
  entries: readonly Entry[],
  depth: number,
  readNode: NodeReader,
): Node | undefined {
  const children = branch.children.slice()
  for (let start = 0; start < entries.length; ) {
    const nibble = nibbleAt(entries[start] as Entry, depth)
    let end = start + 1
    while (end < entries.length && nibbleAt(entries[end] as Entry, depth) === nibble) end++
    const below = applyChanges(children[nibble], entries.slice(start, end), depth + 1, readNode)
    children[nibble] = below && { node: below }
    start = end
  }
  const first = children.findIndex((child) => child !== undefined)
  if (first === -1) return undefined
  if (children.findIndex((child, nibble) => nibble > first && child !== undefined) !== -1) {
    return { kind: 'branch', children }
  }
  // A branch with one child left is replaced by a longer path.
  const only = children[first] as Exclude<Child, undefined>
  return joinNode(Uint8Array.of(first), 'node' in only ? only.node : loadNode(only.reference, readNode))
}

/** A new subtrie of sorted entries, all of them insertions. */
function buildNode(entries: readonly Entry[], depth: number): Node | undefined {
  const first = entries[0]
  if (first === undefined) return undefined
  if (entries.length === 1)
    return { kind: 'leaf', path: first.path.subarray(depth), value: first.value as Uint8Array }
  const last = entries[entries.length - 1] as Entry
  const shared = commonLength(last.path, depth, first.path.subarray(depth))
  const children: Child[] = new Array<Child>(16).fill(undefined)
  for (let start = 0; start < entries.length; ) {
    const nibble = nibbleAt(entries[start] as Entry, depth + shared)
    let end = start + 1
    while (end < entries.length && nibbleAt(entries[end] as Entry, depth + shared) === nibble) end++
    const below = buildNode(entries.slice(start, end), depth + shared + 1)
    children[nibble] = below && { node: below }
    start = end
  }
  return joinNode(first.path.subarray(depth, depth + shared), { kind: 'branch', children })
}

function joinNode(prefix: Uint8Array, node: Node): Node {
  if (prefix.length === 0) return node
  if (node.kind === 'branch') return { kind: 'extension', path: prefix, child: { node } }
  return { ...node, path: joinPaths(prefix, node.path) }
}

function loadNode(reference: Reference, readNode: NodeReader): Node {
  let item: RlpItem = reference
  if (reference instanceof Uint8Array) {
    const rlp = readNode(reference)
    if (rlp === undefined) throw new MissingNodeError(reference)
    item = decodeRlp(rlp)
  }
  return parseNode(item)
}

/** Converts a decoded item to a node. Throws RangeError where it is none. */
function parseNode(item: RlpItem): Node {
  if (!(item instanceof Uint8Array) && item.length === 17) {
    const children: Child[] = []
    for (let nibble = 0; nibble < 16; nibble++) {
      const reference = item[nibble] as RlpItem
      children.push(reference.length === 0 ? undefined : { reference })
    }
    return { kind: 'branch', children }
  }
  if (!(item instanceof Uint8Array) && item.length === 2) {
    const coded = rlpBytes(item[0])
    const flags = (coded[0] as number) >> 4
    const nibbles = toNibbles(coded)
    const path = nibbles.subarray(flags & 1 ? 1 : 2)
    if (flags & 2) return { kind: 'leaf', path, value: rlpBytes(item[1]) }
    return { kind: 'extension', path, child: { reference: item[1] as RlpItem } }
  }
  throw new RangeError('not a trie node')
}

function encodeNode(node: Node, emit: NodeSink): RlpItem {
  switch (node.kind) {
    case 'leaf':
      return [encodePath(node.path, true), node.value]
    case 'extension':
      return [encodePath(node.path, false), encodeChild(node.child, emit)]
    case 'branch': {
      const items: RlpItem[] = node.children.map((child) => encodeChild(child, emit))
      items.push(noBytes)
      return items
    }
  }
}

function encodeChild(child: Child, emit: NodeSink): RlpItem {
  if (child === undefined) return noBytes
  if ('reference' in child) return child.reference
  const item = encodeNode(child.node, emit)
  const rlp = encodeRlp(item)
  if (rlp.length < 32) return item
  const hash = keccak256(rlp)
  emit(hash, rlp)
  return hash
}

/** Hex-prefix encoding (yellow paper, appendix C). */
function encodePath(path: Uint8Array, isLeaf: boolean): Uint8Array {
  const odd = path.length & 1
  const coded = new Uint8Array((path.length >> 1) + 1)
  coded[0] = ((isLeaf ? 2 : 0) + odd) << 4
  if (odd) coded[0] |= path[0] as number
  for (let i = odd, at = 1; i < path.length; i += 2, at++) {
    coded[at] = ((path[i] as number) << 4) | (path[i + 1] as number)
  }
  return coded
}

function toNibbles(bytes: Uint8Array): Uint8Array {
  const nibbles = new Uint8Array(bytes.length * 2)
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    nibbles[2 * i] = byte >> 4
    nibbles[2 * i + 1] = byte & 15
  }
  return nibbles
}

function fromNibbles(nibbles: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(nibbles.length / 2)
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = ((nibbles[2 * i] as number) << 4) | (nibbles[2 * i + 1] as number)
  }
  return bytes
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
