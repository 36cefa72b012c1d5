/** What each key used in the last hours, in cells beside it. */
import type { Usage } from '../shapes.js'
import { ask, Refusal } from './api.js'
import { make, setText } from './dom.js'
import { formatCount } from './format.js'

const amounts = ['units', 'calls', 'errors'] as const

export class KeyUse {
  /** Titles of the cells of a key. */
  readonly titles = ['Units', 'Calls', 'Errors']
  readonly note = make('p', { class: 'note', role: 'status' })
  #cells = new Map<string, readonly HTMLElement[]>()

  /** Cells for a key, filled by {@link read}; they take the place of those that it had. */
  cellsOf(keyId: string): readonly HTMLElement[] {
    const cells = amounts.map(() => make('td', { class: 'figure' }, '–'))
    this.#cells.set(keyId, cells)
    return cells
  }

  /** Fills the cells; says why where that cannot be. Never rejects. */
  async read(): Promise<void> {
    try {
      // Without times these are the current hour and the 23 before it.
      const { rows } = await ask<Usage>('api/usage?by=key')
      const used = new Map(rows.map((row) => [row.key, row]))
      for (const [keyId, cells] of this.#cells) {
        for (const [at, cell] of cells.entries()) {
          setText(cell, formatCount(used.get(keyId)?.[amounts[at] ?? 'units'] ?? 0))
        }
      }
      setText(this.note, 'Units, calls and errors are of the last 24 hours, the current one included.')
    } catch (error) {
      const why = error instanceof Refusal ? error.message : 'the server does not answer'
      setText(this.note, `What keys used cannot be read: ${why}`)
    }
  }
}
