/** Checks an answer of eth_getProof (EIP-1186) against a state root. Believes nothing but nodes that lead to it. */

import { decodeAccount, hasCode } from '../../../data/state/account.js'
import { readTrie } from '../../../data/state/trie.js'
import { MissingNodeError, type NodeReader } from '../../../data/state/trieNode.js'
import type { Change } from '../../../data/store/blockDiff.js'
import { slotInTrie, type TrieForm } from '../../../data/store/chainRows.js'
import type { ProvedState } from '../../../data/store/gatewayWriter.js'
import { type Address, bytesToHex, type Hash32, latin1Key, noBytes } from '../../../primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'
import { decodeRlp, decodeRlpList, RlpError, rlpBytes } from '../../../primitives/rlp.js'
import { LieError, NotProvedError } from '../nodes/lie.js'
import { bytesOf } from '../nodes/receiptsFromJson.js'

/** How a state trie is formed, and whether there is one that fits each header. */
export interface StateForm {
  readonly trieForm?: TrieForm | undefined
  readonly isLoose?: boolean
}

/** Items of an account of Ethereum (yellow paper 4.1). */
const accountItems = 4

interface ProofQuestion {
  readonly stateRoot: Hash32
  readonly address: Address
  readonly slots: readonly Hash32[]
}

/**
 * Throws {@link LieError} where the nodes do not lead from the root to the account and each slot, or their absence, and
 * {@link NotProvedError} where what they lead to has another form.
 */
export function checkProof(
  answer: unknown,
  { stateRoot, address, slots }: ProofQuestion,
  { trieForm, isLoose = false }: StateForm = {},
): ProvedState {
  const given = new Map<string, Uint8Array>()
  const { accountProof, storageProof } = (answer ?? {}) as Record<string, unknown>
  addNodes(accountProof, given)
  // Of no slots some nodes give null.
  const proofs = slots.length === 0 ? (storageProof ?? []) : storageProof
  for (const each of listOf(proofs)) addNodes((each as Record<string, unknown> | null)?.proof, given)
  const used = new Map<string, Change>()
  const readNode = (hash: Uint8Array) => {
    const key = latin1Key(hash)
    const rlp = given.get(key)
    if (rlp !== undefined && !used.has(key)) used.set(key, [Uint8Array.from(hash), rlp])
    return rlp
  }
  try {
    return { ...walkState(readNode, { stateRoot, address, slots }, trieForm), nodes: [...used.values()] }
  } catch (error) {
    if (error instanceof MissingNodeError) {
      const Kind = isLoose ? NotProvedError : LieError
      throw new Kind(
        `a proof of ${bytesToHex(address)} that lacks the node ${bytesToHex(error.hash)} under the state root ${bytesToHex(stateRoot)}`,
      )
    }
    if (error instanceof RlpError || error instanceof RangeError)
      throw new LieError(`a proof: ${error.message}`)
    throw error
  }
}

/** An account and slots as nodes have them. Throws MissingNodeError where `readNode` lacks one. */
export function walkState(
  readNode: NodeReader,
  { stateRoot, address, slots }: ProofQuestion,
  trieForm: TrieForm | undefined,
): Omit<ProvedState, 'nodes'> {
  const read = (root: Hash32, key: Uint8Array) => readTrie(root, keccak256(key), readNode)
  const row = read(stateRoot, address)
  const items = row === undefined ? undefined : decodeRlpList(row).length
  if (items !== undefined && items !== (trieForm?.accountItems ?? accountItems))
    throw new NotProvedError(`an account of ${items} items, whose form is not known, proves nothing`)
  const account = row && decodeAccount(row)
  const storageRoot = account?.storageRoot ?? emptyTrieRoot
  const values = slots.map((slot): [Uint8Array, Uint8Array] => {
    const value = read(storageRoot, slotInTrie(slot, trieForm))
    return [slot, value === undefined ? noBytes : rlpBytes(decodeRlp(value))]
  })
  return {
    codeHash: hasCode(account) ? account?.codeHash : undefined,
    values: { address, account: row ?? noBytes, slots: values },
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
