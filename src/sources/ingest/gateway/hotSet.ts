import { heldKey } from '../../../data/store/heldRows.js'
import type { HeldUse } from '../../../data/store/heldUse.js'
import type { ProvedValues } from '../../../data/store/heldValues.js'
import { type Address, type Hash32, latin1Key, latin1KeyToBytes } from '../../../primitives/bytes.js'

/** How long something stays in the hot set after it was read last. */
const hotMs = 180_000
/** Slots of one question: some nodes refuse more. */
const slotsPerQuestion = 100
/** Accounts and slots that are remembered, hot or not, for each that may be hot: then the coldest half is forgotten. */
const rememberedFactor = 4

interface HotLimits {
  /** Most accounts and slots that are proved with a head. */
  readonly units: number
  /** Most bytes of nodes in these proofs, as far as the last ones tell. */
  readonly bytes: number
}

export interface HotQuestion {
  readonly address: Address
  readonly slots: readonly Hash32[]
}

/** What was proved and is in use: where nothing tells what blocks change, it is proved again with each head. */
export class HotSet {
  readonly #use: HeldUse
  readonly #limits: HotLimits
  /** Address → slots, as {@link latin1Key}; what was proved last comes last. */
  readonly #accounts = new Map<string, Set<string>>()
  #units = 0
  #bytesPerUnit = 0

  constructor(use: HeldUse, limits: HotLimits) {
    this.#use = use
    this.#limits = limits
  }

  /** Says that something was proved because it was asked for. */
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

  /** Says how many bytes the proofs of so many accounts and slots had. */
  measured(units: number, bytes: number): void {
    if (units > 0) this.#bytesPerUnit = bytes / units
  }

  /** What is to be proved with the next head, what is read most lately first. */
  questions(): HotQuestion[] {
    let room = Math.min(this.#limits.units, Math.floor(this.#limits.bytes / Math.max(this.#bytesPerUnit, 1)))
    const questions: HotQuestion[] = []
    for (const [name, slots] of [...this.#accounts].reverse()) {
      const address = latin1KeyToBytes(name) as Uint8Array as Address
      const hot = [...slots].map((slot) => latin1KeyToBytes(slot) as Uint8Array as Hash32)
      const used = hot.filter((slot) => this.#use.ageMs(heldKey('slot', address, slot)) < hotMs)
      const isUsed = used.length > 0 || this.#use.ageMs(heldKey('account', address)) < hotMs
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
