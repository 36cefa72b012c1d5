/**
 * Nodes of Merkle Patricia tries (yellow paper, appendices C and D) in memory: decoding, encoding and hashing. Owns
 * their form; trie.ts changes tries.
 *
 * A child is a node, or before it is read, a view of its reference in the parent. Nodes are never changed, except that
 * a child that was read replaces its reference. So tries may share nodes.
 */
import { type Hash32, hashBytes, noBytes } from '../../primitives/bytes.js'
import { hashInputBytes, keccak256, lendHashOfInput } from '../../primitives/keccak.js'
import {
  listBase,
  rlpBytesLength,
  rlpEndAt,
  rlpLength,
  rlpPayloadAt,
  writeRlpBytes,
  writeRlpHeader,
} from '../../primitives/rlp.js'
import { Slab } from '../../primitives/slab.js'

/**
 * Reads the trie node with this hash at `path` (a nibble per byte). Returns its RLP, or the node together with the
 * other nodes of its row. Undefined if it is not stored.
 */
export type NodeReader = (hash: Uint8Array, path: Uint8Array) => Uint8Array | TrieNode | undefined
/** Called with each new node that is referred to by hash: its RLP, and the node with the known nodes below it. */
export type NodeSink = (hash: Hash32, rlp: Uint8Array, node: TrieNode) => void

export type TrieNode = Leaf | Extension | Branch
/** A parent's reference to a child: the RLP of its hash (33 bytes), or its own RLP if that is shorter. */
export type Reference = Uint8Array
/** A node, a reference to it, or the RLP of a leaf, however long. */
export type Child = TrieNode | Reference | undefined

/** A node of a trie is not stored: the store is damaged, or the state is not kept. */
export class MissingNodeError extends Error {
  override readonly name = 'MissingNodeError'
  constructor(readonly hash: Uint8Array) {
    super(`trie node ${Buffer.from(hash).toString('hex')} is missing`)
  }
}

export class Leaf {
  /** Set once the node is encoded or read; the same for all kinds of nodes. */
  reference: Reference | undefined = undefined
  readonly path: Uint8Array
  readonly value: Uint8Array

  /** `path` is the rest of the key, a nibble per byte; the same for all kinds of nodes. */
  constructor(path: Uint8Array, value: Uint8Array) {
    this.path = path
    this.value = value
  }
}

export class Extension {
  reference: Reference | undefined = undefined
  readonly path: Uint8Array
  child: TrieNode | Reference

  constructor(path: Uint8Array, child: TrieNode | Reference) {
    this.path = path
    this.child = child
  }
}

/** Keys of a trie are never prefixes of each other, so branches have no value. */
export class Branch {
  reference: Reference | undefined = undefined
  /** 16 children. */
  readonly children: Child[]
  /** References to those children that are the RLP of long leaves, if they were needed. */
  references: (Reference | undefined)[] | undefined

  constructor(children: Child[], references?: (Reference | undefined)[]) {
    this.children = children
    this.references = references
  }
}

/** Prefix of a hash in RLP. */
const hashPrefix = 0x80 + hashBytes
const empty = 0x80

/** The node of a child at `path`. Throws {@link MissingNodeError}, and RangeError for malformed data. */
export function loadNode(child: Reference, readNode: NodeReader, path: Uint8Array): TrieNode {
  if (child[0] !== hashPrefix) {
    const node = parseNode(child)
    // A node whose RLP is at least as long as a hash is referred to by hash.
    if (child.length < hashBytes) node.reference = child
    return node
  }
  const hash = child.subarray(1)
  const stored = readNode(hash, path)
  if (stored === undefined) throw new MissingNodeError(hash)
  const node = stored instanceof Uint8Array ? parseNode(stored) : stored
  node.reference = child
  return node
}

/** Whether its parent refers to an encoded node by hash. */
export function isHashed({ reference }: TrieNode): boolean {
  return reference !== undefined && isHash(reference)
}

/** Whether a child names a node by its hash. */
export function isHash(child: Reference): boolean {
  return child[0] === hashPrefix
}

/**
 * Memory for references, and for the RLP of leaves in a branch, which live as long as their nodes. Its chunks are
 * small, because one reference keeps its whole chunk.
 */
const nodeSlab = new Slab(2_048)

/** The reference to the node with this hash. */
export function referenceTo(hash: Uint8Array): Reference {
  const reference = nodeSlab.take(1 + hashBytes)
  reference[0] = hashPrefix
  reference.set(hash, 1)
  return reference
}

/** The node with this RLP. Throws RangeError for malformed data. */
export function parseNode(rlp: Uint8Array): TrieNode {
  const ends: number[] = []
  const end = rlp.length > 0 ? rlpEndAt(rlp, 0) : 0
  const start = end > 0 ? rlpPayloadAt(rlp, 0) : 0
  for (let at = start; at < end && ends.length <= 17; at = ends[ends.length - 1] as number) {
    ends.push(rlpEndAt(rlp, at))
  }
  const isNode = (ends.length === 2 || ends.length === 17) && end === rlp.length && ends.at(-1) === end
  if (!isNode || (rlp[0] as number) < listBase) throw new RangeError('not a trie node')
  if (ends.length === 17) return parseBranch(rlp, start, ends)
  const [pathEnd = 0] = ends
  const coded = rlp.subarray(rlpPayloadAt(rlp, start), pathEnd)
  const flags = (coded[0] as number) >> 4
  const path = toNibbles(coded).subarray(flags & 1 ? 1 : 2)
  if (flags & 2) return new Leaf(path, rlp.subarray(rlpPayloadAt(rlp, pathEnd), end))
  return new Extension(path, rlp.subarray(pathEnd, end))
}

/**
 * The end of `path` from `depth` on, if `rlp` is a leaf with that path; otherwise undefined. A leaf that gets another
 * value need not be parsed.
 */
export function ownPath(rlp: Uint8Array, path: Uint8Array, depth: number): Uint8Array | undefined {
  if ((rlp[0] as number) < listBase) return undefined
  const item = rlpPayloadAt(rlp, 0)
  const pathEnd = rlpEndAt(rlp, item)
  let at = rlpPayloadAt(rlp, item)
  // A branch has an item after the second.
  if (rlpEndAt(rlp, pathEnd) !== rlp.length) return undefined
  const flags = (rlp[at] as number) >> 4
  const odd = flags & 1
  if ((flags & 2) === 0 || (pathEnd - at - 1) * 2 + odd !== path.length - depth) return undefined
  let own = depth
  if (odd && path[own++] !== ((rlp[at] as number) & 15)) return undefined
  for (at++; at < pathEnd; at++, own += 2) {
    const pair = rlp[at] as number
    if (path[own] !== pair >> 4 || path[own + 1] !== (pair & 15)) return undefined
  }
  return path.subarray(depth)
}

function parseBranch(rlp: Uint8Array, start: number, ends: readonly number[]): Branch {
  const children: Child[] = []
  let from = start
  for (let nibble = 0; nibble < 16; nibble++) {
    const end = ends[nibble] as number
    children.push(rlp[from] === empty ? undefined : rlp.subarray(from, end))
    from = end
  }
  return new Branch(children)
}

/** The reference to a node; passes all new nodes below it and itself to `emit`. */
export function encodeNode(node: TrieNode, emit: NodeSink | undefined): Reference {
  if (node.reference !== undefined) return node.reference
  const { target, length } = writeNode(node, emit)
  if (length < hashBytes) node.reference = target.slice(0, length)
  else node.reference = hashNode(node, target, length, emit)
  return node.reference
}

/** The hash of a node that is the root of a trie, of any length; otherwise as {@link encodeNode}. */
export function encodeRoot(node: TrieNode, emit: NodeSink | undefined): Hash32 {
  const known = node.reference
  if (known?.[0] === hashPrefix) return known.slice(1) as Hash32
  const { target, length } = writeNode(node, emit)
  node.reference = hashNode(node, target, length, emit)
  return node.reference.slice(1) as Hash32
}

function hashNode(node: TrieNode, target: Uint8Array, length: number, emit: NodeSink | undefined): Reference {
  // Copied first, because `emit` may hash too.
  const rlp = emit && rlpSlab.copy(target, length)
  const reference = referenceTo(target === hashInputBytes ? lendHashOfInput(length) : keccak256(target))
  if (rlp !== undefined) emit?.(reference.subarray(1) as Hash32, rlp, node)
  return reference
}

/** Memory for the RLP of new nodes, which live until their block is stored. */
const rlpSlab = new Slab()

/** Writes the RLP of a node to the hasher's memory, or elsewhere if that is too small. */
function writeNode(node: TrieNode, emit: NodeSink | undefined): { target: Uint8Array; length: number } {
  if (node instanceof Branch) return writeBranch(node, emit)
  const { path } = node
  const pathBytes = (path.length >> 1) + 1
  const reference = node instanceof Leaf ? noBytes : encodeChild(node.child, emit)
  const last = node instanceof Leaf ? rlpBytesLength(node.value) : reference.length
  const payload = (pathBytes === 1 ? 1 : rlpLength(pathBytes)) + last
  const target = targetFor(rlpLength(payload))
  let at = writeRlpHeader(target, 0, listBase, payload)
  // One byte of a path is below 0x80, and is its own RLP.
  if (pathBytes > 1) at = writeRlpHeader(target, at, empty, pathBytes)
  at = writePath(target, at, path, node instanceof Leaf)
  if (node instanceof Leaf) at = writeRlpBytes(target, at, node.value)
  else {
    target.set(reference, at)
    at += reference.length
  }
  return { target, length: at }
}

function writeBranch(branch: Branch, emit: NodeSink | undefined): { target: Uint8Array; length: number } {
  const { children } = branch
  // All children are encoded first, because each of them uses the same memory.
  let payload = 1
  for (let nibble = 0; nibble < 16; nibble++) {
    const child = children[nibble]
    payload += child === undefined ? 1 : encodeChildOf(branch, nibble, child, emit).length
  }
  const target = targetFor(rlpLength(payload))
  let at = writeRlpHeader(target, 0, listBase, payload)
  for (let nibble = 0; nibble < 16; nibble++) {
    const child = children[nibble]
    if (child === undefined) target[at++] = empty
    else {
      const reference = encodeChildOf(branch, nibble, child, emit)
      target.set(reference, at)
      at += reference.length
    }
  }
  target[at++] = empty
  return { target, length: at }
}

function targetFor(length: number): Uint8Array {
  return length <= hashInputBytes.length ? hashInputBytes : new Uint8Array(length)
}

function encodeChild(child: TrieNode | Reference, emit: NodeSink | undefined): Reference {
  return child instanceof Uint8Array ? child : encodeNode(child, emit)
}

function encodeChildOf(
  branch: Branch,
  nibble: number,
  child: TrieNode | Reference,
  emit: NodeSink | undefined,
): Reference {
  if (!(child instanceof Uint8Array)) return encodeNode(child, emit)
  if (child[0] === hashPrefix || child.length < hashBytes) return child
  branch.references ??= new Array<undefined>(16).fill(undefined)
  let reference = branch.references[nibble]
  if (reference === undefined) {
    reference = referenceTo(keccak256(child))
    branch.references[nibble] = reference
  }
  return reference
}

/** The RLP of a node, in memory of its own. */
export function nodeRlp(node: TrieNode): Uint8Array {
  const { target, length } = writeNode(node, undefined)
  return target.slice(0, length)
}

/** Replaces new leaves of a branch by their RLP, the form in rows. */
export function settleLeaves(branch: Branch): void {
  for (let nibble = 0; nibble < 16; nibble++) {
    const leaf = branch.children[nibble]
    if (!(leaf instanceof Leaf)) continue
    const { target, length } = writeNode(leaf, undefined)
    branch.children[nibble] = nodeSlab.copy(target, length)
    if (length < hashBytes) continue
    branch.references ??= new Array<undefined>(16).fill(undefined)
    branch.references[nibble] =
      leaf.reference ??
      referenceTo(target === hashInputBytes ? lendHashOfInput(length) : keccak256(target.subarray(0, length)))
  }
}

/** Writes a path in hex-prefix encoding (yellow paper, appendix C); returns the offset after it. */
function writePath(target: Uint8Array, at: number, path: Uint8Array, isLeaf: boolean): number {
  const odd = path.length & 1
  target[at++] = (((isLeaf ? 2 : 0) + odd) << 4) | (odd ? (path[0] as number) : 0)
  for (let i = odd; i < path.length; i += 2)
    target[at++] = ((path[i] as number) << 4) | (path[i + 1] as number)
  return at
}

/** Two nibbles per byte, each in a byte of its own. */
export function toNibbles(bytes: Uint8Array): Uint8Array {
  const nibbles = new Uint8Array(bytes.length * 2)
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    nibbles[2 * i] = byte >> 4
    nibbles[2 * i + 1] = byte & 15
  }
  return nibbles
}

/** The inverse of {@link toNibbles}. */
export function fromNibbles(nibbles: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(nibbles.length / 2)
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = ((nibbles[2 * i] as number) << 4) | (nibbles[2 * i + 1] as number)
  }
  return bytes
}
