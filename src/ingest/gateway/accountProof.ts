/** Checks an answer of eth_getProof (EIP-1186) against a state root. Believes nothing but nodes that lead to it. */
import { type Address, bytesToHex, type Hash32, latin1Key } from '../../primitives/bytes.js'
import { emptyCodeHash, keccak256 } from '../../primitives/keccak.js'
import { RlpError } from '../../primitives/rlp.js'
import { decodeAccount } from '../../state/account.js'
import { readTrie } from '../../state/trie.js'
import { MissingNodeError } from '../../state/trieNode.js'
import type { Change } from '../../store/blockDiff.js'
import { LieError } from './lie.js'
import { bytesOf } from './receiptsFromJson.js'

export interface ProofQuestion {
  readonly stateRoot: Hash32
  readonly address: Address
  readonly slots: readonly Hash32[]
}

export interface ProvedState {
  /** Hash → trie node (RLP), each on the way to the account or to one of the slots. */
  readonly nodes: readonly Change[]
  /** Undefined where there is no account, or none with code. */
  readonly codeHash: Hash32 | undefined
}

/** Throws {@link LieError} where the nodes do not lead from the root to the account and each slot, or their absence. */
export function checkProof(answer: unknown, { stateRoot, address, slots }: ProofQuestion): ProvedState {
  const given = new Map<string, Uint8Array>()
  const { accountProof, storageProof } = (answer ?? {}) as Record<string, unknown>
  addNodes(accountProof, given)
  for (const each of listOf(storageProof)) addNodes((each as Record<string, unknown> | null)?.proof, given)
  const used = new Map<string, Change>()
  const readNode = (hash: Uint8Array) => {
    const key = latin1Key(hash)
    const rlp = given.get(key)
    if (rlp !== undefined && !used.has(key)) used.set(key, [Uint8Array.from(hash), rlp])
    return rlp
  }
  const read = (root: Hash32, key: Uint8Array) => {
    try {
      return readTrie(root, keccak256(key), readNode)
    } catch (error) {
      if (!(error instanceof MissingNodeError)) throw error
      throw new LieError(
        `a proof of ${bytesToHex(address)} that lacks the node ${bytesToHex(error.hash)} under the state root ${bytesToHex(stateRoot)}`,
      )
    }
  }
  try {
    const row = read(stateRoot, address)
    if (row === undefined) return { nodes: [...used.values()], codeHash: undefined }
    const { storageRoot, codeHash } = decodeAccount(row)
    for (const slot of slots) read(storageRoot, slot)
    const hasCode = bytesToHex(codeHash) !== bytesToHex(emptyCodeHash)
    return { nodes: [...used.values()], codeHash: hasCode ? codeHash : undefined }
  } catch (error) {
    if (error instanceof RlpError || error instanceof RangeError)
      throw new LieError(`a proof: ${error.message}`)
    throw error
  }
}

function addNodes(list: unknown, nodes: Map<string, Uint8Array>): void {
  for (const each of listOf(list)) {
    const rlp = bytesOf(each)
    nodes.set(latin1Key(keccak256(rlp)), rlp)
  }
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new LieError('a proof without its lists of nodes')
}
