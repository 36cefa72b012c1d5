/** Results of `prepare.ts`, data beside the repository, and requests that many tests send. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'

/**
 * Data folder with the demo chain as network `demo` and, if available, the recorded one as `recorded`; made by
 * `prepare.ts`. Tests only read it.
 */
export const fixtureDir = join(packageRoot(), 'dist/fixtures')
/** Configuration that serves `demo` unchanged. The embedded network of that name would replay its last blocks. */
export const fixtureConfig = join(fixtureDir, 'tidegate.json')
/** Path of the configuration of the network `recorded`. */
export const recordedConfig = join(fixtureDir, 'recorded.json')

/**
 * Limits for calls in tests that are not about limits. Tests also run on slow and busy machines, where threads with a
 * higher niceness than other processes would hardly run.
 */
export const patientLimits = {
  requestMsMax: 600_000,
  executionMsMax: 300_000,
  traceMsMax: 600_000,
  poolNiceness: 0,
  // Warming up a thousand servers would take half an hour of CPU; `commands/warmUp.test.ts` turns it on.
  warmUpMs: 0,
  // A mistake must end the start within this time.
  startMsMax: 60_000,
} as const

/** A configuration with only these limits; made by `prepare.ts`. */
export const patientConfig = join(fixtureDir, 'patient.json')

/** Recorded exchanges of other clients, to be replayed against this one: `run.mjs` and `rpc-compat`. */
export const conformanceDir = join(packageRoot(), '../shared/conformance')
/** Folder of recordings by execution-apis: genesis, chain and one folder per method. */
export const recordings = join(conformanceDir, 'rpc-compat')
/** Reason to skip tests that need the recordings; false if they are available. */
export const withoutRecordings =
  !existsSync(join(recordings, 'chain.rlp')) && `there are no recordings at ${recordings}`

/** A batch that costs more than a key's burst (25,000 units), without any work: its storage keys are invalid. */
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

/** The `/health` report on how the parts of an archive are verified. */
export const executedHere = Object.fromEntries(
  ['headers', 'transactions', 'receipts', 'state', 'calls'].map((part) => [part, 'executed']),
)
