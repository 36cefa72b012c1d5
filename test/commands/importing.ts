/** What the tests of `tidegate import` share. */
import { existsSync } from 'node:fs'
import type { Test } from 'tap'
import { type Outcome, runProgram } from '../program.js'
import { blockBytes, genesisPath } from '../rpc/demoChain.js'
import { startService } from '../service.js'

export const network = 'tides'

/** Blocks `from` to `to` as a chain file has them. */
export function chainOf(from: number, to: number): Uint8Array {
  return Buffer.concat(blockBytes.slice(from - 1, to))
}

export function flagsOf(dataDir: string): string[] {
  return ['--network', network, '--data', dataDir]
}

/** Imports files into a store, made with the demo genesis where there is none. */
export function importInto(dataDir: string, files: readonly string[]): Promise<Outcome> {
  const isNew = !existsSync(`${dataDir}/networks/${network}`)
  return runProgram(['import', ...flagsOf(dataDir), ...(isNew ? ['--genesis', genesisPath] : []), ...files])
}

/** Number of the newest block of the store, as a server that opens it says. */
export async function headOf(dataDir: string): Promise<number> {
  const service = await startService([...flagsOf(dataDir), '--no-auth'])
  const { result } = await service.call('eth_blockNumber')
  await service.stop()
  return Number(result)
}

/** One sentence on standard error and status 1: what an operator can mend is no crash. */
export function checkFailure(t: Test, outcome: Outcome, message: RegExp): void {
  t.equal(outcome.status, 1)
  t.match(outcome.err, message)
  t.match(outcome.err, /^tidegate: [^\n]+\n$/, 'one line')
  t.notMatch(outcome.err, /internal error|\bat [^ ]+ \(/, 'no crash')
}
