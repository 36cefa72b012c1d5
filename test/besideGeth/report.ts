/** The numbers of compared and different answers, by method. */
import type { Verdict } from './comparison.js'
import type { Question } from './endpoint.js'

interface Row {
  compared: number
  different: number
  known: number
  texts: number
}

interface Shown {
  readonly method: string
  readonly lines: readonly string[]
}

export class Report {
  readonly #shownMax: number
  readonly #comparesTexts: boolean
  readonly #rows = new Map<string, Row>()
  readonly #shown: Shown[] = []
  readonly #reasons = new Map<string, number>()

  /** `shownMax`: differences of a method that are printed. `comparesTexts`: whether texts of errors count. */
  constructor(shownMax: number, comparesTexts: boolean) {
    this.#shownMax = shownMax
    this.#comparesTexts = comparesTexts
  }

  /** Unknown differences so far. */
  get unknown(): number {
    return [...this.#rows.values()].reduce((sum, { different }) => sum + different, 0)
  }

  add({ method, params }: Question, verdict: Verdict): void {
    const row = this.#rows.get(method) ?? { compared: 0, different: 0, known: 0, texts: 0 }
    this.#rows.set(method, row)
    row.compared++
    if (verdict.kind === 'same') return
    if (verdict.kind === 'known') {
      row.known++
      for (const reason of verdict.reasons) this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1)
      return
    }
    const isText = verdict.kind === 'text' && !this.#comparesTexts
    if (isText) row.texts++
    else row.different++
    if ((isText ? row.texts : row.different) > this.#shownMax) return
    const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    this.#shown.push({
      method,
      lines: [`${isText ? 'TEXT' : 'DIFFERENT'} ${method} ${verdict.where}`, `  ${request}`],
    })
  }

  print(say: (line: string) => void): void {
    for (const { lines } of [...this.#shown].sort((a, b) => a.method.localeCompare(b.method))) {
      for (const line of lines) say(line)
    }
    const names = [...this.#rows.keys()].sort()
    const width = Math.max(6, ...names.map((name) => name.length))
    const row = (name: string, cells: readonly (string | number)[]) =>
      say(`${name.padEnd(width)}${cells.map((cell) => String(cell).padStart(11)).join('')}`)
    row('method', ['compared', 'different', 'known', 'texts'])
    for (const name of names) {
      const { compared, different, known, texts } = this.#rows.get(name) as Row
      row(name, [compared, different, known, texts])
    }
    for (const [reason, count] of this.#reasons) say(`known, ${count} times: ${reason}`)
  }
}
