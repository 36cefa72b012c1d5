import { type Address, equalBytes, type Hash32, toHash32 } from '../primitives/bytes.js'
import { FaultError } from '../primitives/faults.js'
import { decodeRlpList, rlpBytes } from '../primitives/rlp.js'
import type { ChainRows } from '../store/chainRows.js'
import { trieState } from './trieState.js'

/** A block whose state is read. */
export interface StateBlock {
  readonly number: number
  readonly hash: Hash32
}

/** Single reads of state at a block, for callers of the service. */
export class StateReader {
  constructor(private readonly store: ChainRows) {}

  /**
   * Value of a slot after a block, without leading zeros; undefined for zero and for an address without account.
   * At the head one read of the latest table, at other canonical blocks one bounded read of history; on other
   * branches a walk down the tries. Throws FaultError where that state is not held.
   *
   * All reads of one call see one snapshot of the store, so a head that moves meanwhile cannot mix two blocks.
   */
  readSlot(block: StateBlock, address: Address, slot: Hash32): Uint8Array | undefined {
    const { number, hash } = block
    const head = this.store.readHead()
    if (head !== undefined && equalBytes(head.hash, hash)) return this.store.readSlot(address, slot)
    const canonical = this.store.readCanonicalHash(number)
    if (canonical !== undefined && equalBytes(canonical, hash))
      return this.store.readSlotAt(address, slot, number)
    return trieState(this.store, this.stateRootAfter(block)).slot(address, slot)
  }

  /**
   * State root after a block. Its nodes may not be held: whoever reads them finds out.
   * Throws FaultError where the block is not known.
   */
  stateRootAfter({ hash }: StateBlock): Hash32 {
    const header = this.store.readHeader(hash)
    if (header === undefined) throw new FaultError({ kind: 'HeaderForHashNotFound' })
    // The fourth field of every header (yellow paper 4.4).
    return toHash32(rlpBytes(decodeRlpList(header)[3]))
  }
}
