/** Checks an answer of eth_getProof (EIP-1186) against a state root. Believes nothing but nodes that lead to it. */

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
 * Members that are absent or of another form count as no nodes. Where nodes are missing, throws {@link LieError} if
 * others were given to which the roots do not lead, else {@link LackError}: which parts a node leaves out depends on
 * what is asked for, so that a caller could have an honest one accused. Throws {@link NotProvedError} where what the
 * root leads to has another form, or with `isLoose` does not lead there.
 */
export function checkProof(
  answer: unknown,
  question: ProofQuestion,
  { trieForm, isLoose = false }: StateForm = {},
): ProvedState {
  const given = new GivenNodes(answer)
  try {
    return { ...walkState(given.read, question, trieForm), nodes: [...given.used.values()] }
  } catch (error) {
    if (error instanceof MissingNodeError) {
      const [address, root] = [question.address, question.stateRoot].map(bytesToHex)
      const what = `a proof of ${address} that lacks the node ${bytesToHex(error.hash)} under the state root ${root}`
      if (isLoose) throw new NotProvedError(what)
      throw given.hasOthers(question, trieForm) ? new LieError(what) : new LackError([], what)
    }
    // Nodes were found by their hashes, so that the root itself leads to what cannot be read.
    if (error instanceof RlpError || error instanceof RangeError)
      throw new NotProvedError(`a proof: ${error.message}`)
    throw error
  }
}

/** The nodes of a proof by their hashes, and which of them were read. */
class GivenNodes {
  readonly used = new Map<string, Change>()
  readonly #nodes = new Map<string, Uint8Array>()
  /** Nodes of the account alone, which are the first. */
  readonly #accountNodes: number
  /** Whether a list has what is no node: then what follows it does not hang together. */
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

  /** Whether there are nodes to which the roots do not lead. Nodes of slots are not judged without their account. */
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
