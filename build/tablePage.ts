/** Pages of the docs with a table generated from the program, between two comments. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../src/primitives/packageRoot.js'

const tablePattern = /(?<=<!-- What is between [^\n]*-->\n).*(?=<!-- End\. -->)/s

interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export class TablePage {
  readonly path: string
  readonly #name: string
  readonly #table: () => Table

  constructor(name: string, table: () => Table) {
    this.#name = name
    this.#table = table
    this.path = join(packageRoot(), name)
  }

  /** The page with a new table. Throws RangeError if the page lacks the comments around the table. */
  render(page: string): string {
    if (!tablePattern.test(page)) throw new RangeError(`${this.#name} has lost the comments around its table`)
    const { head, rows } = this.#table()
    const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`)
    return page.replace(tablePattern, () => `\n${lines.join('')}\n`)
  }

  /** Rewrites the page if its module is run as a program (`npm run docs`). */
  writeIfRun(moduleUrl: string): void {
    if (moduleUrl !== pathToFileURL(process.argv[1] ?? '').href) return
    writeFileSync(this.path, this.render(readFileSync(this.path, 'utf8')))
  }
}
