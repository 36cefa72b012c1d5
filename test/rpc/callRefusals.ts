import type { Test } from 'tap'
import type { Service } from '../service/service.js'

type ErrorCase = readonly [what: string, params: readonly unknown[], code: number, message: string | RegExp]

/** The text of each method around the reason why a message cannot start. */
const around: Readonly<Record<string, (why: string) => RegExp>> = {
  eth_call: (why) => new RegExp(`^err: ${why} \\(supplied gas [0-9]+\\)$`),
  eth_estimateGas: (why) => new RegExp(`^failed with [0-9]+ gas: ${why}$`),
  eth_createAccessList: (why) => new RegExp(`^failed to apply transaction: 0x[0-9a-f]{64} err: ${why}$`),
}

const to = `0x${'11'.repeat(20)}`
const hash = `0x01${'00'.repeat(31)}`

/** Call objects that every executing method must refuse, with geth's errors. */
const refusals: readonly ErrorCase[] = [
  ['no call', [], -32602, 'missing value for required argument 0'],
  ['null for a call', [null], -32602, 'missing value for required argument 0'],
  ['text for a call', ['0x'], -32602, 'invalid argument 0: want a call object, got string'],
  ['a list for a call', [[]], -32602, 'invalid argument 0: want a call object, got array'],
  ['a short address', [{ to: '0x11' }], -32602, /^invalid argument 0: to: hex string has length 2, want 40/],
  [
    'an address without 0x',
    [{ to: '11'.repeat(20) }],
    -32602,
    'invalid argument 0: to: hex string without 0x prefix',
  ],
  ['a number for an address', [{ from: 5 }], -32602, /^invalid argument 0: from: want a hex string/],
  [
    'a negative value',
    [{ to, value: '-0x1' }],
    -32602,
    'invalid argument 0: value: hex string without 0x prefix',
  ],
  [
    'leading zeros',
    [{ to, value: '0x01' }],
    -32602,
    'invalid argument 0: value: hex number with leading zero digits',
  ],
  ['an empty quantity', [{ to, gas: '0x' }], -32602, 'invalid argument 0: gas: hex string "0x"'],
  [
    '65 bits of gas',
    [{ to, gas: `0x1${'0'.repeat(16)}` }],
    -32602,
    'invalid argument 0: gas: hex number > 64 bits',
  ],
  [
    '257 bits of value',
    [{ to, value: `0x1${'0'.repeat(64)}` }],
    -32602,
    'invalid argument 0: value: hex number > 256 bits',
  ],
  [
    'half a byte of data',
    [{ to, data: '0x1' }],
    -32602,
    'invalid argument 0: data: hex string of odd length',
  ],
  ['data that is not hex', [{ to, input: '0xzz' }], -32602, 'invalid argument 0: input: invalid hex string'],
  [
    'such data beside a valid input',
    [{ to, input: '0x', data: '0x1' }],
    -32602,
    'invalid argument 0: data: hex string of odd length',
  ],
  [
    'two ways of paying',
    [{ to, gasPrice: '0x1', maxFeePerGas: '0x1' }],
    -32000,
    'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified',
  ],
  [
    "another chain's id",
    [{ to, chainId: '0x1' }],
    -32000,
    "chainId does not match node's (have=1, want=8433)",
  ],
  [
    'blobs without recipient',
    [{ data: '0x00', blobVersionedHashes: [hash] }],
    -32000,
    'blob transaction of type create',
  ],
  [
    'an access list that is none',
    [{ to, accessList: {} }],
    -32602,
    /^invalid argument 0: accessList: want an access list/,
  ],
  [
    'an entry without address',
    [{ to, accessList: [{ storageKeys: [] }] }],
    -32602,
    "invalid argument 0: missing required field 'address' for AccessTuple",
  ],
  [
    'an entry without keys',
    [{ to, accessList: [{ address: to }] }],
    -32602,
    "invalid argument 0: missing required field 'storageKeys' for AccessTuple",
  ],
  [
    'an authorization without parity',
    [{ to, authorizationList: [{ chainId: '0x0', address: to, nonce: '0x0', r: '0x1', s: '0x1' }] }],
    -32602,
    "invalid argument 0: missing required field 'yParity' for SetCodeAuthorization",
  ],
  ['an unknown block', [{ to }, '0xffffff'], -32000, 'header not found'],
  ['an unknown hash', [{ to }, hash], -32000, 'header for hash not found'],
  [
    'hash and number',
    [{ to }, { blockHash: hash, blockNumber: '0x1' }],
    -32602,
    /^cannot specify both BlockHash/,
  ],
]

/** Call objects of messages that cannot start, with go-ethereum's reason as a pattern. */
const unable: readonly (readonly [what: string, call: object, why: string])[] = [
  ['no blob', { blobVersionedHashes: [] }, 'blob transaction missing blob hashes'],
  [
    'a blob hash of another version',
    { blobVersionedHashes: [`0x${'00'.repeat(32)}`] },
    'blob 0 has invalid hash version',
  ],
  [
    'an empty authorization list',
    { authorizationList: [] },
    'EIP-7702 transaction with empty auth list \\(sender 0x0{40}\\)',
  ],
  [
    'value without funds',
    { from: to, value: '0x1' },
    'insufficient funds for gas \\* price \\+ value: address 0x1{40} have 0 want 1',
  ],
]

/** Members that do not affect execution, in different forms. */
const ignored: readonly (readonly [what: string, call: object])[] = [
  ...['0x02', '0x9', 'junk', '', 5, -1.5, true, [], {}, null].map(
    (type) => [`the type ${JSON.stringify(type)}`, { type }] as const,
  ),
  ['empty strings for zeros', { value: '', nonce: '', data: '' }],
  ['data beside input', { data: '0x01', input: '0x' }],
  ['members that nobody knows', { gasPrices: 5, sidecar: [] }],
]

/** Calls `method` with ignored members; all answers must equal that of the bare call. */
export async function checkIgnoredMembers(t: Test, service: Service, method: string): Promise<void> {
  const bare = await service.call(method, [{ to }])
  t.equal(bare.error, undefined)
  for (const [what, call] of ignored) {
    t.same((await service.call(method, [{ to, ...call }])).result, bare.result, what)
  }
  t.same((await service.call(method, [{ to }, 'latest', { [to]: null }])).result, bare.result, 'no override')
}

/** Calls `method` with every refused call. */
export async function checkCallRefusals(t: Test, service: Service, method: string): Promise<void> {
  for (const [what, params, code, message] of refusals) {
    const { error } = await service.call(method, params)
    t.match(error, { code, message }, what)
  }
  for (const [what, call, why] of unable) {
    const { error } = await service.call(method, [{ to, ...call }])
    t.match(error, { code: -32000, message: around[method]?.(why) }, what)
  }
}
