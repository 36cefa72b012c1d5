/**
 * Figures of the store as tables in Markdown: one line for each run, one for each table of each, and one for each tenth of its blocks. From files too, in
 * the form that storeSpeed prints:
 *
 *   node dist/bench/store/storeTable.js FILE…
 */
import { readFileSync } from 'node:fs'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'
import type { BlockCosts, StoreFigures } from './storeSpeed.js'

export function storeTable(figures: readonly StoreFigures[]): string {
  const head =
    '| network | past kept | bytes a key | bytes a change | pages a block | tries, CPU ms | writing, CPU ms | wall ms, longest | a slot: head, past, µs | file MB |'
  return [head, '| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: |', ...figures.map(lineOf)].join(
    '\n',
  )
}

function lineOf(figures: StoreFigures): string {
  const { network, size, kept, load, busy, loadedBytes, settledBytes, readMicros, fileBytes } = figures
  const keys = size.accounts + size.slots
  const costs: BlockCosts = busy ?? load
  const what =
    busy === undefined ? '' : `, ${count(busy.blocks)} blocks of ${count(busy.changes / busy.blocks)}`
  const cells = [
    `${network}, ${count(keys)} keys${what}`,
    kept === null ? 'all' : `${count(kept)} blocks`,
    (loadedBytes / keys).toFixed(0),
    busy === undefined ? '' : ((settledBytes - loadedBytes) / busy.changes).toFixed(0),
    costs.pagesWritten === undefined ? '' : count(costs.pagesWritten),
    costs.rootsCpuMs.toFixed(0),
    costs.writeCpuMs.toFixed(0),
    `${costs.writeWallMs.toFixed(0)}, ${costs.longestWriteMs.toFixed(0)}`,
    `${readMicros.head.toFixed(1)}, ${readMicros.past.toFixed(1)}`,
    count(fileBytes / 1e6),
  ]
  return `| ${cells.join(' | ')} |`
}

/** What rows of the largest tables take, each with its share of the pages: a page is never full. */
export function contentTable(figures: readonly StoreFigures[]): string {
  const head = '| network, table | rows | MB | bytes a row: all, key, value | pages filled |'
  const lines = figures.flatMap(({ network, tables }) =>
    tables
      .filter(({ bytes }) => bytes > 1e6)
      .map(({ name, rows, bytes, keyBytes, valueBytes }) => {
        const each = [bytes, keyBytes, valueBytes].map((sum) => (sum / rows).toFixed(0)).join(', ')
        const filled = ((100 * (keyBytes + valueBytes + rows * nodeBytes)) / bytes).toFixed(0)
        return `| ${network}, ${name} | ${count(rows)} | ${(bytes / 1e6).toFixed(1)} | ${each} | ${filled} % |`
      }),
  )
  return [head, '| --- | --: | --: | --: | --: |', ...lines].join('\n')
}

/** What files consist of while blocks are added, as far as that was measured. */
export function fileTable(figures: readonly StoreFigures[]): string {
  const head = '| network, blocks | file MB | headers | all else | free |'
  const lines = figures.flatMap(({ network, busy, fileSeries }) =>
    fileSeries.map(({ file, headers, others }, index) => {
      const number = ((busy?.blocks ?? 0) * (index + 1)) / fileSeries.length
      const parts = [file, headers, others, file - headers - others].map((bytes) => (bytes / 1e6).toFixed(1))
      return `| ${network}, ${count(number)} | ${parts.join(' | ')} |`
    }),
  )
  return [head, '| --- | --: | --: | --: | --: |', ...lines].join('\n')
}

/** What LMDB keeps of a row besides its key and value: sizes, flags, and its place in the page. */
const nodeBytes = 10

const count = (value: number): string => Math.round(value).toLocaleString('en')

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const figures = argv.slice(2).map((path) => JSON.parse(readFileSync(path, 'utf8')) as StoreFigures)
  console.log([storeTable, contentTable, fileTable].map((table) => table(figures)).join('\n\n'))
}
