/** Keeps what a gateway holds within its bytes on disk: what was not read for longest goes, the past first. */
import type { GatewayWriter, StateTable } from '../../../data/store/gatewayWriter.js'
import type { HeldUse } from '../../../data/store/heldUse.js'

/** Rows that are looked at in one transaction: some milliseconds. */
const rowsPerTurn = 2_048
/** Turns after one head, so that callers' questions are not kept waiting; what remains comes after the next. */
const turnsMax = 16
/** How long something must not have been read to be dropped, at first; halved with each round over all rows. */
const unreadMs = 600_000
/** Blocks of the past that are forgotten at a time. */
const pastBlocks = 256

/** What is looked through, the largest first. */
const tables: readonly StateTable[] = ['nodes', 'code', 'held']

interface SetBoundsOptions {
  /** Most bytes of values, nodes and code. */
  readonly bytesMax: number
  /** What is never dropped: addresses. */
  readonly pinned: readonly Uint8Array[]
}

export class SetBounds {
  readonly #store: GatewayWriter
  readonly #use: HeldUse
  readonly #options: SetBoundsOptions
  readonly #pinned: ReadonlySet<string>
  #table = 0
  #next: Uint8Array = new Uint8Array(0)
  #unreadMs = unreadMs

  constructor(store: GatewayWriter, use: HeldUse, options: SetBoundsOptions) {
    this.#store = store
    this.#use = use
    this.#options = options
    this.#pinned = new Set(options.pinned.map((address) => Buffer.from(address).toString('latin1')))
  }

  /** To be called after each head. Drops some of what is too much. */
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
    return table === 'held' && this.#pinned.has(Buffer.from(key.subarray(1, 21)).toString('latin1'))
  }
}
