/** Rows of a real store that become available late, for a kind of network that the service does not have. */
import { setImmediate } from 'node:timers/promises'
import { decodeHeader } from '../../src/data/chain/header.js'
import { buildProofJson } from '../../src/data/state/proof.js'
import { singleNodes, triesAfter } from '../../src/data/state/tries.js'
import type { ChainReader } from '../../src/data/store/chainReader.js'
import type { ChainIdentity, ChainRows, Marker } from '../../src/data/store/chainRows.js'
import type { StoredBlock } from '../../src/data/store/storedBlock.js'
import { type Address, bytesToHex, equalBytes, type Hash32 } from '../../src/primitives/bytes.js'
import { NotStoredError, type Wanted, wantedKey } from '../../src/primitives/notStored.js'

/** Everything except the head is missing until {@link supply} has read it from the store. */
export class LateRows implements ChainRows {
  readonly mayLack = true
  /** Number of supplied items. */
  supplies = 0
  readonly #store: ChainReader
  readonly #held = new Set<string>()
  readonly #nodes = new Map<string, Uint8Array>()
  readonly #head: { readonly number: number; readonly hash: Hash32 }

  constructor(store: ChainReader) {
    this.#store = store
    const head = store.readHead()
    if (head === undefined) throw new Error('a store without a head')
    this.#head = head
    this.#held.add(wantedKey({ kind: 'header', hash: head.hash }))
  }

  isHead(hash: Uint8Array): boolean {
    return equalBytes(this.#head.hash, hash)
  }

  async supply(wanted: Wanted): Promise<void> {
    await setImmediate()
    this.supplies++
    this.#held.add(wantedKey(wanted))
    if (wanted.kind !== 'state') return
    const { block, stateRoot, address, slots } = wanted
    const keys = slots.map((slot) => ({ slot: slot as Hash32, writtenBytes: 32 }))
    const number = decodeHeader(this.#store.readHeader(block as Hash32) as Uint8Array).number
    const tries = singleNodes(
      triesAfter(this.#store, { number, hash: block as Hash32 }),
      (hash, rlp) => void this.#nodes.set(bytesToHex(hash), rlp),
    )
    buildProofJson(tries, { number, block, stateRoot, address: address as Address, keys })
    for (const slot of slots) this.#held.add(wantedKey({ ...wanted, slots: [slot] }))
    this.#held.add(wantedKey({ ...wanted, slots: [] }))
  }

  #got<T>(wanted: Wanted, read: () => T): T {
    if (!this.#held.has(wantedKey(wanted))) throw new NotStoredError(wanted)
    return read()
  }

  #stateAt(number: number): { readonly block: Hash32; readonly stateRoot: Hash32 } {
    const block = number === this.#head.number ? this.#head.hash : this.readCanonicalHash(number)
    const header = block && this.readHeader(block)
    if (block === undefined || header === undefined) throw new Error(`there is no block ${number}`)
    return { block, stateRoot: decodeHeader(header).stateRoot }
  }

  readIdentity(): ChainIdentity | undefined {
    return this.#store.readIdentity()
  }

  refresh(): void {}

  readHead() {
    return this.#head
  }

  readMarker(marker: Marker) {
    return this.#store.readMarker(marker)
  }

  readCanonicalHash(number: number): Hash32 | undefined {
    if (number > this.#head.number) return undefined
    return this.#got({ kind: 'canonical', number }, () => this.#store.readCanonicalHash(number))
  }

  isCanonical(number: number, hash: Uint8Array): boolean {
    const canonical = this.readCanonicalHash(number)
    return canonical !== undefined && equalBytes(canonical, hash)
  }

  readHeader(hash: Hash32): Uint8Array | undefined {
    return this.#got({ kind: 'header', hash }, () => this.#store.readHeader(hash))
  }

  readBlock(hash: Hash32): StoredBlock | undefined {
    return this.#got({ kind: 'header', hash }, () =>
      this.#got({ kind: 'body', hash }, () => this.#store.readBlock(hash)),
    )
  }

  readBody(hash: Hash32): Uint8Array | undefined {
    return this.#got({ kind: 'body', hash }, () => this.#store.readBody(hash))
  }

  readReceipts(hash: Hash32): Uint8Array | undefined {
    return this.#got({ kind: 'receipts', hash }, () => this.#store.readReceipts(hash))
  }

  readReceiptList(hash: Hash32) {
    return this.#got({ kind: 'receipts', hash }, () => this.#store.readReceiptList(hash))
  }

  readBlockAccessList(hash: Hash32): Uint8Array | undefined {
    return this.#got({ kind: 'accessList', hash }, () => this.#store.readBlockAccessList(hash))
  }

  readLocation(hash: Hash32) {
    return this.#got({ kind: 'location', hash }, () => this.#store.readLocation(hash))
  }

  readTotalDifficulty(hash: Hash32): Uint8Array | undefined {
    return this.#got({ kind: 'header', hash }, () => this.#store.readTotalDifficulty(hash))
  }

  readLogChunk(key: Uint8Array, from: number): readonly number[] {
    return this.#store.readLogChunk(key, from)
  }

  readNode(hash: Uint8Array): Uint8Array | undefined {
    return this.#nodes.get(bytesToHex(hash))
  }

  readCode(hash: Hash32): Uint8Array | undefined {
    return this.#got({ kind: 'code', hash }, () => this.#store.readCode(hash))
  }

  readAccount(address: Address): Uint8Array | undefined {
    return this.readAccountAt(address, this.#head.number)
  }

  readSlot(address: Address, slot: Hash32): Uint8Array | undefined {
    return this.readSlotAt(address, slot, this.#head.number)
  }

  readAccountAt(address: Address, number: number): Uint8Array | undefined {
    const wanted: Wanted = { kind: 'state', ...this.#stateAt(number), address, slots: [] }
    return this.#got(wanted, () => this.#store.readAccountAt(address, number))
  }

  readSlotAt(address: Address, slot: Hash32, number: number): Uint8Array | undefined {
    const wanted: Wanted = { kind: 'state', ...this.#stateAt(number), address, slots: [slot] }
    return this.#got(wanted, () => this.#store.readSlotAt(address, slot, number))
  }

  readAccountChanges(): never {
    throw new Error('calls do not ask for all changes')
  }

  slotsOf(): never {
    throw new Error('calls do not ask for all slots')
  }

  slotsOfAt(): never {
    throw new Error('calls do not ask for all slots')
  }
}
