/**
 * Objects among parameters: as in Go, the case of names does not matter, and the last of two members counts. Filters
 * and overrides refuse unknown members by name, because they would silently change the answer; other objects ignore
 * them.
 */
import t from 'tap'
import { FaultError } from '../../../../src/primitives/faults.js'
import { pageQuery } from '../../../../src/serving/rpc/logs/logPages.js'
import { logQuery } from '../../../../src/serving/rpc/logs/logQuery.js'
import { decodeSubscription } from '../../../../src/serving/rpc/logs/subscriptionRequest.js'
import { bundles, callsPlace } from '../../../../src/serving/rpc/params/bundleParams.js'
import { blockOverrides, callObject, stateOverrides } from '../../../../src/serving/rpc/params/callParams.js'
import { stateBlockId } from '../../../../src/serving/rpc/params/params.js'
import type { Schema } from '../../../../src/serving/rpc/params/schema.js'
import { simulation } from '../../../../src/serving/rpc/params/simulateParams.js'
import { methods } from '../../../../src/serving/rpc/registry.js'
import { traceFilter } from '../../../../src/serving/rpc/traces/parityParams.js'
import { traceCallConfig, traceConfig } from '../../../../src/serving/rpc/traces/traceParams.js'

type Json = Readonly<Record<string, unknown>>

interface Row {
  readonly what: string
  /** The titles in schemas to which the row applies. */
  readonly titles: readonly string[]
  readonly decode: (value: unknown) => unknown
  readonly object: Json
  readonly isStrict: boolean
  /** Puts the object in its place in the parameter. */
  readonly place?: (object: unknown) => unknown
}

const address = `0x${'a1'.repeat(20)}`
const hash = `0x${'b2'.repeat(32)}`
const param = (each: { decode(value: unknown, index: number): unknown }) => (value: unknown) =>
  each.decode(value, 0)
const streamLimits = { queueBytesDefault: 1, queueBytesMax: 10 } as never
const subscribe = (kind: string) => (value: unknown) =>
  JSON.stringify(decodeSubscription([kind, value], streamLimits, () => undefined))
const inCall = (name: string) => (object: unknown) => ({ to: address, [name]: [object] })
const blockMembers = {
  number: '0x1',
  time: '0x2',
  gasLimit: '0x3',
  feeRecipient: address,
  prevRandao: hash,
  baseFeePerGas: '0x4',
  blobBaseFee: '0x5',
  difficulty: '0x6',
}
const call = {
  from: address,
  to: address,
  gas: '0x1',
  maxFeePerGas: '0x2',
  maxPriorityFeePerGas: '0x3',
  maxFeePerBlobGas: '0x4',
  value: '0x5',
  nonce: '0x6',
  chainId: '0x7',
  data: '0x01',
  input: '0x01',
  accessList: [],
  blobVersionedHashes: [hash],
  authorizationList: [],
}

const rows: readonly Row[] = [
  { what: 'a call', titles: ['call object'], decode: param(callObject), object: call, isStrict: false },
  {
    what: 'a call with a gas price',
    titles: [],
    decode: param(callObject),
    object: { to: address, gasPrice: '0x1' },
    isStrict: false,
  },
  {
    what: 'an entry of an access list',
    titles: [],
    decode: param(callObject),
    object: { address, storageKeys: [hash] },
    isStrict: false,
    place: inCall('accessList'),
  },
  {
    what: 'an authorization',
    titles: [],
    decode: param(callObject),
    object: { chainId: '0x1', address, nonce: '0x2', yParity: '0x1', r: '0x3', s: '0x4' },
    isStrict: false,
    place: inCall('authorizationList'),
  },
  {
    what: 'an account override',
    titles: ['state overrides, by address'],
    decode: param(stateOverrides),
    object: { balance: '0x1', nonce: '0x2', code: '0x00', state: {}, movePrecompileToAddress: address },
    isStrict: true,
    place: (object) => ({ [address]: object }),
  },
  {
    what: 'an account override of slots',
    titles: [],
    decode: param(stateOverrides),
    object: { stateDiff: { [hash]: hash } },
    isStrict: true,
    place: (object) => ({ [address]: object }),
  },
  {
    what: 'block overrides',
    titles: ['block overrides'],
    decode: param(blockOverrides),
    object: blockMembers,
    isStrict: true,
  },
  {
    what: 'block overrides of a simulated block',
    titles: [],
    decode: param(simulation),
    object: { ...blockMembers, beaconRoot: hash, withdrawals: [{ index: '0x1' }] },
    isStrict: true,
    place: (object) => ({ blockStateCalls: [{ blockOverrides: object }] }),
  },
  {
    what: 'a withdrawal',
    titles: [],
    decode: param(simulation),
    object: { index: '0x1', validatorIndex: '0x2', address, amount: '0x3' },
    isStrict: true,
    place: (object) => ({ blockStateCalls: [{ blockOverrides: { withdrawals: [object] } }] }),
  },
  {
    what: 'a simulated block',
    titles: [],
    decode: param(simulation),
    object: {
      blockOverrides: { number: '0x1' },
      stateOverrides: { [address]: {} },
      calls: [{ to: address }],
    },
    isStrict: false,
    place: (object) => ({ blockStateCalls: [object] }),
  },
  {
    what: 'a simulation',
    titles: ['simulation'],
    decode: param(simulation),
    object: {
      blockStateCalls: [{}],
      validation: true,
      traceTransfers: true,
      returnFullTransactions: true,
    },
    isStrict: false,
  },
  {
    what: 'a bundle',
    titles: ['bundle'],
    decode: param(bundles),
    object: { transactions: [{ to: address }], blockOverride: { number: '0x1' } },
    isStrict: false,
    place: (object) => [object],
  },
  {
    what: 'a block override of a bundle',
    titles: [],
    decode: param(bundles),
    object: { blockNumber: '0x1', timestamp: '0x2', coinbase: address, random: hash, baseFee: '0x3' },
    isStrict: true,
    place: (object) => [{ transactions: [{ to: address }], blockOverride: object }],
  },
  {
    what: 'a state context',
    titles: ['state context'],
    decode: param(callsPlace),
    object: { blockNumber: '0x1', transactionIndex: 2 },
    isStrict: false,
  },
  {
    what: 'a block by its hash',
    titles: ['block'],
    decode: param(stateBlockId),
    object: { blockHash: hash, requireCanonical: true },
    isStrict: false,
  },
  {
    what: 'a block by its number',
    titles: [],
    decode: param(stateBlockId),
    object: { blockNumber: '0x1' },
    isStrict: false,
  },
  {
    what: 'a filter of logs',
    titles: ['log filter'],
    decode: param(logQuery),
    object: { address: [address], topics: [hash], fromBlock: '0x1', toBlock: '0x2' },
    isStrict: true,
  },
  {
    what: 'a filter of the logs of a block',
    titles: [],
    decode: param(logQuery),
    object: { blockHash: hash },
    isStrict: true,
  },
  {
    what: 'a page of logs',
    titles: ['log filter with pages'],
    decode: param(pageQuery),
    object: { address, fromBlock: '0x1', limit: 3, cursor: `0x${'00'.repeat(48)}` },
    isStrict: true,
  },
  {
    what: 'a subscription to logs',
    titles: [],
    decode: subscribe('logs'),
    object: { address, topics: [hash], fromBlock: '0x1', toBlock: '0x2', replayFrom: '0x1', queueBytes: 2 },
    isStrict: true,
  },
  {
    what: 'a subscription to heads',
    titles: [],
    decode: subscribe('newHeads'),
    object: { replayFrom: '0x1', policy: 'conflate', queueBytes: 2 },
    isStrict: true,
  },
  {
    what: 'a subscription to receipts',
    titles: [],
    decode: subscribe('transactionReceipts'),
    object: { transactionHashes: [hash], replayFrom: '0x1' },
    isStrict: true,
  },
  {
    what: 'a subscription to transactions',
    titles: [],
    decode: subscribe('newPendingTransactions'),
    object: { fullTransactions: true, queueBytes: 2 },
    isStrict: true,
  },
  {
    what: 'options of the opcode logger',
    titles: ['trace options'],
    decode: param(traceConfig),
    object: {
      enableMemory: true,
      disableStack: true,
      disableStorage: true,
      enableReturnData: true,
      limit: 2,
      timeout: '1s',
    },
    isStrict: false,
  },
  {
    what: 'options of the trace of a call',
    titles: [],
    decode: param(traceCallConfig),
    object: {
      tracer: 'callTracer',
      tracerConfig: { withLog: true },
      txIndex: '0x1',
      stateOverrides: { [address]: { nonce: '0x1' } },
      blockOverrides: { number: '0x1' },
    },
    isStrict: false,
  },
  ...(
    [
      ['callTracer', { onlyTopCall: true, withLog: true }],
      ['flatCallTracer', { convertParityErrors: true, includePrecompiles: true }],
      ['prestateTracer', { diffMode: true, disableCode: true, disableStorage: true }],
      ['prestateTracer', { includeEmpty: true }],
      ['erc7562Tracer', { withLog: true, ignoredOpcodes: ['0x1'] }],
    ] as const
  ).map(([tracer, object]) => ({
    what: `options of ${tracer}`,
    titles: [],
    decode: param(traceConfig),
    object,
    isStrict: false,
    place: (tracerConfig: unknown) => ({ tracer, tracerConfig }),
  })),
  {
    what: 'a filter of traces',
    titles: ['trace filter'],
    decode: param(traceFilter),
    object: {
      fromBlock: '0x1',
      toBlock: '0x2',
      fromAddress: [address],
      toAddress: [address],
      after: 1,
      count: 2,
    },
    isStrict: true,
  },
]

/** The decoded value, or the reason of the refusal. */
function outcomeOf({ decode, place = (object) => object }: Row, text: string): unknown {
  try {
    return decode(place(JSON.parse(text)))
  } catch (error) {
    if (error instanceof FaultError && error.fault.kind === 'InvalidArgument') return error.fault.why
    throw error
  }
}

const members = (entries: readonly (readonly [string, unknown])[]) =>
  `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`

for (const row of rows) {
  t.test(`${row.what}: names in another case, twice, and unknown`, async (t) => {
    const entries = Object.entries(row.object)
    const wanted = outcomeOf(row, members(entries))
    t.notOk(typeof wanted === 'string' && !wanted.startsWith('{'), 'it is read as it should be')
    const recased: readonly ((name: string) => string)[] = [
      (name) => name.toUpperCase(),
      (name) => name.toLowerCase(),
      (name) => (name[0] as string).toUpperCase() + name.slice(1),
      (name) => name.replace('s', '\u017f').replace('k', '\u212a'),
    ]
    for (const recase of recased) {
      const text = members(entries.map(([name, value]) => [recase(name), value]))
      t.strictSame(outcomeOf(row, text), wanted, text.slice(0, 60))
    }
    const twice = entries.flatMap(([name, value]) => [
      [name, null],
      [name, value],
    ]) as [string, unknown][]
    t.strictSame(outcomeOf(row, members(twice)), wanted, 'the last of one name counts')
    const inBoth = entries.flatMap(([name, value]) => [
      [name, null],
      [name.toUpperCase(), value],
    ]) as [string, unknown][]
    t.strictSame(outcomeOf(row, members(inBoth)), wanted, 'the last counts in any case')
    const unknown = outcomeOf(row, members([...entries, ['foo', 1]]))
    if (row.isStrict) t.match(unknown, /unknown member "foo"; .* takes /)
    else t.strictSame(unknown, wanted, 'what is unknown is ignored')
  })
}

/** Titles of the objects in a schema whose members are named. */
function* titlesIn(schema: unknown): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return
  const { type, title, properties } = schema as Schema
  if (typeof title === 'string' && (type === 'object' || properties !== undefined)) yield title
  for (const inner of Object.values(schema)) yield* titlesIn(inner)
}

t.test('every object that a method takes is in this table', async (t) => {
  // Keys of the first are addresses; the second is signed as it is.
  const others = ['slots by address', 'typed data (EIP-712)']
  const known = new Set([...rows.flatMap(({ titles }) => titles), ...others])
  const found = new Set<string>()
  for (const { params } of Object.values(methods)) {
    for (const { schema } of params) for (const title of titlesIn(schema)) found.add(title)
  }
  t.ok(found.size > 8)
  t.strictSame(
    [...found].filter((title) => !known.has(title)),
    [],
  )
})
