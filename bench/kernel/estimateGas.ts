/**
 * Execution of messages on the demo chain: microseconds of a token transfer as a call (a job's, and one tried on the
 * edge) and as an estimate, compared with `runTx` of @ethereumjs; runs per estimate; the cost of the check whether to
 * stop.
 *
 *   npm run build && node dist/test/prepare.js && node dist/bench/kernel/estimateGas.js [--rounds 7] [--calls 300]
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createBlock } from '@ethereumjs/block'
import { createLegacyTx } from '@ethereumjs/tx'
import { Address as EvmAddress } from '@ethereumjs/util'
import { runTx } from '@ethereumjs/vm'
import { encodeCall } from '../../data/devnet/abi.js'
import { ForkSchedule, parseGenesisConfig } from '../../src/chain/forks.js'
import { decodeHeader } from '../../src/chain/header.js'
import { JobWatch } from '../../src/evm/engine/jobWatch.js'
import { CallTrials } from '../../src/evm/messages/callTrials.js'
import { Execution } from '../../src/evm/messages/execution.js'
import type { ExecutionRequest } from '../../src/evm/messages/executionRequest.js'
import { hexToBytes } from '../../src/primitives/bytes.js'
import { FaultError } from '../../src/primitives/faults.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { headState } from '../../src/state/stateView.js'
import { ChainReader } from '../../src/store/chainReader.js'
import { createForkEngine } from '../../test/library/forkEngine.js'
import { JournaledState } from '../../test/library/journaledState.js'
import { demoStorePath, storedMessages } from '../../test/store/storedMessages.js'

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, calls: { type: 'string', default: '300' } },
})
const rounds = Number(options.rounds)
const calls = Number(options.calls)
const goOn = (): boolean => false

interface Examples {
  readonly accounts: readonly { readonly name: string; readonly address: string }[]
  readonly contracts: readonly { readonly name: string; readonly address: string }[]
}
const examples = JSON.parse(
  readFileSync(join(packageRoot(), 'data/devnet/examples.json'), 'utf8'),
) as Examples
const addressOf = (name: string): Uint8Array => {
  const found = [...examples.accounts, ...examples.contracts].find((one) => one.name === name)
  if (found === undefined) throw new Error(`the demo chain has no ${name}`)
  return hexToBytes(found.address)
}

const store = ChainReader.open({ path: demoStorePath })
const head = store.readHead()
const headRow = head && store.readHeader(head.hash)
if (head === undefined || headRow === undefined) throw new Error('no head')
const header = decodeHeader(headRow)
const execution = new Execution(store, { timeMsMax: 60_000, memoryBytesMax: 2 ** 28 })
const transfer = encodeCall('transfer(address,uint256)', [addressOf('cal'), 1])
const request: ExecutionRequest = {
  block: { ...head, isPending: false },
  message: { from: addressOf('bea'), to: addressOf('Tide'), value: 0n, data: transfer },
  gasDefault: 30_000_000n,
  gasMax: 300_000_000n,
}

/** Median of rounds of the mean time of one piece of work, in microseconds. */
async function measure(work: () => Promise<unknown>, repeat = calls): Promise<number> {
  const times: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const start = performance.now()
    for (let i = 0; i < repeat; i++) await work()
    // The first round warms up.
    if (round > 0) times.push(((performance.now() - start) * 1_000) / repeat)
  }
  return times.sort((a, b) => a - b)[rounds >> 1] as number
}

function scheduleOf(store: ChainReader): ForkSchedule {
  return new ForkSchedule(parseGenesisConfig(JSON.parse(store.readIdentity()?.config ?? '{}')))
}

async function libraryTransfer(): Promise<() => Promise<unknown>> {
  const schedule = scheduleOf(store)
  const engine = await createForkEngine(schedule, schedule.forkAt(header.number, header.timestamp, true))
  const { common } = engine
  const fields = { ...header, coinbase: new EvmAddress(header.miner), baseFeePerGas: 0n }
  const block = createBlock(
    {
      header: {
        number: fields.number,
        gasLimit: fields.gasLimit,
        timestamp: fields.timestamp,
        baseFeePerGas: 0n,
      },
    },
    { common, skipConsensusFormatValidation: true },
  )
  const sender = new EvmAddress(addressOf('bea'))
  const data = { to: new EvmAddress(addressOf('Tide')), data: transfer, gasLimit: 1_000_000n, gasPrice: 0n }
  return async () => {
    engine.prepare(new JournaledState(headState(store, header.stateRoot)), () => undefined)
    const tx = createLegacyTx(data, { common, freeze: false })
    tx.getSenderAddress = () => sender
    const { execResult } = await runTx(engine.vm, {
      tx,
      block,
      skipBalance: true,
      skipNonce: true,
      skipHardForkValidation: true,
    })
    if (execResult.exceptionError !== undefined) throw new Error(execResult.exceptionError.error)
  }
}

async function stopCheck(): Promise<readonly [watched: number, unwatched: number]> {
  // JUMPDEST PUSH1 0 JUMP until one million gas is gone.
  const loop: ExecutionRequest = {
    ...request,
    message: { to: new Uint8Array(20).fill(7), value: 0n, data: new Uint8Array(0), gas: 1_021_000n },
    stateOverrides: [{ address: new Uint8Array(20).fill(7), code: hexToBytes('5b600056') }],
  }
  const run = () => execution.call(loop, goOn)
  const { look } = JobWatch.prototype
  const watched: number[] = []
  const unwatched: number[] = []
  // The two alternate, so that both have the same conditions.
  for (let round = 0; round < 3; round++) {
    watched.push(await measure(run, 20))
    JobWatch.prototype.look = () => {}
    unwatched.push(await measure(run, 20))
    JobWatch.prototype.look = look
  }
  return [Math.min(...watched), Math.min(...unwatched)]
}

async function demoRuns(): Promise<string> {
  let estimates = 0
  let executed = 0
  let runs = 0
  for (const { message, header, parentHash } of storedMessages(store)) {
    const { from, to, value, data, accessList, blobVersionedHashes, authorizationList } = message
    const free = { from, to, value, data, accessList, blobVersionedHashes, authorizationList }
    const known = Object.fromEntries(Object.entries(free).filter(([, member]) => member !== undefined))
    const block = { number: header.number - 1, hash: parentHash, isPending: false }
    try {
      const outcome = await execution.estimate(
        { ...request, block, message: known as unknown as ExecutionRequest['message'] },
        goOn,
      )
      estimates++
      runs += outcome.runs
      if (outcome.runs > 0) executed++
    } catch (error) {
      if (!(error instanceof FaultError)) throw error
    }
  }
  return (
    `${estimates} transactions of the demo chain: ${(runs / estimates).toFixed(2)} runs an estimate; ` +
    `${(runs / executed).toFixed(2)} for the ${executed} that are no plain transfers`
  )
}

const line = (what: string, microseconds: number): void =>
  console.log(`${what.padEnd(58)} ${microseconds.toFixed(1).padStart(9)} µs`)

line('token transfer, call', await measure(() => execution.call(request, goOn)))
const trials = new CallTrials(store, scheduleOf(store))
const owner = { keyId: 'one', ran: () => undefined }
line('token transfer, call tried on the edge', await measure(async () => trials.call(request, owner)))
line('token transfer, estimate', await measure(() => execution.estimate(request, goOn)))
line('token transfer, access list', await measure(() => execution.accessList(request, goOn)))
const plain = { ...request, message: { ...request.message, to: addressOf('cal'), data: new Uint8Array(0) } }
line('plain transfer, estimate', await measure(() => execution.estimate(plain, goOn)))
line("token transfer, the library's runTx on the same state", await measure(await libraryTransfer()))
const [watched, unwatched] = await stopCheck()
line('loop of a million gas (250,000 instructions)', watched)
line('the same without a look at the clock', unwatched)
console.log(await demoRuns())
await store.close()
