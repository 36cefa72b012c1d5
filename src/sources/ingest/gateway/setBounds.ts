/** Limits the bytes that a gateway stores on disk: drops the longest unread data, past states first. */
import type { GatewayWriter, StateTable } from '../../../data/store/gatewayWriter.js'
import type { ValueUse } from '../../../data/store/valueUse.js'

/** Rows that are checked in one transaction: some milliseconds. */
const rowsPerTurn = 2_048
/** Maximum turns after one head, so that callers' requests do not wait; the next head continues. */
const turnsMax = 16
/** Minimum time without a read before data is dropped, at first; halved with each round over all rows. */
const unreadMs = 600_000
/** Past blocks whose state is dropped at a time. */
const pastBlocks = 256

/** Tables in the order of checking, the largest first. */
const tables: readonly StateTable[] = ['nodes', 'code', 'values']

interface SetBoundsOptions {
  /** Maximum bytes of values, nodes and code. */
  readonly bytesMax: number
  /** Addresses whose values are never dropped. */
  readonly pinned: readonly Uint8Array[]
}

export class SetBounds {
  readonly #store: GatewayWriter
  readonly #use: ValueUse
  readonly #options: SetBoundsOptions
  readonly #pinned: ReadonlySet<string>
  #table = 0
  #next: Uint8Array = new Uint8Array(0)
  #unreadMs = unreadMs

  constructor(store: GatewayWriter, use: ValueUse, options: SetBoundsOptions) {
    this.#store = store
    this.#use = use
    this.#options = options
    this.#pinned = new Set(options.pinned.map((address) => Buffer.from(address).toString('latin1')))
  }

  /** Call this after each head. Drops some of the excess data. */
  trim(): void {
    this.#use.sweep()
    const { bytesMax } = this.#options
    for (let turn = 0; turn < turnsMax && this.#store.stateBytes > bytesMax; turn++) {
      if (!this.#store.forgetPast(pastBlocks)) this.#dropSome()
    }
    if (this.#store.stateBytes < bytesMax * 0.9) this.#unreadMs = unreadMs
  }

  #dropSome(): void {
    const table = tables[this.#table] as StateTable
    const keys = this.#store.stateKeysFrom(table, this.#next, rowsPerTurn)
    const cold = keys.filter((key) => !this.#isPinned(table, key) && this.#use.ageMs(key) >= this.#unreadMs)
    if (cold.length > 0) this.#store.dropState(table, cold)
    const last = keys.at(-1)
    if (keys.length === rowsPerTurn && last !== undefined) {
      this.#next = Buffer.concat([last, Uint8Array.of(0)])
      return
    }
    this.#next = new Uint8Array(0)
    this.#table = (this.#table + 1) % tables.length
    if (this.#table === 0) this.#unreadMs = Math.floor(this.#unreadMs / 2)
  }

  #isPinned(table: StateTable, key: Uint8Array): boolean {
    return table === 'values' && this.#pinned.has(Buffer.from(key.subarray(1, 21)).toString('latin1'))
  }
}
