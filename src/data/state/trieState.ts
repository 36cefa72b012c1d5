import type { Address, Hash32 } from '../../primitives/bytes.js'
import { keccak256 } from '../../primitives/keccak.js'
import { NotStoredError } from '../../primitives/notStored.js'
import { decodeRlp, rlpBytes } from '../../primitives/rlp.js'
import { type ChainRows, slotInTrie } from '../store/chainRows.js'
import { type Account, checkCodeKnown, decodeAccount } from './account.js'
import type { StateView } from './stateView.js'
import { readTrie } from './trie.js'
import { MissingNodeError, type NodeReader } from './trieNode.js'
import { hashedTries, type Tries } from './tries.js'

/**
 * A state read only from the tries, for blocks that are not canonical. Each read takes several nodes; the flat tables
 * need one row. It is always valid. Reads throw NotStoredError if a node is not stored. `slotsOf` throws, because keys of
 * a trie are hashes. `block` is the hash of the block with this state root, and `tries` are the tries after it.
 */
export function trieState(
  store: Pick<ChainRows, 'readCode' | 'knowsCode' | 'trieForm'>,
  stateRoot: Hash32,
  block: Hash32,
  tries: Tries,
): StateView {
  /** `slots` are named in the error if a node is not stored. */
  const read = (
    root: Hash32,
    key: Uint8Array,
    address: Address,
    slots: readonly Hash32[],
    readNode: NodeReader,
  ) => {
    try {
      return readTrie(root, keccak256(key), readNode)
    } catch (error) {
      if (!(error instanceof MissingNodeError)) throw error
      throw new NotStoredError({ kind: 'state', block, stateRoot, address, slots })
    }
  }
  const readAccount = (address: Address, slots: readonly Hash32[]): Account | undefined => {
    const row = read(stateRoot, address, address, slots, tries())
    return row && decodeAccount(row)
  }
  return {
    stateRoot,
    account(address) {
      const account = readAccount(address, [])
      checkCodeKnown(store, account, () => ({ kind: 'state', block, stateRoot, address, slots: [] }))
      return account
    },
    slot(address, slot) {
      const owner = readAccount(address, [slot])
      const value =
        owner && read(owner.storageRoot, slotInTrie(slot, store.trieForm), address, [slot], tries(address))
      return value && rlpBytes(decodeRlp(value))
    },
    slotsOf() {
      throw new Error('a trie does not store the names of its slots')
    },
    code: (hash) => store.readCode(hash),
    tries,
    hasRows: false,
  }
}

/** Like {@link trieState}, from the proved nodes of a gateway. */
export function provedState(
  store: Pick<ChainRows, 'readNode' | 'readCode' | 'knowsCode'>,
  stateRoot: Hash32,
  block: Hash32,
): StateView {
  const tries = hashedTries((hash) => store.readNode(hash))
  return trieState(store, stateRoot, block, tries)
}
