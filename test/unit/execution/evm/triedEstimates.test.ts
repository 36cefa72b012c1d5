/** Estimates that are tried on the calling thread, beside the same messages estimated by jobs. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { ForkSchedule, parseGenesisConfig } from '../../../../src/data/chain/forks.js'
import { CallTrials } from '../../../../src/execution/evm/messages/callTrials.js'
import type {
  CallMessage,
  ExecutionRequest,
} from '../../../../src/execution/evm/messages/executionRequest.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { storedMessages } from '../../../store/storedMessages.js'
import { addressOf, demoExecution, demoHead, demoStore, goOn, requestOf, settled } from './demoExecution.js'

const schedule = new ForkSchedule(parseGenesisConfig(JSON.parse(demoStore.readIdentity()?.config ?? '')))
const trials = new CallTrials(demoStore, schedule)
const owner = { keyId: 'one', ran: () => undefined }

/** Blocks and accounts of the demo chain, with and without code. */
const messages = [...storedMessages(demoStore)]
const accounts = [
  ...new Set(messages.flatMap(({ message: { from, to } }) => [from, to])),
  addressOf(1),
  undefined,
]

t.test('faults and results are those of jobs, for all fees, values, data and blocks', async (t) => {
  const { numRuns, seed } = propertyRuns(600)
  const dice = new Dice(seed as number)
  const oneOf = <T>(...choices: readonly T[]): T => choices[dice.throw(choices.length)] as T
  const different: unknown[] = []
  let answered = 0
  let refused = 0
  let ran = 0
  for (let i = 0; i < (numRuns as number); i++) {
    const { header, parentHash } = oneOf(...messages)
    const block = oneOf(
      { ...demoHead, isPending: false },
      { ...demoHead, isPending: true },
      { ...demoHead, isPending: false },
      { number: header.number - 1, hash: parentHash, isPending: false },
    )
    const real = oneOf(...messages).message
    const isReal = dice.throw(2) === 0
    const data = new Uint8Array(oneOf(0, 0, 1, 33, 4_096, 4_097)).fill(dice.throw(2))
    const members = {
      from: isReal ? real.from : oneOf(...accounts),
      to: isReal ? real.to : oneOf(...accounts),
      gas: oneOf(undefined, undefined, undefined, 0n, 20_999n, 21_000n, 21_100n, 60_000n, 10n ** 9n),
      gasPrice: oneOf(undefined, undefined, 0n, 1n, 10n ** 11n),
      maxFeePerGas: oneOf(undefined, undefined, undefined, 10n ** 11n),
      data: isReal ? real.data : data,
      value: oneOf(isReal ? real.value : 0n, 0n, 1n, 10n ** 18n, 2n ** 200n),
    }
    if (members.gasPrice !== undefined) members.maxFeePerGas = undefined
    const known = Object.entries(members).filter(([, member]) => member !== undefined)
    const message = Object.fromEntries(known) as unknown as CallMessage
    const marginBps = oneOf(0, 0, 2_000)
    const { stateOverrides, ...request } = requestOf(message, [], { block, marginBps })
    // Each estimate has a new owner, so that long ones cause no debt.
    const gas = await settled(() => trials.estimate(request, { ...owner, keyId: String(i) }))
    if (gas !== undefined) {
      answered++
      if (typeof gas !== 'bigint') refused++
      let runs = 0
      const executed = await settled(async () => {
        const outcome = await demoExecution.estimate(request, goOn)
        runs = outcome.runs
        return outcome.gas
      })
      if (runs > 0) ran++
      if (!isDeepStrictEqual(executed, gas)) different.push({ i, message, block, gas, executed })
    }
  }
  t.strictSame(different, [])
  t.ok(answered > 20 && refused > 3, `${answered} answered, ${refused} of them with a fault`)
  t.ok(ran > 10, `${ran} of code`)
})

t.test('what needs more than the rows of the head is left to jobs', async (t) => {
  const plain: Partial<CallMessage> = { to: addressOf(1) }
  const { stateOverrides, ...request } = requestOf(plain)
  t.equal(trials.estimate(request, owner), 21_000n)
  const authorization = { chainId: 1n, address: addressOf(2), nonce: 0n, yParity: 0, r: 1n, s: 1n }
  const number = demoHead.number - 1
  const hash = demoStore.readCanonicalHash(number) as Uint8Array
  const others: Readonly<Record<string, ExecutionRequest>> = {
    'a creation': requestOf({}, undefined),
    'an authorization': { ...request, message: { ...request.message, authorizationList: [authorization] } },
    'an override of state': {
      ...request,
      stateOverrides: [{ address: addressOf(1), code: Uint8Array.of(0) }],
    },
    'an override of the block': { ...request, blockOverrides: { number: 1n } },
    'long data': { ...request, message: { ...request.message, data: new Uint8Array(4_097) } },
    'an older block': { ...request, block: { number, hash, isPending: false } },
  }
  for (const [what, other] of Object.entries(others)) {
    t.equal(trials.estimate(other, owner), undefined, what)
  }
})
