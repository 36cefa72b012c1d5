import { latin1Key } from '../../../primitives/bytes.js'

/** Addresses and slots that instructions of a run access, by {@link latin1Key}, in order of first access. */
export class AccessRecorder {
  readonly touched = new Map<string, Set<string>>()
  readonly #excluded: ReadonlySet<string>

  /** Addresses in `excluded` are left out unless one of their slots is accessed. */
  constructor(excluded: ReadonlySet<string>) {
    this.#excluded = excluded
  }

  touchAddress(address: Uint8Array): void {
    const key = latin1Key(address)
    if (!this.#excluded.has(key) && !this.touched.has(key)) this.touched.set(key, new Set())
  }

  touchSlot(address: Uint8Array, slot: Uint8Array): void {
    const key = latin1Key(address)
    let slots = this.touched.get(key)
    if (slots === undefined) {
      slots = new Set()
      this.touched.set(key, slots)
    }
    slots.add(latin1Key(slot))
  }
}
