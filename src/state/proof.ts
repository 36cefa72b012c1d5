/**
 * Merkle proofs of an account and its slots as the JSON of `eth_getProof` (EIP-1186). Owns the walk down the tries
 * and the text of the answer. Nodes come from the caller; only the path to the keys is decoded.
 */
import { type Address, bytesToHex, bytesToQuantity, equalBytes, type Hash32 } from '../primitives/bytes.js'
import { JsonBytes } from '../primitives/jsonBytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../primitives/keccak.js'
import { NotHeldError } from '../primitives/notHeld.js'
import { type RlpSpan, rlpListSpans, rlpSpanAt } from '../primitives/rlp.js'
import { MissingNodeError, type NodeReader } from './trieNode.js'

export interface ProofKey {
  readonly slot: Hash32
  /** Number of bytes with which the caller wrote it; decides its form in the answer. */
  readonly writtenBytes: number
}

export interface ProofRequest {
  /** Hash of the block, named where a node is not held. */
  readonly block: Hash32
  readonly stateRoot: Hash32
  readonly address: Address
  readonly keys: readonly ProofKey[]
}

/**
 * The JSON of a proof, as bytes in new memory that the caller may transfer. Node lists go from the root to the value,
 * or to the node that proves its absence; nodes embedded in their parent are not listed, and the list of an empty
 * trie is empty. An absent account has nonce 0, balance 0, the hash of no code and the empty trie's root.
 *
 * Takes one Keccak-256 and one walk per key, and one read per distinct node: nodes that several keys share are read
 * and rendered once. Nodes in `upper`, which a caller may pass to many proofs, are not read again: with 100,000
 * accounts a proof of three slots takes 132 µs without it and 97 µs with it.
 *
 * Throws NotHeldError where a node is not held.
 */
export function buildProofJson(
  readNode: NodeReader,
  request: ProofRequest,
  upper = new UpperNodes(),
): Uint8Array<ArrayBuffer> {
  try {
    return renderProof(readNode, request, upper)
  } catch (error) {
    if (!(error instanceof MissingNodeError)) throw error
    const { block, stateRoot, address, keys } = request
    throw new NotHeldError({ kind: 'state', block, stateRoot, address, slots: keys.map(({ slot }) => slot) })
  }
}

/** Bytes reserved: enough for an account and some slots in a large state. The memory grows for longer proofs. */
const proofBytesExpected = 32_768

/** Shared by all proofs, because each is built and copied without a pause. */
const json = new JsonBytes(proofBytesExpected)

function renderProof(
  readNode: NodeReader,
  { stateRoot, address, keys }: ProofRequest,
  upper: UpperNodes,
): Uint8Array<ArrayBuffer> {
  json.clear()
  json.text('{"address":')
  json.hex(address)
  json.text(',"accountProof":[')
  const account = new TrieWalk(stateRoot, readNode, upper).prove(keccak256(address))
  writeNodes(account.nodes)
  const { nonce, balance, codeHash, storageRoot } =
    account.value === undefined ? absentAccount : readAccount(account.value)
  json.text(`],"balance":"${balance}","codeHash":`)
  json.hex(codeHash)
  json.text(`,"nonce":"${nonce}","storageHash":`)
  json.hex(storageRoot)
  json.text(',"storageProof":[')
  // Without keys nothing of the storage is read, and may not be held.
  const storage = new TrieWalk(keys.length === 0 ? emptyTrieRoot : storageRoot, readNode)
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
 * accounts; with their hex they take 9 MB.
 */
const upperLevels = 4

/**
 * The nodes near the root of the state of which proofs were last built, with their hex: most proofs of one state
 * share them. They are used only for that state root, so they never become wrong.
 */
export class UpperNodes {
  #rootHash: Uint8Array = emptyTrieRoot
  #root: ProofNode | undefined

  /** The root node with this hash; read unless it is the one that is kept. */
  rootOf(hash: Uint8Array, read: (hash: Uint8Array) => ProofNode): ProofNode {
    if (this.#root !== undefined && equalBytes(this.#rootHash, hash)) return this.#root
    const root = withJson(read(hash))
    this.#rootHash = hash.slice()
    this.#root = root
    return root
  }
}

function withJson(node: ProofNode): ProofNode {
  const json = new JsonBytes(0)
  json.hex(node.rlp)
  node.json = json.finish()
  return node
}

/** A node that was read, with the nodes below it that were read too. */
export interface ProofNode {
  readonly rlp: Uint8Array
  readonly list: RlpSpan
  /** Keyed by the offset of the child's hash in `rlp`, which is cheaper than by the hash. */
  readonly below: Map<number, ProofNode>
  /** Its offset in the answer, once written. */
  writtenAt: number | undefined
  /** Its JSON, for nodes that are kept from one proof to the next. */
  json: Uint8Array | undefined
}

/** Walks one trie for several keys. Throws {@link MissingNodeError} for a node that is not held. */
export class TrieWalk {
  readonly #root: ProofNode | undefined
  readonly #readNode: NodeReader
  readonly #upper: UpperNodes | undefined

  /** With `upper`, nodes near the root are taken from it and kept in it. */
  constructor(root: Uint8Array, readNode: NodeReader, upper?: UpperNodes) {
    this.#readNode = readNode
    this.#upper = upper
    if (equalBytes(root, emptyTrieRoot)) this.#root = undefined
    else this.#root = upper?.rootOf(root, (hash) => this.#read(hash)) ?? this.#read(root)
  }

  /** Nodes on the path to `key`, and the RLP of the value there, a view of its node. */
  prove(key: Uint8Array): {
    readonly nodes: readonly ProofNode[]
    readonly value: Uint8Array | undefined
  } {
    if (this.#root === undefined) return { nodes: [], value: undefined }
    const keyNibbles = key.length * 2
    let node = this.#root
    const nodes = [node]
    let list = node.list
    let depth = 0
    for (;;) {
      const { rlp } = node
      const first = rlpSpanAt(rlp, list.payload, list.end)
      const second = rlpSpanAt(rlp, first.end, list.end)
      let child: RlpSpan
      // A node of two items is a leaf or an extension, any other a branch.
      if (second.end === list.end) {
        const flags = (rlp[first.payload] as number) >> 4
        depth = followPath(rlp, first, key, depth)
        if (depth === -1) return { nodes, value: undefined }
        if (flags & 2) {
          return { nodes, value: depth === keyNibbles ? rlp.subarray(second.payload, second.end) : undefined }
        }
        child = second
      } else {
        if (depth === keyNibbles) throw new RangeError('a trie is deeper than its keys')
        const nibble = nibbleOf(key, depth++)
        child = nibble === 0 ? first : second
        for (let i = 1; i < nibble; i++) child = rlpSpanAt(rlp, child.end, list.end)
        if (!child.isList && child.payload === child.end) return { nodes, value: undefined }
      }
      if (child.isList) {
        list = child
        continue
      }
      let next = node.below.get(child.payload)
      if (next === undefined) {
        next = this.#read(rlp.subarray(child.payload, child.end))
        if (this.#upper === undefined) node.below.set(child.payload, next)
        else if (nodes.length < upperLevels) node.below.set(child.payload, withJson(next))
      }
      node = next
      list = node.list
      nodes.push(node)
    }
  }

  #read(hash: Uint8Array): ProofNode {
    const rlp = this.#readNode(hash)
    if (rlp === undefined) throw new MissingNodeError(hash)
    return { rlp, list: rlpSpanAt(rlp, 0), below: new Map(), writtenAt: undefined, json: undefined }
  }
}

/** The depth at which a hex-prefix coded path (yellow paper, appendix C) ends, −1 where `key` leaves it. */
function followPath(rlp: Uint8Array, path: RlpSpan, key: Uint8Array, depth: number): number {
  const head = rlp[path.payload] as number
  let at = depth
  if (head & 0x10 && nibbleOf(key, at++) !== (head & 15)) return -1
  for (let i = path.payload + 1; i < path.end; i++, at += 2) {
    const pair = rlp[i] as number
    if (nibbleOf(key, at) !== pair >> 4 || nibbleOf(key, at + 1) !== (pair & 15)) return -1
  }
  return at
}

/** NaN beyond the key's end, which equals no nibble. */
function nibbleOf(key: Uint8Array, index: number): number {
  const byte = key[index >> 1]
  if (byte === undefined) return Number.NaN
  return index & 1 ? byte & 15 : byte >> 4
}
