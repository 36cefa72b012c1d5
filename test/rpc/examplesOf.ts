/** Calls of every method, for servers whose answers must be equal. */
import type { AnyEntry, AnyMethod, Example, MethodEntry } from './methodEntry.js'
import { methodTable } from './methodTable.js'
import { rollupMethodTable } from './rollupMethodTable.js'

/** The entries of all methods, of both kinds of networks. */
export const allEntries: { readonly [M in AnyMethod]: AnyEntry & Partial<MethodEntry> } = {
  ...methodTable,
  ...rollupMethodTable,
}

/** Limit of questions taken from the `reads` of a method. */
const questionsMax = 3

/** The examples of a method with short answers; none for a method that has no example yet. */
export function examplesOf(method: AnyMethod): readonly Example[] {
  const { sequences = [], examples = [], reads = [] } = allEntries[method]
  const own: Example[] = [...sequences, ...examples.map((params): Example => [[method, params]])]
  if (own.length > 0) return own
  // With memory, traces are long.
  const short = reads.filter((params) => !JSON.stringify(params).includes('enableMemory'))
  return short.slice(0, questionsMax).map((params) => [[method, params]])
}
