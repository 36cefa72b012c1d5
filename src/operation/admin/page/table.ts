import { type Child, make, setText } from './dom.js'
import { formatBytes, formatCount } from './format.js'

export interface Column<R> {
  readonly title: string
  readonly of: (row: R) => Child
  /** Whether the column has figures, which are aligned at the right. */
  readonly isFigure?: boolean
  /** A class of the cell, such as `bad`. */
  readonly cellClass?: (row: R) => string | undefined
}

interface Spent {
  readonly units: number
  readonly calls: number
  readonly errors: number
  readonly bytes: number
}

export function figures<R>(title: string, of: Column<R>['of']): Column<R> {
  return { title, of, isFigure: true }
}

/** Figures that should be zero. */
export function failures<R>(title: string, of: (row: R) => number, format = formatCount): Column<R> {
  return {
    ...figures(title, (row) => format(of(row))),
    cellClass: (row) => (of(row) > 0 ? 'bad' : undefined),
  }
}

/** Usage of a key, or of a method. */
export const spentColumns: readonly Column<Spent>[] = [
  figures('Units', ({ units }) => formatCount(units)),
  figures('Calls', ({ calls }) => formatCount(calls)),
  failures('Errors', ({ errors }) => errors),
  figures('Results', ({ bytes }) => formatBytes(bytes)),
]

/** A table whose rows change while it is read: only changed cells are written. */
export class LiveTable<R> {
  readonly element: HTMLElement
  readonly #columns: readonly Column<R>[]
  readonly #body = make('tbody')
  readonly #empty: HTMLElement

  /** `none` is shown if there are no rows, `above` before the table. */
  constructor(title: string, columns: readonly Column<R>[], none: string, ...above: readonly Child[]) {
    this.#columns = columns
    this.#empty = make('p', { class: 'note' }, none)
    const head = columns.map(({ title, isFigure }) =>
      make('th', { scope: 'col', class: isFigure && 'figure' }, title),
    )
    const table = make(
      'table',
      { 'aria-label': title },
      make('thead', {}, make('tr', {}, ...head)),
      this.#body,
    )
    this.element = make(
      'section',
      { class: 'card' },
      make('h3', {}, title),
      ...above,
      scrolled(title, table),
      this.#empty,
    )
  }

  show(rows: readonly R[]): void {
    this.#empty.hidden = rows.length > 0
    while (this.#body.rows.length > rows.length) this.#body.deleteRow(-1)
    for (const [at, row] of rows.entries()) {
      const line = this.#body.rows[at] ?? this.#addRow()
      for (const [column, { of, cellClass, isFigure }] of this.#columns.entries()) {
        const cell = line.cells[column] as HTMLTableCellElement
        setContent(cell, of(row))
        cell.className = [isFigure && 'figure', cellClass?.(row)].filter((name) => name).join(' ')
      }
    }
  }

  #addRow(): HTMLTableRowElement {
    // On narrow screens each row is a card, and its cells show their titles.
    const line = make('tr', {}, ...this.#columns.map(({ title }) => make('td', { 'data-title': title })))
    this.#body.append(line)
    return line
  }
}

/** Writes only changed content, so that a reader's selection and focus stay. */
function setContent(cell: HTMLElement, content: Child): void {
  if (typeof content !== 'object') setText(cell, content || '')
  else if (cell.childNodes.length !== 1 || !cell.firstChild?.isEqualNode(content))
    cell.replaceChildren(content)
}

/** Wide tables scroll by themselves, so that the page does not; shadows at their edges show that there is more. */
function scrolled(title: string, table: HTMLTableElement): HTMLElement {
  return make('div', { class: 'scrolled', tabindex: 0, role: 'region', 'aria-label': title }, table)
}
