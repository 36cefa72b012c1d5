/** A consensus client drives a store, without a listener: payloads, choices of the head, and builds. */
import t, { type Test } from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { bytesToHex, hexToBytes, toHash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import type { ImporterOptions } from '../../../../src/sources/ingest/blocks/importer.js'
import { BlockMaker } from '../../../../src/sources/ingest/develop/blockMaker.js'
import { Engine } from '../../../../src/sources/ingest/engine/engine.js'
import { callEngine, engineMethods } from '../../../../src/sources/ingest/engine/engineMethods.js'
import { RejectedBlocks } from '../../../../src/sources/ingest/engine/rejectedBlocks.js'
import {
  type ChainMaker,
  type MadeBlock,
  mergedConfig,
  testGenesis,
  testKeys,
} from '../../../ingest/chainMaker.js'
import { payloadOf } from '../../../ingest/payloads.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { differences, dumpStore } from '../../../store/storeDump.js'
import { change, make, merged, mustBeSound, openImporter, writes } from './importing.js'

const zero = `0x${'00'.repeat(32)}`
const beaconRoot = `0x${'be'.repeat(32)}`

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
type Answer = any

async function openEngine(t: Test, maker: ChainMaker, options: ImporterOptions = {}) {
  const { store, schedule, importer } = await openImporter(t, maker, options)
  const said: string[] = []
  let choices = 0
  const say = (text: string) => said.push(text)
  const onChoice = async () => {
    choices++
  }
  const blockMaker = new BlockMaker(store, schedule, say)
  const engine = new Engine({ store, schedule, importer, maker: blockMaker, events: { onChoice, say } })
  const service = { engine, store, schedule, maker: blockMaker }
  const call = async (method: string, ...params: readonly unknown[]): Promise<Answer> => {
    const answer = JSON.parse(JSON.stringify(await callEngine(service, method, params)))
    return answer.error?.code ?? answer.result
  }
  const give = (made: MadeBlock) => call('engine_newPayloadV4', payloadOf(made), [], beaconRoot, [])
  const choose = (head: MadeBlock, safe?: MadeBlock, finalized?: MadeBlock, attributes: unknown = null) =>
    call(
      'engine_forkchoiceUpdatedV3',
      {
        headBlockHash: bytesToHex(head.hash),
        safeBlockHash: safe === undefined ? zero : bytesToHex(safe.hash),
        finalizedBlockHash: finalized === undefined ? zero : bytesToHex(finalized.hash),
      },
      attributes,
    )
  return { store, call, give, choose, said, choices: () => choices, maker: blockMaker }
}

t.test(
  'a random consensus client gives blocks and chooses heads, and the store agrees with its choice',
  async (t) => {
    const maker = await make(t, merged())
    const trunk = await maker.extendBy(maker.genesis, writes(5n, 4))
    const first = await maker.extendBy(trunk[1] as MadeBlock, writes(6n, 3))
    const second = await maker.extendBy(first[0] as MadeBlock, writes(7n, 3))
    const all = [...trunk, ...first, ...second]
    const parentOf = (made: MadeBlock) =>
      [maker.genesis, ...all].find(({ hash }) =>
        Buffer.from(hash).equals(made.block.header.parentHash),
      ) as MadeBlock
    const chainOf = (made: MadeBlock): MadeBlock[] =>
      made.number === 0 ? [made] : [...chainOf(parentOf(made)), made]
    const { store, give, choose } = await openEngine(t, maker)
    const dice = new Dice(propertyRuns(1).seed as number)
    const given = new Set<MadeBlock>([maker.genesis])
    let head = maker.genesis
    let finalized: MadeBlock | undefined
    for (let step = 0; step < 120; step++) {
      const made = all[dice.throw(all.length)] as MadeBlock
      if (dice.throw(2) === 0) {
        const { status, latestValidHash } = await give(made)
        const isLinked = given.has(parentOf(made))
        t.equal(status, isLinked || given.has(made) ? 'VALID' : 'SYNCING', `step ${step}`)
        if (status !== 'VALID') continue
        t.equal(latestValidHash, bytesToHex(made.hash))
        given.add(made)
        continue
      }
      const chain = chainOf(made)
      const marked = chain[dice.throw(chain.length)] as MadeBlock
      const isForeign = dice.throw(8) === 0 && given.has(made)
      const other = all.find((each) => given.has(each) && !chain.includes(each))
      const wrong = isForeign ? other : undefined
      const answer = await choose(made, marked, wrong ?? marked)
      const isBelow =
        finalized !== undefined &&
        chainOf(head).includes(finalized) &&
        chainOf(head).includes(made) &&
        made.number < finalized.number
      if (!given.has(made)) t.equal(answer.payloadStatus.status, 'SYNCING', `step ${step}`)
      else if (isBelow)
        t.equal(answer.payloadStatus.status, 'VALID', `step ${step}, below the finalized block`)
      else if (wrong !== undefined) t.equal(answer, -38002, `step ${step}`)
      else {
        t.equal(answer.payloadStatus.status, 'VALID', `step ${step}`)
        head = made
        finalized = marked
      }
      t.equal(bytesToHex(store.head.hash), bytesToHex(head.hash), `step ${step}: the head`)
      const stored = store.readMarker('finalized')
      t.equal(
        stored && bytesToHex(stored.hash),
        finalized && bytesToHex(finalized.hash),
        `step ${step}: finalized`,
      )
    }
    mustBeSound(t, store)
  },
)

t.test('an invalid block and its descendants are rejected, and are remembered up to a limit', async (t) => {
  const maker = await make(t, merged())
  const [one, two, three] = (await maker.extendBy(maker.genesis, writes(5n, 3))) as [
    MadeBlock,
    MadeBlock,
    MadeBlock,
  ]
  const { store, give, choose, said } = await openEngine(t, maker)
  await give(one)
  await choose(one)
  const bad = change(two, { stateRoot: keccak256(Buffer.from('lie')) })
  const child = change(three, { parentHash: bad.hash })
  const before = dumpStore(store)
  for (const made of [bad, bad, child]) {
    const { status, latestValidHash, validationError } = await give(made)
    t.equal(status, 'INVALID')
    t.equal(latestValidHash, bytesToHex(one.hash))
    t.match(validationError, /stateRoot is/)
    t.equal((await choose(made)).payloadStatus.status, 'INVALID')
  }
  t.strictSame(differences(dumpStore(store), before), [])
  t.equal(said.length, 1, 'the operator gets one sentence')
  t.equal((await give(two)).status, 'VALID', 'the right block is taken')
  const rejected = new RejectedBlocks(2)
  const names = ['a', 'b', 'c'].map((name) => toHash32(keccak256(Buffer.from(name))))
  for (const name of names) rejected.add(name, { latestValidHash: name, why: 'x' })
  t.strictSame(
    names.map((name) => rejected.find(name) !== undefined),
    [false, true, true],
  )
})

t.test('a branch that is too long to be executed is refused, and is not invalid', async (t) => {
  const maker = await make(t, merged())
  const trunk = await maker.extendBy(maker.genesis, writes(5n, 4))
  const branch = await maker.extendBy(maker.genesis, writes(6n, 4))
  const { store, give, choose } = await openEngine(t, maker, { branchBlocksMax: 2, besideBytesMax: 1 })
  const [one, two, three, four] = branch as [MadeBlock, MadeBlock, MadeBlock, MadeBlock]
  for (const made of [one, two]) t.equal((await give(made)).status, 'VALID')
  t.equal((await give(three)).status, 'ACCEPTED', 'its parent has no state here')
  await choose(two)
  for (const made of [three, four]) t.equal((await give(made)).status, 'VALID')
  await choose(four)
  for (const made of trunk) {
    t.equal((await give(made)).status, 'VALID')
    await choose(made)
  }
  const before = dumpStore(store)
  t.equal(await choose(four), -38006)
  t.strictSame(differences(dumpStore(store), before), [])
  t.equal((await choose(two)).payloadStatus.status, 'VALID', 'a shorter one is taken')
  t.equal((await choose(four)).payloadStatus.status, 'VALID', 'and then the rest of it')
  mustBeSound(t, store)
})

t.test('a block is built on the head that was chosen, and is valid here', async (t) => {
  const maker = await make(t, merged())
  const [one] = (await maker.extendBy(maker.genesis, writes(5n, 1))) as [MadeBlock]
  const { call, give, choose, store } = await openEngine(t, maker)
  await give(one)
  const attributes = {
    timestamp: `0x${(one.block.header.timestamp + 12n).toString(16)}`,
    prevRandao: beaconRoot,
    suggestedFeeRecipient: `0x${'fe'.repeat(20)}`,
    withdrawals: [{ index: '0x0', validatorIndex: '0x1', address: `0x${'ab'.repeat(20)}`, amount: '0x5' }],
    parentBeaconBlockRoot: beaconRoot,
  }
  const { payloadId } = await choose(one, undefined, undefined, attributes)
  t.equal(
    (await choose(one, undefined, undefined, attributes)).payloadId,
    payloadId,
    'the same attributes, the same id',
  )
  const built = await call('engine_getPayloadV4', payloadId)
  t.match(built, { blockValue: '0x0', shouldOverrideBuilder: false, executionRequests: [] })
  t.match(built.executionPayload, {
    feeRecipient: attributes.suggestedFeeRecipient,
    withdrawals: attributes.withdrawals,
  })
  t.equal(
    store.hasHeader(toHash32(Buffer.from(built.executionPayload.blockHash.slice(2), 'hex'))),
    false,
    'it is not stored',
  )
  t.equal((await call('engine_newPayloadV4', built.executionPayload, [], beaconRoot, [])).status, 'VALID')
  t.equal(await call('engine_getPayloadV3', payloadId), -38005)
  t.equal(await call('engine_getPayloadV4', '0x0000000000000001'), -38001)
  // The limit of remembered builds; the oldest are dropped.
  const ids: string[] = []
  for (let later = 1; later <= 11; later++) {
    const timestamp = `0x${(one.block.header.timestamp + 12n + BigInt(later)).toString(16)}`
    ids.push((await choose(one, undefined, undefined, { ...attributes, timestamp })).payloadId)
  }
  t.equal(await call('engine_getPayloadV4', payloadId), -38001)
  t.equal(await call('engine_getPayloadV4', ids[0]), -38001)
  t.match(await call('engine_getPayloadV4', ids[1]), { blockValue: '0x0' })
})

t.test('a transaction with blobs waits again, with them, when its block leaves the chain', async (t) => {
  const maker = await make(t, merged())
  const engine = await openEngine(t, maker)
  const { call, choose } = engine
  const account = privateKeyToAccount(bytesToHex(testKeys[0] as Uint8Array))
  const versionedHash = `0x01${'11'.repeat(31)}` as const
  const raw = await account.signTransaction({
    type: 'eip4844',
    chainId: 7357,
    nonce: 0,
    to: account.address,
    gas: 21_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 1n,
    maxFeePerBlobGas: 10n ** 9n,
    blobVersionedHashes: [versionedHash],
    // Only the listener checks proofs.
    sidecars: [{ blob: '0x01', commitment: '0x02', proof: '0x03' }],
  })
  const sent = hexToBytes(raw)
  engine.maker.take(sent, 1)
  const { payloadId } = await choose(maker.genesis, undefined, undefined, {
    timestamp: '0xc',
    prevRandao: beaconRoot,
    suggestedFeeRecipient: account.address,
    withdrawals: [],
    parentBeaconBlockRoot: beaconRoot,
  })
  const { executionPayload } = await call('engine_getPayloadV4', payloadId)
  t.equal(executionPayload.transactions.length, 1)
  t.match(await call('engine_newPayloadV4', executionPayload, [versionedHash], beaconRoot, []), {
    status: 'VALID',
  })
  await choose({ ...maker.genesis, hash: hexToBytes(executionPayload.blockHash) })
  t.ok(engine.maker.waiting.isEmpty, 'it is in the block')
  await choose(maker.genesis)
  t.strictSame(
    engine.maker.waiting.all.filter(({ blobCount }) => blobCount > 0).map(({ raw }) => bytesToHex(raw)),
    [raw],
  )
})

t.test(
  'random mutations of a payload are refused by their form, or are invalid; nothing is stored',
  async (t) => {
    const maker = await make(t, merged())
    const [one, two] = (await maker.extendBy(maker.genesis, writes(5n, 2))) as [MadeBlock, MadeBlock]
    const { store, call, give, choose } = await openEngine(t, maker)
    await give(one)
    await choose(one)
    const before = dumpStore(store)
    const { numRuns = 0, seed = 0 } = propertyRuns(1_000)
    const dice = new Dice(seed)
    const right = payloadOf(two)
    const names = Object.keys(right)
    const mutate = (value: unknown): unknown => {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      const at = 2 + dice.throw(Math.max(text.length - 2, 1))
      const digit = dice.throw(16).toString(16)
      const choices = [
        () => `${text.slice(0, at)}${digit}${text.slice(at + 1)}`,
        () => text.slice(0, at),
        () => `${text}${digit}${digit}`,
        () => text.slice(2),
        () => null,
        () => dice.throw(1_000),
        () => [],
        () => ({}),
        () => [text],
        () => '0x',
        () => `0x${'f'.repeat(dice.throw(80))}`,
      ]
      return (choices[dice.throw(choices.length)] as () => unknown)()
    }
    const counts = new Map<unknown, number>()
    for (let run = 0; run < numRuns; run++) {
      const payload = { ...right }
      const name = names[dice.throw(names.length)] as string
      payload[name] = mutate(payload[name])
      if (JSON.stringify(payload[name]) === JSON.stringify(right[name])) continue
      const params: unknown[] = [payload, [], beaconRoot, []]
      if (dice.throw(10) === 0) params[1 + dice.throw(3)] = mutate(beaconRoot)
      const answer = await call('engine_newPayloadV4', ...params)
      const outcome = answer.status ?? answer
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
      t.ok(
        [-32602, -38005, 'INVALID', 'SYNCING'].includes(outcome),
        `${name}: ${JSON.stringify(payload[name])} ${outcome}`,
      )
    }
    t.ok((counts.get(-32602) ?? 0) > 0 && (counts.get('INVALID') ?? 0) > 0, JSON.stringify([...counts]))
    t.strictSame(differences(dumpStore(store), before), [])
    t.equal((await give(two)).status, 'VALID')
  },
)

t.test('a payload with the time of another fork is of that fork', async (t) => {
  const times = { shanghaiTime: 100, cancunTime: 200, pragueTime: 300 }
  const maker = await make(t, testGenesis({ ...mergedConfig(), ...times }, { difficulty: '0x0' }))
  const [made] = (await maker.extendBy(maker.genesis, [{ after: 400 }])) as [MadeBlock]
  const { call } = await openEngine(t, maker)
  const early = { ...payloadOf(made), timestamp: '0x1' }
  t.equal(await call('engine_newPayloadV4', early, [], beaconRoot, []), -38005)
  t.equal(await call('engine_newPayloadV4', { ...early, withdrawals: null }, [], beaconRoot, []), -32602)
})

t.test('the transition configuration is that of the genesis; another one is an error', async (t) => {
  const maker = await make(t, merged())
  const { call } = await openEngine(t, maker)
  const ask = (total: string, block = zero) =>
    call('engine_exchangeTransitionConfigurationV1', {
      terminalTotalDifficulty: total,
      terminalBlockHash: block,
      terminalBlockNumber: '0x7',
    })
  t.strictSame(await ask('0x0'), {
    terminalTotalDifficulty: '0x0',
    terminalBlockHash: zero,
    terminalBlockNumber: '0x0',
  })
  t.equal(await ask('0x1'), -32000)
  t.equal(await ask('0x0', beaconRoot), -32000)
})

t.test(
  'every method refuses wrong parameters by code, and exchangeCapabilities names all others',
  async (t) => {
    const maker = await make(t, merged())
    const { call } = await openEngine(t, maker)
    const names: string[] = await call('engine_exchangeCapabilities', [])
    t.strictSame([...names, 'engine_exchangeCapabilities'].sort(), [...engineMethods.keys()].sort())
    for (const method of engineMethods.keys()) {
      for (const params of [[], [null], [1], ['x'], [{}, {}, {}, {}, {}]])
        t.equal(await call(method, ...params), -32602, `${method} ${JSON.stringify(params)}`)
    }
    t.equal(await call('engine_newPayloadV9'), -32601)
  },
)
