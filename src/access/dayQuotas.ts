/**
 * Units that keys with a daily quota have spent since midnight, UTC. Counted in memory that all edges share; the main
 * thread writes what has changed to the node store, so a crash forgets a few seconds.
 */

import { FaultError } from '../primitives/faults.js'
import { setInterval } from '../primitives/timers.js'
import type { NodeStore } from '../store/nodeStore.js'

/** Keys that can be counted on one day; others beyond, whose places are taken, are not limited by the day. */
const places = 16_384
const probesMax = 64

const dayMs = 86_400_000

/** Bits of a word that hold the units: more than 64 cores can spend in a day. The day is above them. */
const unitBits = 44n
const unitMask = (1n << unitBits) - 1n

/**
 * Words of a place: the key's id, 48 bits (0 where it was never used, {@link held} while it is given to a key); the
 * day, and the units spent on it.
 */
const placeWords = 2

/** Of a place that one thread gives to a key; others wait, for less than a microsecond. */
const held = -1n

/** 256 KiB. */
export const quotaBytes = places * placeWords * BigInt64Array.BYTES_PER_ELEMENT

/** Time between two writes: a crash forgets so much, and a flush each five seconds costs nothing. */
const writeMs = 5_000

export class DayQuotas {
  readonly #words: BigInt64Array
  readonly #dateMs: () => number

  /** `memory` has {@link quotaBytes} bytes, all zero at first. */
  constructor(memory: ArrayBufferLike = new ArrayBuffer(quotaBytes), dateMs: () => number = Date.now) {
    this.#words = new BigInt64Array(memory)
    this.#dateMs = dateMs
  }

  /** Takes units from the quota of a key, where it has as many left today. */
  charge(keyId: string, units: number, unitsPerDay: number): boolean {
    const place = this.#find(keyId)
    if (place === undefined) return true
    for (;;) {
      const before = Atomics.load(this.#words, place + 1)
      const spent = this.#spentOf(before) + units
      if (spent > unitsPerDay) return false
      if (this.#exchange(place, before, spent)) return true
    }
  }

  /** Takes units even where fewer are left. */
  debit(keyId: string, units: number): void {
    const place = this.#find(keyId)
    if (place === undefined) return
    for (;;) {
      const before = Atomics.load(this.#words, place + 1)
      if (this.#exchange(place, before, this.#spentOf(before) + units)) return
    }
  }

  spent(keyId: string): number {
    const place = this.#find(keyId)
    return place === undefined ? 0 : this.#spentOf(Atomics.load(this.#words, place + 1))
  }

  get msToMidnight(): number {
    return dayMs - (this.#dateMs() % dayMs)
  }

  /**
   * Begins with what the store has of this day, and writes what changes there until it is closed. Where the store takes
   * nothing, of which it tells itself, it is written the next time.
   */
  keep(store: NodeStore): { close(): Promise<void> } {
    const day = this.#today()
    const written = new Map<string, number>()
    for (const row of store.readQuotas()) {
      if (row.day !== day) continue
      this.debit(row.id, row.units)
      written.set(row.id, row.units)
    }
    const write = async (): Promise<void> => {
      const today = this.#today()
      const rows = this.#entries().filter(({ id, units }) => written.get(id) !== units)
      if (rows.length === 0) return
      try {
        await store.writeQuotas(rows.map((row) => ({ ...row, day: today })))
      } catch (error) {
        if (error instanceof FaultError) return
        throw error
      }
      for (const { id, units } of rows) written.set(id, units)
    }
    const timer = setInterval(write, writeMs)
    timer.unref()
    return {
      close() {
        clearInterval(timer)
        return write()
      },
    }
  }

  /** What has been spent today. */
  #entries(): { readonly id: string; readonly units: number }[] {
    const entries = []
    for (let place = 0; place < this.#words.length; place += placeWords) {
      const mark = Atomics.load(this.#words, place)
      if (mark === 0n || mark === held) continue
      const id = mark.toString(16).padStart(12, '0')
      entries.push({ id, units: this.#spentOf(Atomics.load(this.#words, place + 1)) })
    }
    return entries
  }

  #today(): number {
    return Math.floor(this.#dateMs() / dayMs)
  }

  #spentOf(word: bigint): number {
    return this.#isOfToday(word) ? Number(word & unitMask) : 0
  }

  #isOfToday(word: bigint): boolean {
    return Number(word >> unitBits) === this.#today()
  }

  #exchange(place: number, before: bigint, spent: number): boolean {
    const after = (BigInt(this.#today()) << unitBits) | BigInt(spent)
    return Atomics.compareExchange(this.#words, place + 1, before, after) === before
  }

  /**
   * The place of a key; one that was not spent from today is given to another. At that instant units of the one may
   * count for the other.
   */
  #find(keyId: string): number | undefined {
    const words = this.#words
    const mark = BigInt(`0x${keyId}`)
    const home = Number.parseInt(keyId.slice(0, 4), 16)
    for (;;) {
      let free: number | undefined
      let found = 0n
      for (let probe = 0; probe < probesMax; probe++) {
        const place = placeWords * ((home + probe) % places)
        found = Atomics.load(words, place)
        if (found === mark) return place
        if (found === held) break
        if (found === 0n || !this.#isOfToday(Atomics.load(words, place + 1))) free ??= place
        if (found === 0n) break
      }
      if (found === held) continue
      if (free === undefined) return undefined
      const before = Atomics.load(words, free)
      if (before === held || this.#isOfToday(Atomics.load(words, free + 1))) continue
      if (Atomics.compareExchange(words, free, before, held) !== before) continue
      // Of today, so that nobody else is given it before the first units are spent.
      Atomics.store(words, free + 1, BigInt(this.#today()) << unitBits)
      Atomics.store(words, free, mark)
      return free
    }
  }
}
