import { largest } from '../../primitives/extremes.js'

/** Rows of cells in equally wide columns; the last column is not padded. */
export function layOutTable(rows: readonly (readonly string[])[]): string {
  const columns = rows[0]?.length ?? 0
  const widths = Array.from({ length: columns - 1 }, (_, column) =>
    largest(rows.map((row) => (row[column] ?? '').length)),
  )
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n')
}

/** UTC, without fractions of a second. */
export function formatTime(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')}Z`
}
