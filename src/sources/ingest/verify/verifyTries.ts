/**
 * Checks that the rows of all tries, at the head and past, match each other. Each node must have the hash that its
 * parent row names, from the same block on. The root of the account trie must match the block's header, and a storage
 * root its account. All rows are read once, in stored order. A row's reference to a child and the child itself are read
 * at different times. So each is added to a digest, and the two cancel out.
 */
import { decodeHeader, stateRootOf } from '../../../data/chain/header.js'
import { decodeAccount } from '../../../data/state/account.js'
import { Branch, fromNibbles, isHash, Leaf, nodeRlp, parseNode } from '../../../data/state/trieNode.js'
import { nodeOfRow } from '../../../data/state/tries.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import { RowDigest } from '../../../data/store/layouts/rowDigest.js'
import { type TrieRow, unpackRow } from '../../../data/store/layouts/trieRow.js'
import { accountTrie } from '../../../data/store/trieRows.js'
import type { TrieTransition } from '../../../data/store/trieVersions.js'
import { concatBytes, equalBytes, noBytes } from '../../../primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'

interface TriesToVerify {
  readonly head: number
  /** The oldest block whose tries are kept. */
  readonly oldest: number
  readonly onProgress: (done: number) => void
}

type OnFault = (sentence: string) => void

/** Rows between two reports of progress: some 0.2 s. */
const rowsPerReport = 65_536

/** Returns the number of row versions. Throws for rows that are inconsistent in themselves. */
export function verifyTries(
  store: ChainReader,
  { head, oldest, onProgress }: TriesToVerify,
  fault: OnFault,
): number {
  const all = store.allTries()
  const digests = { nodes: new RowDigest(), accounts: new RowDigest(), changes: new RowDigest() }
  const nodes = new NodeDigest(digests.nodes, digests.accounts)
  addHeaders()
  const total = all.rowCount
  let versions = 0
  for (const transition of all.transitions(oldest)) {
    const { key, at, after } = transition
    nodes.add(transition)
    if (at > oldest || oldest === 0) digests.changes.toggle(key, at, noBytes)
    if (after !== undefined && ++versions % rowsPerReport === 0) onProgress(Math.min(1, versions / total))
  }
  expectNone(digests.nodes, 'a node does not have the hash that the row above it, or a header, says')
  expectNone(digests.accounts, 'the slots of an account do not have the root that the account says')
  expectNone(digests.changes, 'a row differs from the lists of changed rows')
  return versions

  function expectNone(digest: RowDigest, otherwise: string): void {
    if (digest.bytes.some((byte) => byte !== 0)) fault(`tries: ${otherwise}`)
  }

  /** Adds the state roots of headers, and the lists of rows that blocks changed. */
  function addHeaders(): void {
    let before: Uint8Array | undefined
    const { development } = store.readIdentity() ?? {}
    for (let number = oldest; number <= head; number++) {
      if (number > oldest || oldest === 0)
        for (const key of all.changesOf(number)) digests.changes.toggle(key, number, noBytes)
      const hash = store.readCanonicalHash(number)
      const header = hash && store.readHeader(hash)
      // A missing block was reported before.
      if (header === undefined) continue
      const root = (hash && store.readRootByHand(hash)) ?? stateRootOf(decodeHeader(header), development)
      if (before !== undefined && equalBytes(before, root)) continue
      if (before !== undefined) nodes.addRoot(digests.nodes, accountTrie, number, before)
      nodes.addRoot(digests.nodes, accountTrie, number, root)
      before = root
    }
  }
}

/** Digest of node hashes: computed ones and referenced ones. */
class NodeDigest {
  readonly #nodes: RowDigest
  readonly #roots: RowDigest
  /** The last row, with references to its leaves, and its hash. It is the `before` of the next one. */
  #last: { readonly row: TrieRow; readonly branch: Branch | undefined; readonly hash: Uint8Array } | undefined
  /** The address whose hash was computed last. */
  #owner: Uint8Array = noBytes
  #account: Uint8Array = noBytes

  constructor(nodes: RowDigest, roots: RowDigest) {
    this.#nodes = nodes
    this.#roots = roots
  }

  addRoot(digest: RowDigest, name: Uint8Array, at: number, root: Uint8Array): void {
    if (!equalBytes(root, emptyTrieRoot)) digest.toggle(name, at, root)
  }

  add({ key, ownerBytes, at, before, after }: TrieTransition): void {
    const isRoot = key.length === ownerBytes
    const [digest, name] =
      isRoot && ownerBytes > 1 ? [this.#roots, this.#accountOf(key.subarray(1))] : [this.#nodes, key]
    // The version before, whose hash is known.
    if (before !== undefined) digest.toggle(name, at, (this.#last as { hash: Uint8Array }).hash)
    this.#last = after && this.#hashed(after)
    if (this.#last !== undefined) digest.toggle(name, at, this.#last.hash)
    const isSame = before && after && equalBytes(before.extension, after.extension)
    for (let nibble = 0; nibble < 16; nibble++) {
      const was = before?.children[nibble]
      const is = after?.children[nibble]
      if (isSame && (was === is || (was && is && equalBytes(was, is)))) continue
      if (before !== undefined) this.#addChild(key, ownerBytes, before, nibble, at)
      if (after !== undefined) this.#addChild(key, ownerBytes, after, nibble, at)
    }
    if (ownerBytes > 1) return
    for (const row of [before, after]) {
      if (row?.leaf !== undefined)
        this.#addAccount(key, ownerBytes, noBytes, unpackRow(row).leaf as Uint8Array, at)
    }
  }

  #accountOf(address: Uint8Array): Uint8Array {
    if (!equalBytes(this.#owner, address)) {
      this.#owner = address.slice()
      this.#account = keccak256(address)
    }
    return this.#account
  }

  /** Adds a row's reference to one of its children. */
  #addChild(key: Uint8Array, ownerBytes: number, row: TrieRow, nibble: number, at: number): void {
    const child = row.children[nibble]
    if (child === undefined) return
    const { extension } = row
    if (isHash(child)) {
      const below = new Uint8Array(key.length + extension.length + 1)
      below.set(key)
      for (let i = 0; i < extension.length; i++) below[key.length + i] = (extension[i] as number) + 1
      below[below.length - 1] = nibble + 1
      this.#nodes.toggle(below, at, child.subarray(1))
    } else if (ownerBytes === 1 && (child[0] as number) >= 0x80) {
      // Shortened leaves are of accounts without slots.
      const rest = new Uint8Array(extension.length + 1)
      rest.set(extension)
      rest[extension.length] = nibble
      this.#addAccount(key, ownerBytes, rest, child, at)
    }
  }

  /** Adds the storage root in the leaf of an account. */
  #addAccount(key: Uint8Array, ownerBytes: number, rest: Uint8Array, rlp: Uint8Array, at: number): void {
    const leaf = parseNode(rlp)
    if (!(leaf instanceof Leaf)) return
    const { storageRoot } = decodeAccount(leaf.value)
    if (equalBytes(storageRoot, emptyTrieRoot)) return
    const start = key.subarray(ownerBytes).map((code) => code - 1)
    const account = fromNibbles(concatBytes(start, rest, leaf.path))
    this.#roots.toggle(account, at, storageRoot)
  }

  #hashed(row: TrieRow): {
    readonly row: TrieRow
    readonly branch: Branch | undefined
    readonly hash: Uint8Array
  } {
    const unpacked = unpackRow(row)
    const node = nodeOfRow(unpacked)
    const branch = node instanceof Branch ? node : node instanceof Leaf ? undefined : (node.child as Branch)
    const last = this.#last
    if (branch !== undefined && last?.branch?.references !== undefined) {
      // Leaves that did not change keep their known reference.
      const { references } = last.branch
      branch.references = references.map((reference, nibble) =>
        row.children[nibble] !== undefined && row.children[nibble] === last.row.children[nibble]
          ? reference
          : undefined,
      )
    }
    // The stored bytes of a leaf: encoding the parsed leaf again would hide a wrong prefix.
    return { row, branch, hash: keccak256(unpacked.leaf ?? nodeRlp(node)) }
  }
}
