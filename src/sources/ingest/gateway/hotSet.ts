import { storedValueKey } from '../../../data/store/layouts/storedValueRows.js'
import type { ProvedValues } from '../../../data/store/storedValues.js'
import type { ValueUse } from '../../../data/store/valueUse.js'
import { type Address, type Hash32, latin1Key, latin1KeyToBytes } from '../../../primitives/bytes.js'

/** Time for which an item stays in the hot set after its last read. */
const hotMs = 180_000
/** Maximum slots of one request: some nodes refuse more. */
const slotsPerQuestion = 100
/** Stored accounts and slots, for each that may be hot; beyond that the coldest half is dropped. */
const rememberedFactor = 4

interface HotLimits {
  /** Maximum accounts and slots that are proved with a head. */
  readonly units: number
  /** Maximum bytes of nodes in these proofs, estimated from the last ones. */
  readonly bytes: number
}

export interface HotQuestion {
  readonly address: Address
  readonly slots: readonly Hash32[]
}

/** Proved data in use: if the changes of blocks are unknown, it is proved again with each head. */
export class HotSet {
  readonly #use: ValueUse
  readonly #limits: HotLimits
  /** Address → slots, as {@link latin1Key}; the most recently proved comes last. */
  readonly #accounts = new Map<string, Set<string>>()
  #units = 0
  #bytesPerUnit = 0

  constructor(use: ValueUse, limits: HotLimits) {
    this.#use = use
    this.#limits = limits
  }

  /** Records data that was proved on request. */
  note({ address, slots }: Pick<ProvedValues, 'address' | 'slots'>): void {
    const name = latin1Key(address)
    const known = this.#accounts.get(name) ?? new Set<string>()
    const before = known.size
    for (const [slot] of slots) known.add(latin1Key(slot))
    this.#units += known.size - before + Number(!this.#accounts.has(name))
    this.#accounts.delete(name)
    this.#accounts.set(name, known)
    if (this.#units > this.#limits.units * rememberedFactor) this.#forget()
  }

  /** Records the bytes of the proofs of `units` accounts and slots. */
  measured(units: number, bytes: number): void {
    if (units > 0) this.#bytesPerUnit = bytes / units
  }

  /** The data to prove with the next head; the most recently proved first. */
  questions(): HotQuestion[] {
    let room = Math.min(this.#limits.units, Math.floor(this.#limits.bytes / Math.max(this.#bytesPerUnit, 1)))
    const questions: HotQuestion[] = []
    for (const [name, slots] of [...this.#accounts].reverse()) {
      const address = latin1KeyToBytes(name) as Uint8Array as Address
      const hot = [...slots].map((slot) => latin1KeyToBytes(slot) as Uint8Array as Hash32)
      const used = hot.filter((slot) => this.#use.ageMs(storedValueKey('slot', address, slot)) < hotMs)
      const isUsed = used.length > 0 || this.#use.ageMs(storedValueKey('account', address)) < hotMs
      if (!isUsed || room <= 0) continue
      const chosen = used.slice(0, Math.max(0, room - 1))
      room -= chosen.length + 1
      for (let at = 0; at === 0 || at < chosen.length; at += slotsPerQuestion) {
        questions.push({ address, slots: chosen.slice(at, at + slotsPerQuestion) })
      }
    }
    return questions
  }

  #forget(): void {
    const most = this.#limits.units * 2
    for (const [name, slots] of this.#accounts) {
      if (this.#units <= most) return
      this.#accounts.delete(name)
      this.#units -= slots.size + 1
    }
  }
}
