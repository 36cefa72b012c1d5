import { mapKey } from '../primitives/bytes.js'

/** Addresses and slots that a run touches by name, in order of the first touch, by {@link mapKey}. */
export class AccessRecorder {
  readonly touched = new Map<string, Set<string>>()
  readonly #excluded: ReadonlySet<string>

  /** Addresses in `excluded` are left out until a slot of theirs is touched. */
  constructor(excluded: ReadonlySet<string>) {
    this.#excluded = excluded
  }

  touchAddress(address: Uint8Array): void {
    const key = mapKey(address)
    if (!this.#excluded.has(key) && !this.touched.has(key)) this.touched.set(key, new Set())
  }

  touchSlot(address: Uint8Array, slot: Uint8Array): void {
    const key = mapKey(address)
    let slots = this.touched.get(key)
    if (slots === undefined) {
      slots = new Set()
      this.touched.set(key, slots)
    }
    slots.add(mapKey(slot))
  }
}
