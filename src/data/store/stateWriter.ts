/** The state of a gateway's store: proved values, trie nodes and code, in any order, as they were asked for. */
import { concatBytes, type Hash32, toHash32 } from '../../primitives/bytes.js'
import type { Change } from './blockDiff.js'
import type { BlockName } from './chainRows.js'
import { ChainWriter } from './chainWriter.js'
import { heldKey, readHeld, readHeldSlot } from './heldRows.js'
import { HeldValues, type ProvedValues, undoBlocksMin } from './heldValues.js'
import { metaKeys } from './tables.js'

/** An account that has some code after a block. */
export interface CodeOwner {
  readonly block: Hash32
  readonly address: Uint8Array
}

/** An account and slots of it that were proved, with the trie nodes that prove them. */
export interface ProvedState {
  readonly nodes: readonly Change[]
  /** Undefined where there is no account, or none with code. */
  readonly codeHash: Hash32 | undefined
  readonly values: ProvedValues
}

/** Tables of which rows may be dropped. */
export type StateTable = 'held' | 'nodes' | 'code'

const noHash = new Uint8Array(0) as Hash32

export class StateWriter extends ChainWriter {
  protected readonly heldValues = new HeldValues(this.tables)

  /**
   * Stores trie nodes, where code that is not held can be asked for, and values, which hold after the head with `isHeld`.
   * False where other values were held.
   */
  putState(state: ProvedState, block: Hash32, isHeld: boolean): boolean {
    let isRight = true
    this.commit(() => {
      const head = isHeld ? this.readHead() : undefined
      isRight = this.putProved(state, { hash: block }, head)
    })
    return isRight
  }

  /**
   * Holds all slots of an account after the head: `values` has those that are not zero. False where other values were
   * held.
   */
  holdWhole(values: ProvedValues): boolean {
    const head = this.readHead()
    let isRight = false
    this.commit(() => {
      isRight = head !== undefined && this.heldValues.proveWhole(head, values)
    })
    return isRight
  }

  /** Whether all slots of an account are held. */
  holdsWhole(address: Uint8Array): boolean {
    const head = this.readHead()
    return head !== undefined && this.heldValues.isWhole(address, head.number)
  }

  /** Drops values, each of which is proved again when it is asked for. */
  dropHeld(keys: readonly Uint8Array[]): void {
    this.commit(() => {
      for (const key of keys) this.heldValues.drop(key)
    })
  }

  /** Bytes on disk of values, trie nodes and code. */
  get stateBytes(): number {
    const { held, nodes, code } = this.tables
    return held.bytes + nodes.bytes + code.bytes
  }

  /** Block from which on the changes of each were taken in; undefined where nothing was ever held. */
  get currentFrom(): number | undefined {
    return this.heldValues.isAt(this.readHead()?.hash ?? noHash) ? this.heldValues.marks.from : undefined
  }

  /** Up to `limit` keys of values, nodes or code, in order. */
  stateKeysFrom(table: StateTable, start: Uint8Array, limit: number): Uint8Array[] {
    if (table === 'held') return this.heldValues.keysFrom(start, limit)
    return Array.from(this.tables[table].getRange({ start, limit }), ({ key }) => Uint8Array.from(key))
  }

  /** Drops values, nodes or code: what is asked for is fetched again. */
  dropState(table: StateTable, keys: readonly Uint8Array[]): void {
    if (table === 'held') return this.dropHeld(keys)
    this.commit(() => {
      for (const key of keys) this.tables[table].removeSync(key)
    })
  }

  /** Forgets what was held at the oldest `count` blocks, but not the way back. Whether there was something to forget. */
  forgetPast(count: number): boolean {
    const { oldest } = this.heldValues
    const last = Math.min((oldest ?? 0) + count, (this.readHead()?.number ?? 0) - undoBlocksMin)
    if (oldest === undefined || oldest > last) return false
    this.commit(() => this.heldValues.prune(last))
    return true
  }

  /** An account as it is held after the head, RLP; empty for none, undefined where it is not held. */
  readHeldAccount(address: Uint8Array): Uint8Array | undefined {
    const head = this.readHead()
    return head && readHeld(this.tables.held, this.heldValues.marks, heldKey('account', address), head.number)
  }

  /** Whether an account and slots of it are held after a canonical block. */
  holds(address: Uint8Array, slots: readonly Uint8Array[], number: number): boolean {
    const { held } = this.tables
    const { marks } = this.heldValues
    return (
      readHeld(held, marks, heldKey('account', address), number) !== undefined &&
      slots.every((slot) => readHeldSlot(held, marks, address, slot, number) !== undefined)
    )
  }

  /** Slots of an account of which values are held. */
  heldSlotsOf(address: Uint8Array): Iterable<Hash32> {
    return this.heldValues.slotsOf(address)
  }

  protected putProved(
    { nodes, codeHash, values }: ProvedState,
    { hash }: Pick<BlockName, 'hash'>,
    head: BlockName | undefined,
  ): boolean {
    const { meta, nodes: table } = this.tables
    for (const [hash, rlp] of nodes) table.putSync(hash, rlp)
    if (codeHash !== undefined && !this.tables.code.doesExist(codeHash)) {
      meta.putSync(metaKeys.codeOwner(codeHash), concatBytes(hash, values.address))
    }
    return head === undefined || this.heldValues.prove(head, values)
  }

  putCode(hash: Hash32, code: Uint8Array): void {
    this.commit(() => this.tables.code.putSync(hash, code))
  }

  /** Says of which account code with this hash can be asked. */
  putCodeOwner(codeHash: Hash32, { block, address }: CodeOwner): void {
    this.commit(() => this.tables.meta.putSync(metaKeys.codeOwner(codeHash), concatBytes(block, address)))
  }

  readCodeOwner(codeHash: Hash32): CodeOwner | undefined {
    const row = this.tables.meta.getBinary(metaKeys.codeOwner(codeHash))
    return row && { block: toHash32(row.slice(0, 32)), address: row.slice(32) }
  }
}
