// @shares
/** Every transaction of the demo chain and of the recorded chain: as a call against its receipt, and estimated. */
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { Execution } from '../../../src/execution/evm/messages/execution.js'
import type {
  AccountOverride,
  ExecutionRequest,
} from '../../../src/execution/evm/messages/executionRequest.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { FaultError } from '../../../src/primitives/faults.js'
import { withoutRecordings } from '../../service/fixtures.js'
import { BlockReplay } from '../../store/stateBefore.js'
import {
  demoStorePath,
  recordedStorePath,
  type StoredMessage,
  storedMessages,
} from '../../store/storedMessages.js'
import { goOn, limits, succeedsWith } from '../../unit/execution/evm/demoExecution.js'

/** Messages whose results differ in the block of the parent, by block and index. */
interface Exceptions {
  /** Calls that differ from the receipt, even on the state right before the transaction. */
  readonly calls: ReadonlyMap<string, string>
  /** Successful transactions whose estimate fails. */
  readonly estimates: ReadonlyMap<string, string>
  /** Estimates with which one unit less succeeds too. */
  readonly nonMonotonic: ReadonlyMap<string, string>
}

const demo: Exceptions = {
  calls: new Map([
    ['71/0', 'reads the hash of the parent, which is the block of the call itself'],
    ['260/0', 'reads the hash of the parent, which is the block of the call itself'],
    ['130/1', 'reads the randomness that no block before its own has'],
  ]),
  estimates: new Map([
    ['87/1', 'needs a transaction before it in its block'],
    ['103/3', 'needs a transaction before it in its block'],
    ['166/1', 'reads the beacon root that its block begins with'],
    ['195/0', 'reads the parent hash that its block begins with'],
    ['212/0', 'uses an instruction of the fork that begins with its block'],
  ]),
  nonMonotonic: new Map(),
}
const recorded: Exceptions = { calls: new Map(), estimates: new Map(), nonMonotonic: new Map() }

const placeOf = ({ header, index }: StoredMessage): string => `${header.number}/${index}`

function parentOf({ header, parentHash }: StoredMessage): ExecutionRequest['block'] {
  return { number: header.number - 1, hash: parentHash, isPending: false }
}

async function compareCalls(t: Test, store: ChainReader, exceptions: Exceptions): Promise<void> {
  const execution = new Execution(store, limits)
  const replay = new BlockReplay(store)
  let compared = 0
  let states: readonly (readonly AccountOverride[])[] = []
  for (const stored of storedMessages(store)) {
    const { header, message, gas, index } = stored
    if (index === 0) states = await replay.statesBefore(header.number)
    if (exceptions.calls.has(placeOf(stored))) continue
    const { baseFeePerGas } = header
    const outcome = await execution.call(
      {
        block: parentOf(stored),
        message,
        gasDefault: gas,
        gasMax: gas,
        keepsLogs: true,
        stateOverrides: states[index] as readonly AccountOverride[],
        blockOverrides: {
          number: BigInt(header.number),
          time: BigInt(header.timestamp),
          gasLimit: header.gasLimit,
          feeRecipient: header.miner,
          prevRandao: header.mixHash,
          difficulty: header.difficulty,
          ...(baseFeePerGas === undefined ? {} : { baseFeePerGas }),
        },
      },
      goOn,
    )
    const logs = outcome.logs.map(({ address, topics, data }) =>
      [address, ...topics, data].map(bytesToHex).join(' '),
    )
    const got = { hasSucceeded: outcome.failure === undefined, gasUsed: outcome.gasUsed, logs }
    const hasSucceeded = stored.hasSucceeded ?? got.hasSucceeded
    const expected = { hasSucceeded, gasUsed: stored.gasUsed, logs: stored.logs }
    // An assertion each would be thousands of lines.
    if (!isDeepStrictEqual(got, expected)) t.same(got, expected, stored.title)
    compared++
  }
  t.ok(compared > 100, `${compared} calls compared`)
}

/** Before Byzantium a receipt does not have the status of a transaction, but a failed one uses all its gas. */
function hasFailed({ hasSucceeded, gasUsed, gas }: StoredMessage): boolean {
  return hasSucceeded === undefined ? gasUsed === gas : !hasSucceeded
}

async function compareEstimates(
  t: Test,
  store: ChainReader,
  exceptions: Exceptions,
  gasDefault: bigint,
  runsMax: number,
): Promise<void> {
  const execution = new Execution(store, limits)
  let estimates = 0
  let executed = 0
  let runs = 0
  for (const stored of storedMessages(store)) {
    const {
      gas: _gas,
      gasPrice: _price,
      maxFeePerGas: _cap,
      maxPriorityFeePerGas: _tip,
      ...rest
    } = stored.message
    const { maxFeePerBlobGas: _blobCap, ...message } = rest
    const request: ExecutionRequest = {
      block: parentOf(stored),
      message,
      gasDefault,
      gasMax: 300_000_000n,
      // The first block of a fork may have messages that were invalid in the block before it.
      blockOverrides: { number: BigInt(stored.header.number), time: BigInt(stored.header.timestamp) },
    }
    let estimate: { readonly gas: bigint; readonly runs: number }
    try {
      estimate = await execution.estimate(request, goOn)
    } catch (error) {
      if (!(error instanceof FaultError)) throw error
      const isExpected = hasFailed(stored) || exceptions.estimates.has(placeOf(stored))
      if (!isExpected) t.fail(`${stored.title}: ${error.fault.kind}`)
      continue
    }
    estimates++
    runs += estimate.runs
    if (estimate.runs > 0) executed++
    const { gas } = estimate
    if (!(await succeedsWith(execution, request, gas))) t.fail(`${stored.title} fails with ${gas}`)
    const isMonotonic = !(await succeedsWith(execution, request, gas - 1n))
    if (isMonotonic === exceptions.nonMonotonic.has(placeOf(stored))) {
      t.fail(`${stored.title} ${isMonotonic ? 'fails' : 'succeeds'} with less than ${gas}`)
    }
  }
  const mean = runs / executed
  t.comment(
    `${estimates} estimates, ${executed} of them with runs, ${mean.toFixed(2)} runs each; ` +
      `${(runs / estimates).toFixed(2)} of all`,
  )
  t.ok(mean <= runsMax, 'few runs')
}

t.test('calls do what the receipts of the demo chain say', async (t) => {
  const store = ChainReader.open({ path: demoStorePath })
  t.teardown(() => store.close())
  await compareCalls(t, store, demo)
})

t.test('estimates of the demo chain suffice, and one unit less does not', async (t) => {
  const store = ChainReader.open({ path: demoStorePath })
  t.teardown(() => store.close())
  await compareEstimates(t, store, demo, 30_000_000n, 1.1)
})

t.test('the recorded chain', { skip: withoutRecordings }, async (t) => {
  const store = ChainReader.open({ path: recordedStorePath })
  t.teardown(() => store.close())
  await compareCalls(t, store, recorded)
  // A third of it are contracts that loop until their gas is short, which only a search can settle.
  await compareEstimates(t, store, recorded, 2_000_000n, 6.5)
})
