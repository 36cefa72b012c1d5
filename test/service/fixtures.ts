/** What `prepare.ts` makes for tests, what lies beside the repository, and requests that many tests send. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'

/**
 * Data folder with the demo chain as network `demo` and the recorded one, where it is at hand, as `recorded`; made by
 * `prepare.ts`. Tests only read it.
 */
export const fixtureDir = join(packageRoot(), 'dist/fixtures')
/** Configuration that serves `demo` as it is. The embedded network of that name would play its last blocks. */
export const fixtureConfig = join(fixtureDir, 'tidegate.json')
/** The same for `recorded`. */
export const recordedConfig = join(fixtureDir, 'recorded.json')

/**
 * What calls may take where that is no matter of a test, which runs on slow and busy machines too: on these, threads
 * that are nicer than other processes would hardly run.
 */
export const patientLimits = {
  requestMsMax: 600_000,
  executionMsMax: 300_000,
  traceMsMax: 600_000,
  poolNiceness: 0,
  // A mistake ends the start within it.
  startMsMax: 60_000,
} as const

/** A configuration that has nothing but these; made by `prepare.ts`. */
export const patientConfig = join(fixtureDir, 'patient.json')

/** Recorded exchanges of other clients, to be replayed against this one: `run.mjs` and `rpc-compat`. */
export const conformanceDir = join(packageRoot(), '../shared/conformance')
/** Their genesis, chain and one folder of recordings a method, by execution-apis. */
export const recordings = join(conformanceDir, 'rpc-compat')
/** Why tests that need the recordings are skipped; false where they are at hand. */
export const withoutRecordings =
  !existsSync(join(recordings, 'chain.rlp')) && `there are no recordings at ${recordings}`

/** A batch that costs more than a key may have to spend at once (25,000 units), and no work: no key in it is one. */
export const spendingBatch = JSON.stringify(
  Array.from({ length: 500 }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'eth_getProof',
    params: [`0x${'0'.repeat(40)}`, Array(40).fill('none')],
  })),
)

const looping = `0x${'aa'.repeat(20)}`
/** A call of JUMPDEST PUSH1 0 JUMP, with gas for some minutes. */
export const endlessCall = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_call',
  params: [{ to: looping }, 'latest', { [looping]: { code: '0x5b600056' } }],
})

/** What `/health` says of how the parts of an archive are known. */
export const executedHere = Object.fromEntries(
  ['headers', 'transactions', 'receipts', 'state', 'calls'].map((part) => [part, 'executed']),
)
