/**
 * Merkle proofs of an account and its slots as the JSON of `eth_getProof` (EIP-1186). Owns the walk down the tries
 * and the text of the answer. Nodes come from the caller; only the path to the keys is decoded.
 */
import {
  type Address,
  bytesToHex,
  bytesToQuantity,
  equalBytes,
  type Hash32,
  hashBytes,
} from '../../primitives/bytes.js'
import { JsonBytes } from '../../primitives/jsonBytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../primitives/keccak.js'
import { NotStoredError } from '../../primitives/notStored.js'
import { rlpListSpans, rlpSpanAt } from '../../primitives/rlp.js'
import {
  Branch,
  type Child,
  isHash,
  Leaf,
  MissingNodeError,
  type NodeReader,
  nodeRlp,
  parseNode,
  type Reference,
  type TrieNode,
  toNibbles,
} from './trieNode.js'
import type { Tries } from './tries.js'

const noNibbles = new Uint8Array(0)

export interface ProofKey {
  readonly slot: Hash32
  /** Number of bytes as the caller wrote it; decides its form in the answer. */
  readonly writtenBytes: number
}

export interface ProofRequest {
  readonly number: number
  /** Hash of the block. */
  readonly block: Hash32
  readonly stateRoot: Hash32
  readonly address: Address
  readonly keys: readonly ProofKey[]
}

/**
 * The JSON of a proof, as bytes in new memory that the caller may transfer. Node lists go from the root to the value,
 * or to the node that proves its absence. Nodes embedded in their parent are not listed, and the list of an empty trie
 * is empty. An absent account has nonce 0, balance 0, the hash of no code and the empty trie's root.
 *
 * Takes one Keccak-256 and one walk per key, and one read per distinct node: nodes that several keys share are read and
 * rendered once. Nodes in `upper`, which a caller may pass to many proofs, are not read again. With 100,000 accounts
 * that saves a quarter of a proof of three slots (scenario `proof-random`).
 *
 * Throws NotStoredError if a node is not stored.
 */
export function buildProofJson(
  tries: Tries,
  request: ProofRequest,
  upper = new UpperNodes(),
): Uint8Array<ArrayBuffer> {
  try {
    return renderProof(tries, request, upper)
  } catch (error) {
    if (!(error instanceof MissingNodeError)) throw error
    const { block, stateRoot, address, keys } = request
    throw new NotStoredError({
      kind: 'state',
      block,
      stateRoot,
      address,
      slots: keys.map(({ slot }) => slot),
    })
  }
}

/** Bytes reserved: enough for an account and some slots in a large state. The memory grows for longer proofs. */
const proofBytesExpected = 32_768

/** Shared by all proofs, because each is built and copied without a pause. */
const json = new JsonBytes(proofBytesExpected)

function renderProof(
  tries: Tries,
  { stateRoot, address, keys }: ProofRequest,
  upper: UpperNodes,
): Uint8Array<ArrayBuffer> {
  json.clear()
  json.text('{"address":')
  json.hex(address)
  json.text(',"accountProof":[')
  const account = new TrieWalk(stateRoot, tries(), upper).prove(keccak256(address))
  writeNodes(account.nodes)
  const { nonce, balance, codeHash, storageRoot } =
    account.value === undefined ? absentAccount : readAccount(account.value)
  json.text(`],"balance":"${balance}","codeHash":`)
  json.hex(codeHash)
  json.text(`,"nonce":"${nonce}","storageHash":`)
  json.hex(storageRoot)
  json.text(',"storageProof":[')
  // Without keys the storage trie is not read, and need not be stored.
  const storage = new TrieWalk(keys.length === 0 ? emptyTrieRoot : storageRoot, tries(address))
  for (let i = 0; i < keys.length; i++) {
    const { slot, writtenBytes } = keys[i] as ProofKey
    // go-ethereum repeats a key written with 32 bytes as a hash and any other as a quantity.
    const key = writtenBytes === 32 ? bytesToHex(slot) : bytesToQuantity(slot)
    const { nodes, value } = storage.prove(keccak256(slot))
    json.text(`${i === 0 ? '' : ','}{"key":"${key}","value":"${readSlotValue(value)}","proof":[`)
    writeNodes(nodes)
    json.text(']}')
  }
  json.text(']}')
  return json.finish()
}

function writeNodes(nodes: readonly ProofNode[]): void {
  for (let i = 0; i < nodes.length; i++) {
    const node = nodes[i] as ProofNode
    if (i > 0) json.text(',')
    if (node.json !== undefined) json.raw(node.json)
    else if (node.writtenAt === undefined) {
      node.writtenAt = json.length
      json.hex(node.rlp)
    } else json.again(node.writtenAt, node.writtenAt + node.rlp.length * 2 + 4)
  }
}

interface AccountFields {
  /** Hex quantities. */
  readonly nonce: string
  readonly balance: string
  readonly storageRoot: Uint8Array
  readonly codeHash: Uint8Array
}

const absentAccount: AccountFields = {
  nonce: '0x0',
  balance: '0x0',
  storageRoot: emptyTrieRoot,
  codeHash: emptyCodeHash,
}

function readAccount(rlp: Uint8Array): AccountFields {
  const spans = rlpListSpans(rlp, rlpSpanAt(rlp, 0))
  if (spans.length !== 4) throw new RangeError('not an account')
  const [nonce, balance, storageRoot, codeHash] = spans.map(({ payload, end }) => rlp.subarray(payload, end))
  return {
    nonce: bytesToQuantity(nonce as Uint8Array),
    balance: bytesToQuantity(balance as Uint8Array),
    storageRoot: storageRoot as Uint8Array,
    codeHash: codeHash as Uint8Array,
  }
}

/** A slot's value as a hex quantity. */
function readSlotValue(rlp: Uint8Array | undefined): string {
  if (rlp === undefined) return '0x0'
  const { payload, end } = rlpSpanAt(rlp, 0)
  return bytesToQuantity(rlp.subarray(payload, end))
}

/**
 * Levels of a trie that {@link UpperNodes} keeps. In a large state they have 4,369 nodes, each on the path to many
 * accounts. With their hex they take 9 MB.
 */
const upperLevels = 4

/**
 * The nodes near the root of the last proved state, with their hex: most proofs of one state share them. They are used
 * only for that state root, so they are never wrong.
 */
export class UpperNodes {
  #rootHash: Uint8Array = emptyTrieRoot
  #root: ProofNode | undefined

  /** The root node with this hash; it is read unless it is the cached one. */
  rootOf(hash: Uint8Array, read: (hash: Uint8Array) => ProofNode): ProofNode {
    if (this.#root !== undefined && equalBytes(this.#rootHash, hash)) return withJson(this.#root)
    const root = read(hash)
    this.#rootHash = hash.slice()
    this.#root = root
    return root
  }
}

/**
 * Renders a node that a second proof shares with an earlier one. The first proof does not keep it, because many states
 * get only one proof.
 */
function withJson(node: ProofNode): ProofNode {
  if (node.json !== undefined) return node
  const json = new JsonBytes(0)
  json.hex(node.rlp)
  node.json = json.finish()
  return node
}

/** A node that is named by its hash, with the visited nodes below it. */
export interface ProofNode {
  readonly rlp: Uint8Array
  readonly node: TrieNode
  /** Proof nodes by the child that refers to them, in this node or in a node that is embedded in it. */
  readonly below: Map<TrieNode | Reference, ProofNode>
  /** Offset of the node in the answer, once written. */
  writtenAt: number | undefined
  /** JSON of the node, for nodes that are cached between proofs. */
  json: Uint8Array | undefined
}

/** Walks one trie for several keys. Throws {@link MissingNodeError} for a node that is not stored. */
export class TrieWalk {
  readonly #root: ProofNode | undefined
  readonly #readNode: NodeReader
  readonly #upper: UpperNodes | undefined

  /** With `upper`, nodes near the root are taken from it and cached in it. */
  constructor(root: Uint8Array, readNode: NodeReader, upper?: UpperNodes) {
    this.#readNode = readNode
    this.#upper = upper
    const read = (hash: Uint8Array) => this.#read(hash, noNibbles)
    if (equalBytes(root, emptyTrieRoot)) this.#root = undefined
    else this.#root = upper?.rootOf(root, read) ?? read(root)
  }

  /** Nodes on the path to `key`, and the RLP of the value there, a view of its node. */
  prove(key: Uint8Array): {
    readonly nodes: readonly ProofNode[]
    readonly value: Uint8Array | undefined
  } {
    if (this.#root === undefined) return { nodes: [], value: undefined }
    const path = toNibbles(key)
    let found = this.#root
    const nodes = [found]
    let { node } = found
    for (let depth = 0; ; ) {
      let child: Child
      if (node instanceof Branch) {
        if (depth === path.length) throw new RangeError('a trie is deeper than its keys')
        child = node.children[path[depth++] as number]
        if (child === undefined) return { nodes, value: undefined }
      } else {
        for (const nibble of node.path) if (path[depth++] !== nibble) return { nodes, value: undefined }
        if (node instanceof Leaf) return { nodes, value: depth === path.length ? node.value : undefined }
        child = node.child
      }
      const known = found.below.get(child)
      const next = known ?? this.#open(child, path.subarray(0, depth))
      node = next.node
      const isKept = this.#upper === undefined || nodes.length < upperLevels
      if (isKept) found.below.set(child, next)
      // Nodes that are shorter than their hash are embedded in the node above.
      if (next.rlp.length < hashBytes) continue
      if (isKept && this.#upper !== undefined && known !== undefined) withJson(next)
      found = next
      nodes.push(found)
    }
  }

  #open(child: TrieNode | Reference, path: Uint8Array): ProofNode {
    if (!(child instanceof Uint8Array)) return proofNode(child, nodeRlp(child))
    return isHash(child) ? this.#read(child.subarray(1), path) : proofNode(parseNode(child), child)
  }

  #read(hash: Uint8Array, path: Uint8Array): ProofNode {
    const found = this.#readNode(hash, path)
    if (found === undefined) throw new MissingNodeError(hash)
    return found instanceof Uint8Array ? proofNode(parseNode(found), found) : proofNode(found, nodeRlp(found))
  }
}

function proofNode(node: TrieNode, rlp: Uint8Array): ProofNode {
  return { rlp, node, below: new Map(), writtenAt: undefined, json: undefined }
}
