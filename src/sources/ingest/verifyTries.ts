/**
 * Whether the rows of all tries, of the head and the past, fit each other: each node has the hash that the row above it
 * names, from the block on from which that names it; the root of all has that of the block's header, and that of an
 * account's slots the one of the account. All rows are read once, in their order. What a row says of those below it and
 * what those are come at different times, so each is added to a digest, out of which the other takes it.
 */
import { decodeHeader, stateRootOf } from '../../data/chain/header.js'
import { decodeAccount } from '../../data/state/account.js'
import { Branch, fromNibbles, isHash, Leaf, nodeRlp, parseNode } from '../../data/state/trieNode.js'
import { nodeOfRow } from '../../data/state/tries.js'
import type { ChainReader } from '../../data/store/chainReader.js'
import { RowDigest } from '../../data/store/rowDigest.js'
import { type TrieRow, unpackRow } from '../../data/store/trieRow.js'
import { accountTrie } from '../../data/store/trieRows.js'
import type { TrieTransition } from '../../data/store/trieVersions.js'
import { concatBytes, equalBytes, noBytes } from '../../primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../primitives/keccak.js'

interface TriesToVerify {
  readonly head: number
  /** The oldest block whose tries are kept. */
  readonly oldest: number
  readonly onProgress: (done: number) => void
}

type OnFault = (sentence: string) => void

/** Rows between two reports of progress: some 0.2 s. */
const rowsPerReport = 65_536

/** Returns how many versions of rows there are. Throws for rows that do not fit each other in themselves. */
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
  expectNone(digests.changes, 'a row is not as the lists say of what blocks changed')
  return versions

  function expectNone(digest: RowDigest, otherwise: string): void {
    if (digest.bytes.some((byte) => byte !== 0)) fault(`tries: ${otherwise}`)
  }

  /** Adds what headers say of the roots, and the lists of rows that blocks changed. */
  function addHeaders(): void {
    let before: Uint8Array | undefined
    const { development } = store.readIdentity() ?? {}
    for (let number = oldest; number <= head; number++) {
      if (number > oldest || oldest === 0)
        for (const key of all.changesOf(number)) digests.changes.toggle(key, number, noBytes)
      const hash = store.readCanonicalHash(number)
      const header = hash && store.readHeader(hash)
      // A block that is missing was told of.
      if (header === undefined) continue
      const root = stateRootOf(decodeHeader(header), development)
      if (before !== undefined && equalBytes(before, root)) continue
      if (before !== undefined) nodes.addRoot(digests.nodes, accountTrie, number, before)
      nodes.addRoot(digests.nodes, accountTrie, number, root)
      before = root
    }
  }
}

/** Hashes of nodes, from what they are and from what is said of them. */
class NodeDigest {
  readonly #nodes: RowDigest
  readonly #roots: RowDigest
  /** The row that came last, with references to its leaves, and its hash: it is the next one's row before. */
  #last: { readonly row: TrieRow; readonly branch: Branch | undefined; readonly hash: Uint8Array } | undefined
  /** The address whose hash was made last. */
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

  /** What a row says of one of its children. */
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

  /** What the leaf of an account says of its slots. */
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
      // Of leaves that are the same as in the version before, the hash is known.
      const { references } = last.branch
      branch.references = references.map((reference, nibble) =>
        row.children[nibble] !== undefined && row.children[nibble] === last.row.children[nibble]
          ? reference
          : undefined,
      )
    }
    // A leaf as it stands: from what was parsed of it, a wrong prefix would be written right.
    return { row, branch, hash: keccak256(unpacked.leaf ?? nodeRlp(node)) }
  }
}
