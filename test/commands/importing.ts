/** Shared code of the tests of `tidegate import`. */
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Test } from 'tap'
import { ChainReader } from '../../src/data/store/chainReader.js'
import { mapBytesDefault } from '../../src/data/store/lmdb/environment.js'
import { OperatorError } from '../../src/primitives/faults.js'
import { importFiles } from '../../src/sources/ingest/blocks/importFiles.js'
import { blockBytes, genesisPath } from '../rpc/demoChain.js'
import { type Outcome, runHere, storePathOf } from '../service/program.js'

export const network = 'tides'

/** Blocks `from` to `to` as a chain file has them. */
export function chainOf(from: number, to: number): Uint8Array {
  return Buffer.concat(blockBytes.slice(from - 1, to))
}

export function flagsOf(dataDir: string): string[] {
  return ['--network', network, '--data', dataDir]
}

/** Imports files into a store, made with the demo genesis if there is none. */
export function importInto(
  dataDir: string,
  files: readonly string[],
  run: (words: readonly string[]) => Promise<Outcome> = runHere,
): Promise<Outcome> {
  const isNew = !existsSync(`${dataDir}/networks/${network}`)
  return run(['import', ...flagsOf(dataDir), ...(isNew ? ['--genesis', genesisPath] : []), ...files])
}

/**
 * The same in this process, which has loaded the engine already. Does the work of the program's ingest thread, without
 * a second of CPU for each start. Rejects with the error that the program would print as one sentence.
 */
export async function importHere(
  dataDir: string,
  files: readonly string[],
  genesis = genesisPath,
): Promise<void> {
  const storePath = storePathOf(dataDir, network)
  mkdirSync(dirname(storePath), { recursive: true })
  const task = { storePath, mapBytes: mapBytesDefault, files }
  await importFiles(
    { ...task, genesis: { text: readFileSync(genesis, 'utf8'), path: genesis } },
    { report: () => undefined, signal: new AbortController().signal },
  )
}

/**
 * Expects that an import is refused as the operator's fault, which the program prints as one sentence, and not as a
 * defect.
 */
export async function checkRefused(
  t: Test,
  dataDir: string,
  file: string,
  message: RegExp,
  genesis = genesisPath,
): Promise<void> {
  const error: unknown = await importHere(dataDir, [file], genesis).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  t.ok(error instanceof OperatorError, 'the fault is not a defect')
  t.match(String(error), message)
  t.notMatch(String(error), /\n/, 'one line')
}

/** Number of the newest block of a store that may still be incomplete; undefined if there is none. */
export async function headOf(dataDir: string, name = network): Promise<number | undefined> {
  const path = storePathOf(dataDir, name)
  // LMDB ends the process that opens an empty file for reading.
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined
  const store = ChainReader.open({ path })
  const head = store.readHead()?.number
  await store.close()
  return head
}

/** One sentence on standard error and status 1: a fault that an operator can remove is no crash. */
export function checkFailure(t: Test, outcome: Outcome, message: RegExp): void {
  t.equal(outcome.status, 1)
  t.match(outcome.err, message)
  t.match(outcome.err, /^tidegate: [^\n]+\n$/, 'one line')
  t.notMatch(outcome.err, /internal error|\bat [^ ]+ \(/, 'no crash')
}
