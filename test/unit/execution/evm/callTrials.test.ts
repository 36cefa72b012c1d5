/** Calls and estimates that are tried on the calling thread, compared with the same calls executed as jobs. */
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { ForkSchedule, parseGenesisConfig } from '../../../../src/data/chain/forks.js'
import type { ChainReader } from '../../../../src/data/store/chainReader.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { CallTrials } from '../../../../src/execution/evm/messages/callTrials.js'
import { Execution } from '../../../../src/execution/evm/messages/execution.js'
import type {
  CallMessage,
  ExecutionRequest,
} from '../../../../src/execution/evm/messages/executionRequest.js'
import { precompileNumbers } from '../../../../src/execution/evm/precompiles/precompiles.js'
import { bytesToHex, concatBytes, hexToBytes, padLeft } from '../../../../src/primitives/bytes.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { mergedConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { storedMessages } from '../../../store/storedMessages.js'
import { assemble, type Item, returnTop } from './assembly.js'
import {
  addressOf,
  demoExecution,
  demoHead,
  demoStore,
  goOn,
  limits,
  requestOf,
  settled,
} from './demoExecution.js'

/** Counts its charges for failed trials. */
class Owner {
  failures = 0
  constructor(readonly keyId = 'one') {}
  ran(): void {
    this.failures++
  }
}

const scheduleOf = (store: ChainReader): ForkSchedule =>
  new ForkSchedule(parseGenesisConfig(JSON.parse(store.readIdentity()?.config ?? '')))

const messages = [...storedMessages(demoStore)]

t.test(
  'outcomes and faults are those of jobs, for all messages of the demo chain and variants',
  async (t) => {
    const { numRuns, seed } = propertyRuns(1_500)
    const dice = new Dice(seed as number)
    const oneOf = <T>(...choices: readonly T[]): T => choices[dice.throw(choices.length)] as T
    const trials = new CallTrials(demoStore, scheduleOf(demoStore))
    const different: unknown[] = []
    let tried = 0
    let drafted = 0
    let failed = 0
    for (let i = 0; i < (numRuns as number); i++) {
      const { message } = messages[i % messages.length] as (typeof messages)[number]
      const { from, to, value } = message
      const data = Uint8Array.from(message.data)
      if (dice.throw(4) === 0 && data.length > 0) data[dice.throw(data.length)] = dice.throw(256)
      const members = {
        from: oneOf(from, from, addressOf(1), undefined),
        to,
        data,
        value: oneOf(value, 0n, 10n ** 30n),
        gas: oneOf(undefined, undefined, undefined, 21_000n, 30_000n, 60_000n),
        gasPrice: oneOf(undefined, undefined, undefined, 10n ** 11n),
      }
      const known = Object.entries(members).filter(([, member]) => member !== undefined)
      const block = { ...demoHead, isPending: dice.throw(3) === 0 }
      const asked = Object.fromEntries(known) as unknown as CallMessage
      const { stateOverrides, ...request } = requestOf(asked, [], { block })
      const outcome = await settled(() => trials.call(request, new Owner(String(i))))
      if (outcome === undefined) continue
      tried++
      const executed = await settled(() => demoExecution.call(request, goOn))
      if ((executed as { failure?: unknown }).failure !== undefined) failed++
      if (!isDeepStrictEqual(outcome, executed)) different.push({ i, asked, outcome, executed })
      const draft = { ...request, tip: BigInt(dice.throw(100)), nonce: BigInt(dice.throw(100)) }
      const filled = await settled(() => trials.fill(draft, new Owner(String(i))))
      if (filled === undefined) continue
      drafted++
      const byJob = await settled(() => demoExecution.fill(draft, goOn))
      if (!isDeepStrictEqual(filled, byJob)) different.push({ i, asked, filled, byJob })
    }
    t.strictSame(different, [])
    t.ok(tried > (numRuns as number) / 3, `${tried} tried`)
    t.ok(failed > 10, `${failed} of them failed`)
    t.ok(drafted > (numRuns as number) / 6, `${drafted} drafted`)
  },
)

t.test('what needs more than the rows of the head is left to jobs', async (t) => {
  const trials = new CallTrials(demoStore, scheduleOf(demoStore))
  const owner = new Owner()
  const { stateOverrides, ...request } = requestOf({ to: addressOf(1) })
  t.same(trials.call(request, owner)?.returnData, new Uint8Array(0))
  const authorization = { chainId: 1n, address: addressOf(2), nonce: 0n, yParity: 0, r: 1n, s: 1n }
  const message = (members: Partial<CallMessage>) => ({
    ...request,
    message: { ...request.message, ...members },
  })
  const { to, ...creation } = request.message
  const others: Readonly<Record<string, ExecutionRequest>> = {
    'a creation': { ...request, message: creation },
    'an override of state': { ...request, stateOverrides: [] },
    'an override of the block': { ...request, blockOverrides: {} },
    'an access list': message({ accessList: [] }),
    authorizations: message({ authorizationList: [authorization] }),
    blobs: message({ blobVersionedHashes: [new Uint8Array(32)] }),
    'long data': message({ data: new Uint8Array(4_097) }),
    'an older block': {
      ...request,
      block: {
        number: demoHead.number - 1,
        hash: demoStore.readCanonicalHash(demoHead.number - 1) as Uint8Array,
        isPending: false,
      },
    },
  }
  for (const [what, other] of Object.entries(others)) t.equal(trials.call(other, owner), undefined, what)
  t.equal(owner.failures, 0)
})

const addressAt = (index: number): Uint8Array => padLeft(Uint8Array.of(0xbb, index >> 8, index), 20)

/** A store whose genesis has these codes at {@link addressAt}, and a request for a call of one. */
function storeWith(t: Test, codes: readonly Uint8Array[]) {
  const alloc = Object.fromEntries(
    codes.map((code, index) => [
      bytesToHex(addressAt(index)),
      { balance: '0x0', nonce: '0x1', code: bytesToHex(code) },
    ]),
  )
  const genesis = testGenesis({ ...mergedConfig(), osakaTime: 0 }, { alloc, difficulty: '0x0' })
  const { identity, blockDiff } = parseGenesis(JSON.stringify(genesis))
  const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  store.initialize(identity, blockDiff)
  const head = store.readHead()
  if (head === undefined) throw new Error('a store without a head')
  const callOf = (index: number, gas = 30_000_000n, data = new Uint8Array(0)): ExecutionRequest => ({
    block: { ...head, isPending: false },
    message: { to: addressAt(index), value: 0n, data, gas },
    gasDefault: gas,
    gasMax: gas,
  })
  return { store, callOf, trials: new CallTrials(store, scheduleOf(store)) }
}

const loopOf = (...body: readonly Item[]) => assemble('JUMPDEST', ...body, 0, 'JUMP')
const raw = (hex: string) => hexToBytes(hex)
const seven = concatBytes(assemble(7), returnTop)

/** Executions that would block the thread for long: by steps, memory, depth, reads and precompiled contracts. */
const hostile: Readonly<Record<string, Uint8Array>> = {
  'a loop': loopOf(),
  'a loop of hashes': raw('5b604060002050600056'),
  'a loop of divisions': raw('5b60055f1904505f56'),
  'a loop of products': raw('5b5f195f195f1909505f56'),
  'a loop of powers': raw('5b5f195f190a505f56'),
  'one hash of a megabyte': assemble(2 ** 20, 0, 'KECCAK256', 'POP', 'STOP'),
  'memory in one step': assemble(1, 2 ** 21, 'MSTORE', 'STOP'),
  'memory of nested frames': assemble(1, 20_000, 'MSTORE', 0, 0, 0, 0, 0, 'ADDRESS', 'GAS', 'CALL', 'STOP'),
  'calls of itself': loopOf(0, 0, 0, 0, 0, 'ADDRESS', 'GAS', 'CALL', 'POP'),
  'creations of much initcode': loopOf(49_152, 0, 0, 'CREATE', 'POP'),
  'slots, each another': raw('5b5a5450600056'),
  'accounts, each another': loopOf('GAS', 'BALANCE', 'POP'),
  logs: loopOf(1_000, 0, 'LOG0'),
  'transient slots': loopOf(1, 'GAS', 'TSTORE'),
}

t.test('a long execution is given up, and the next call is as if it had not been', async (t) => {
  const names = Object.keys(hostile)
  const { store, callOf, trials } = storeWith(t, [seven, ...Object.values(hostile)])
  const execution = new Execution(store, limits)
  const expected = await execution.call(callOf(0), goOn)
  for (const [index, name] of names.entries()) {
    const owner = new Owner(name)
    t.equal(trials.call(callOf(index + 1), owner), undefined, name)
    t.equal(owner.failures, 1, `${name} is paid for`)
    t.same(trials.call(callOf(0), owner), expected, `after ${name}`)
  }
})

t.test('so is a long estimate, all its runs together', async (t) => {
  const names = Object.keys(hostile)
  // Returns early with more gas than 50,000, and else consumes all: so that a search has to find the limit.
  const choosy = assemble(50_000, 'GAS', 'GT', 9, 'JUMPI', 'INVALID', 'JUMPDEST', 'STOP')
  const { store, callOf, trials } = storeWith(t, [seven, ...Object.values(hostile), choosy])
  const execution = new Execution(store, limits)
  const { gas } = await execution.estimate(callOf(0), goOn)
  for (const [index, name] of names.entries()) {
    const owner = new Owner(name)
    t.equal(trials.estimate(callOf(index + 1), owner), undefined, name)
    t.equal(owner.failures, 1, `${name} is paid for`)
    t.equal(trials.estimate(callOf(index + 1), owner), undefined, `${name} again`)
    t.equal(owner.failures, 1, `${name} is not tried again`)
    t.equal(trials.estimate(callOf(0), owner), gas, `after ${name}`)
  }
  const searched = await execution.estimate(callOf(names.length + 1), goOn)
  t.ok(searched.runs > 3, `${searched.runs} runs`)
  t.equal(trials.estimate(callOf(names.length + 1), new Owner()), searched.gas)
})

/**
 * Most gas, in steps of a thousand, with which a trial of this code ends: then it is out of gas. Each attempt is made
 * with a new record, so that none is refused untried.
 */
function gasTried(store: ChainReader, request: (gas: bigint) => ExecutionRequest): number {
  const trialOf = (gas: number) =>
    new CallTrials(store, scheduleOf(store)).call(request(BigInt(gas) * 1_000n), new Owner())
  let low = 21
  let high = 1_000
  while (low + 1 < high) {
    const half = (low + high) >> 1
    if (trialOf(half) === undefined) high = half
    else low = half
  }
  return low * 1_000 - 21_000
}

t.test('the budget is 200,000 gas of cheap instructions, and less gas of slow ones', (t) => {
  const { store, callOf } = storeWith(t, Object.values(hostile))
  const gasOf = (name: string) => {
    const index = Object.keys(hostile).indexOf(name)
    return gasTried(store, (gas) => callOf(index, gas))
  }
  const cheap = gasOf('a loop')
  t.ok(cheap >= 190_000 && cheap <= 211_000, `${cheap} gas of a loop`)
  for (const [name, most] of [
    ['a loop of hashes', 60_000],
    ['a loop of divisions', 70_000],
    ['a loop of products', 60_000],
    ['a loop of powers', 70_000],
  ] as const) {
    const gas = gasOf(name)
    t.ok(gas > 10_000 && gas <= most, `${gas} gas of ${name}`)
  }
  t.end()
})

t.test('a trial reads 62 rows at most', (t) => {
  const { store, callOf } = storeWith(t, [raw('5b5a5450600056'), loopOf('GAS', 'BALANCE', 'POP')])
  for (const index of [0, 1]) {
    let reads = 0
    const counting = new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        if (name === 'readSlot' || name === 'readAccount') reads++
        return member.bind(target)
      },
    })
    t.equal(new CallTrials(counting, scheduleOf(store)).call(callOf(index), new Owner()), undefined)
    t.ok(reads > 20 && reads <= 62, `${reads} rows`)
  }
  t.end()
})

t.test('of the precompiled contracts only short ones are tried', async (t) => {
  const callPrecompile = (number: number) => assemble(32, 0, 128, 0, 0, number, 'GAS', 'CALL', 'POP', 'MSIZE')
  const numbers = precompileNumbers('osaka')
  const { store, callOf, trials } = storeWith(
    t,
    numbers.map((number) => concatBytes(callPrecompile(number), returnTop)),
  )
  const execution = new Execution(store, limits)
  const tried: number[] = []
  for (const [index, number] of numbers.entries()) {
    const outcome = trials.call(callOf(index), new Owner(String(number)))
    if (outcome === undefined) continue
    tried.push(number)
    t.same(outcome, await execution.call(callOf(index), goOn), `contract ${number}`)
  }
  t.same(tried, [1, 2, 3, 4])
})

t.test('a function whose trial failed is passed on untried for a while', (t) => {
  const { callOf, trials } = storeWith(t, [loopOf(), seven])
  const owner = new Owner()
  for (let i = 0; i <= 100; i++) t.equal(trials.call(callOf(0), owner), undefined)
  t.equal(owner.failures, 1)
  t.equal(trials.call(callOf(0), owner), undefined)
  t.equal(owner.failures, 2, 'then it is tried again')
  t.ok(trials.call(callOf(1), owner), 'and others are tried all the while')
  t.end()
})

t.test('a function that was not short is passed on untried for a while, at no cost to its key', (t) => {
  const { callOf, trials } = storeWith(t, [loopOf()])
  const owner = new Owner()
  // The calls run out of gas after 79,000 and 159,000 gas.
  for (let i = 0; i < 3; i++) t.ok(trials.call(callOf(0, 100_000n), owner))
  for (let i = 0; i < 2; i++) t.ok(trials.call(callOf(0, 180_000n), owner))
  for (let i = 0; i < 100; i++) t.equal(trials.call(callOf(0, 100_000n), owner), undefined)
  t.ok(trials.call(callOf(0, 100_000n), owner))
  t.equal(owner.failures, 0)
  t.end()
})

t.test('a function that is long because it reads rows for the first time is tried on', (t) => {
  // 35 slots of 32 steps each.
  const reads = Array.from({ length: 35 }, (_, slot): Item[] => [slot, 'SLOAD', 'POP']).flat()
  const { callOf, trials } = storeWith(t, [assemble(...reads, 'STOP')])
  const owner = new Owner()
  for (let i = 0; i < 5; i++) t.ok(trials.call(callOf(0), owner))
  t.equal(owner.failures, 0)
  t.end()
})

t.test('a key whose trials fail may try no more, until its calls have paid for that; others may', (t) => {
  const { callOf, trials } = storeWith(t, [loopOf(), seven])
  const attacker = new Owner('attacker')
  // Each call has a new selector, so that none is known.
  const attack = (n: number) => trials.call(callOf(0, undefined, Uint8Array.of(n >> 8, n, 1, 1)), attacker)
  for (let n = 0; n < 2_000; n++) t.equal(attack(n), undefined)
  t.ok(attacker.failures >= 8 && attacker.failures <= 8 + 2_000 / 100, `${attacker.failures} trials`)
  t.equal(trials.call(callOf(1), attacker), undefined)
  t.ok(trials.call(callOf(1), new Owner('victim')))
  for (let n = 0; n < 1_000; n++) trials.call(callOf(1), attacker)
  t.ok(trials.call(callOf(1), attacker))
  t.end()
})
