/** Checks an answer of eth_getProof (EIP-1186) against a state root. Uses only nodes that the root leads to. */

import { decodeAccount, hasCode } from '../../../data/state/account.js'
import { readTrie } from '../../../data/state/trie.js'
import { MissingNodeError, type NodeReader } from '../../../data/state/trieNode.js'
import type { Change } from '../../../data/store/blockDiff.js'
import { slotInTrie, type TrieForm } from '../../../data/store/chainRows.js'
import type { ProvedState } from '../../../data/store/gatewayWriter.js'
import {
  type Address,
  bytesToHex,
  type Hash32,
  hexToBytes,
  latin1Key,
  noBytes,
} from '../../../primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'
import { decodeRlp, decodeRlpList, RlpError, rlpBytes } from '../../../primitives/rlp.js'
import { LackError, LieError, NotProvedError } from '../nodes/lie.js'

/** The form of a state trie, and with `isReportable` that it may not match the header's state root. */
export interface StateForm {
  readonly trieForm?: TrieForm | undefined
  readonly isReportable?: boolean
}

/** Items of an account of Ethereum (yellow paper 4.1). */
const accountItems = 4

interface ProofQuestion {
  readonly stateRoot: Hash32
  readonly address: Address
  readonly slots: readonly Hash32[]
}

/**
 * Members that are absent or of another form count as no nodes. If nodes are missing, throws {@link LieError} if the
 * answer has other nodes that the roots do not lead to, else {@link LackError}. The omitted parts depend on the
 * request, so otherwise a caller could have an honest node accused. Throws {@link NotProvedError} if the data under the
 * root has another form, or if nodes are missing with `isReportable`.
 */
export function checkProof(
  answer: unknown,
  question: ProofQuestion,
  { trieForm, isReportable = false }: StateForm = {},
): ProvedState {
  const given = new GivenNodes(answer)
  try {
    return { ...walkState(given.read, question, trieForm), nodes: [...given.used.values()] }
  } catch (error) {
    if (error instanceof MissingNodeError) {
      const [address, root] = [question.address, question.stateRoot].map(bytesToHex)
      const what = `a proof of ${address} that lacks the node ${bytesToHex(error.hash)} under the state root ${root}`
      if (isReportable) throw new NotProvedError(what)
      throw given.hasOthers(question, trieForm) ? new LieError(what) : new LackError([], what)
    }
    // Nodes are found by their hashes, so the root itself leads to the unreadable data.
    if (error instanceof RlpError || error instanceof RangeError)
      throw new NotProvedError(`a proof: ${error.message}`)
    throw error
  }
}

/** The nodes of a proof by their hashes, and the ones that were read. */
class GivenNodes {
  readonly used = new Map<string, Change>()
  readonly #nodes = new Map<string, Uint8Array>()
  /** Number of nodes of the account alone; they are the first. */
  readonly #accountNodes: number
  /** Whether a list contains an invalid node: then the nodes after it are not connected. */
  #isTorn = false

  constructor(answer: unknown) {
    const { accountProof, storageProof } = membersOf(answer)
    this.#add(accountProof)
    this.#accountNodes = this.#nodes.size
    for (const each of listOf(storageProof)) this.#add(membersOf(each).proof)
  }

  readonly read = (hash: Uint8Array): Uint8Array | undefined => {
    const key = latin1Key(hash)
    const rlp = this.#nodes.get(key)
    if (rlp !== undefined && !this.used.has(key)) this.used.set(key, [Uint8Array.from(hash), rlp])
    return rlp
  }

  /** Whether there are nodes that the roots do not lead to. Without the account, nodes of slots are not checked. */
  hasOthers({ slots, ...account }: ProofQuestion, trieForm: TrieForm | undefined): boolean {
    if (this.#isTorn) return false
    const isRead = (some: readonly Hash32[]): boolean => {
      try {
        walkState(this.read, { ...account, slots: some }, trieForm)
        return true
      } catch {
        return false
      }
    }
    if (!isRead([])) return this.used.size < this.#accountNodes
    for (const slot of slots) isRead([slot])
    return this.used.size < this.#nodes.size
  }

  #add(list: unknown): void {
    for (const each of listOf(list)) {
      const rlp = readHex(each)
      if (rlp === undefined || rlp.length === 0) this.#isTorn = true
      else this.#nodes.set(latin1Key(keccak256(rlp)), rlp)
    }
  }
}

/** Reads an account and slots from nodes. Throws MissingNodeError if `readNode` lacks one. */
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

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function readHex(value: unknown): Uint8Array | undefined {
  if (typeof value !== 'string') return undefined
  try {
    return hexToBytes(value)
  } catch {
    return undefined
  }
}
