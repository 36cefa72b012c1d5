import type { KeyStore } from '../access/keyRepository.js'
import type { KeyChanged, KeyRow } from '../store/keyRows.js'
import type { KeyWritten } from '../store/keyTables.js'
import type { NodeStore } from '../store/nodeStore.js'

/** Keys to which one change may be made, which is kept here and not written. */
export class KeyStage implements KeyStore {
  /** What the change makes of a key; undefined where it changes nothing. */
  staged: { readonly before: KeyRow | undefined; readonly after: KeyRow } | undefined
  readonly #store: NodeStore

  constructor(store: NodeStore) {
    this.#store = store
  }

  readKeys(): KeyRow[] {
    return this.#store.readKeys()
  }

  readKeyByPrefix(prefix: Uint8Array): KeyRow | undefined {
    return this.#store.readKeyByPrefix(prefix)
  }

  readKeyByName(name: string): KeyRow | undefined {
    return this.#store.readKeyByName(name)
  }

  writeKey(row: KeyRow, options?: { readonly onlyFirst?: boolean }): KeyWritten {
    const outcome = this.#store.planKey(row, options)
    if (outcome === 'written') this.#stage(undefined, row)
    return outcome
  }

  changeKey(digest: Uint8Array, change: (row: KeyRow) => KeyRow): KeyChanged | 'nameTaken' | undefined {
    const planned = this.#store.planChange(digest, change)
    if (typeof planned === 'object' && planned.after !== planned.before) {
      this.#stage(planned.before, planned.after)
    }
    return planned
  }

  #stage(before: KeyRow | undefined, after: KeyRow): void {
    if (this.staged !== undefined) throw new Error('one change at a time')
    this.staged = { before, after }
  }
}
