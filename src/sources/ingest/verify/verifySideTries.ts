/** Checks that the stored tries of unwound blocks match their headers. */
import { decodeHeader } from '../../../data/chain/header.js'
import { decodeAccount } from '../../../data/state/account.js'
import { readTrie } from '../../../data/state/trie.js'
import {
  Branch,
  isHash,
  Leaf,
  loadNode,
  type NodeReader,
  nodeRlp,
  referenceTo,
} from '../../../data/state/trieNode.js'
import { nodeOfRow, type Tries, triesAfter } from '../../../data/state/tries.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import { decodeTrieRow, encodeTrieRow } from '../../../data/store/layouts/trieRow.js'
import type { SideTrieRow } from '../../../data/store/trieRows.js'
import { bytesToHex, equalBytes, type Hash32 } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'

/** Calls `fault` for each row that is not the node of its block at its path. */
export function verifySideTries(store: ChainReader, fault: (sentence: string) => void): void {
  // Rows of one block are adjacent.
  let block: SideBlock | undefined
  for (const row of store.allTries().sideRows()) {
    try {
      if (row.content.length === 0) continue
      if (block === undefined || !equalBytes(block.hash, row.hash)) block = readSideBlock(store, row)
      if (!isRight(block, row)) throw new RangeError('it has another hash')
    } catch (error) {
      // Without the start of a branch its tries cannot be read.
      if (error instanceof FaultError && error.fault.kind === 'HistoryPruned') continue
      if (!(error instanceof Error)) throw error
      fault(`block ${bytesToHex(row.hash)}, not canonical: a row of its tries: ${error.message}`)
    }
  }
}

interface SideBlock {
  readonly hash: Hash32
  readonly stateRoot: Hash32
  readonly tries: Tries
}

/** Read once per block, because a branch may be long: the path down to a canonical block takes a read per block. */
function readSideBlock(store: ChainReader, { number, hash }: SideTrieRow): SideBlock {
  const header = store.readHeader(hash)
  if (header === undefined) throw new RangeError('the block is not known')
  const stateRoot = store.readRootByHand(hash) ?? decodeHeader(header).stateRoot
  return { hash, stateRoot, tries: triesAfter(store, { number, hash }) }
}

function isRight({ stateRoot, tries }: SideBlock, { key, content }: SideTrieRow): boolean {
  const address = key[0] === 0 ? undefined : key.subarray(1, 21)
  const root = address === undefined ? stateRoot : storageRootOf(stateRoot, address, tries)
  const path = key.subarray(1 + (address?.length ?? 0)).map((code) => code - 1)
  const named = hashAt(root, path, tries(address))
  const row = decodeTrieRow(content)
  const isWritten = equalBytes(encodeTrieRow(row), content)
  return isWritten && named !== undefined && equalBytes(keccak256(nodeRlp(nodeOfRow(row))), named)
}

function storageRootOf(stateRoot: Hash32, address: Uint8Array, tries: Tries): Hash32 {
  const row = readTrie(stateRoot, keccak256(address), tries())
  return row === undefined ? emptyTrieRoot : decodeAccount(row).storageRoot
}

/** The hash of the node at exactly this path; undefined if there is none. */
function hashAt(root: Hash32, path: Uint8Array, readNode: NodeReader): Uint8Array | undefined {
  if (equalBytes(root, emptyTrieRoot)) return undefined
  let child: Uint8Array = referenceTo(root)
  for (let depth = 0; ; ) {
    if (depth === path.length) return isHash(child) ? child.subarray(1) : undefined
    const node = loadNode(child, readNode, path.subarray(0, depth))
    if (node instanceof Leaf) return undefined
    if (!(node instanceof Branch)) depth += node.path.length
    const branch = node instanceof Branch ? node : node.child
    const next = branch instanceof Branch ? branch.children[path[depth++] ?? 16] : undefined
    if (!(next instanceof Uint8Array) || depth > path.length) return undefined
    child = next
  }
}
