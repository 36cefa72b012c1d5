import { addressOf } from './demoChain.js'
import { person, word } from './simulating.js'

const bea = addressOf('bea')
const cal = addressOf('cal')
const funds = { [bea]: { balance: '0xde0b6b3a7640000' } }
const free = { maxFeePerGas: '0x0', maxPriorityFeePerGas: '0x0' }
/** What is refused as a whole: block, validation, code and message. */
export const simulationRefusals: readonly (readonly [
  what: string,
  blocks: unknown,
  isValidated: boolean,
  code: number,
  message: RegExp,
])[] = [
  ['no blocks', [], false, -32602, /^empty input$/],
  ['nothing', null, false, -32602, /^empty input$/],
  ['257 blocks', Array(257).fill({}), false, -38026, /^too many blocks$/],
  ['a far block', [{ blockOverrides: { number: '0x1000' } }], false, -38026, /^too many blocks$/],
  [
    'a far block at 2^256 − 1',
    [{ blockOverrides: { number: word(2n ** 256n - 1n).replace(/^0x0*/, '0x') } }],
    false,
    -38026,
    /./,
  ],
  [
    '5,001 calls',
    [{ calls: Array(5_001).fill({}) }],
    false,
    -38026,
    /^too many calls in block: 5001 > 5000$/,
  ],
  [
    '10,001 calls',
    Array(3).fill({ calls: Array(3_334).fill({}) }),
    false,
    -38026,
    /^too many calls: 10002 > 10000$/,
  ],
  [
    'an old block',
    [{ blockOverrides: { number: '0x1' } }],
    false,
    -38020,
    /^block numbers must be in order: 1 <= 264$/,
  ],
  [
    'an old time',
    [{ blockOverrides: { time: '0x1' } }],
    false,
    -38021,
    /^block timestamps must be in order: 1 <= \d+$/,
  ],
  [
    'the end of time',
    [{ blockOverrides: { time: '0xffffffffffffffff' } }],
    false,
    -38021,
    /at most 9007199254740991/,
  ],
  [
    'too much gas',
    [{ blockOverrides: { gasLimit: '0x5208' }, calls: [{ gas: '0x5209' }] }],
    false,
    -38015,
    /^block gas limit reached: remaining: 21000, required: 21001$/,
  ],
  [
    'too little gas',
    [{ calls: [{ to: cal, gas: '0x5207' }] }],
    false,
    -38013,
    /^err: intrinsic gas too low: have 20999, want 21000 \(supplied gas 20999\)$/,
  ],
  [
    'no funds',
    [{ calls: [{ from: person('9'), to: cal, value: '0x1' }] }],
    false,
    -38014,
    /^err: insufficient funds for gas \* price \+ value: .* have 0 want 1/,
  ],
  [
    'a low nonce',
    [{ stateOverrides: { [bea]: { nonce: '0x5' } }, calls: [{ from: bea, to: cal, nonce: '0x4' }] }],
    true,
    -38010,
    /nonce too low: address .*, tx: 4 state: 5/,
  ],
  [
    'a high nonce',
    [{ stateOverrides: { [bea]: { nonce: '0x5' } }, calls: [{ from: bea, to: cal, nonce: '0x6' }] }],
    true,
    -38011,
    /nonce too high: address .*, tx: 6 state: 5/,
  ],
  [
    'a low fee',
    [{ stateOverrides: funds, calls: [{ from: bea, to: cal, ...free }] }],
    true,
    -38012,
    /max fee per gas less than block base fee/,
  ],
  [
    'a low fee of a message that names one',
    [{ blockOverrides: { baseFeePerGas: '0x9' }, calls: [{ from: bea, to: cal, gasPrice: '0x8' }] }],
    false,
    -38012,
    /maxFeePerGas: 8, baseFee: 9/,
  ],
  [
    'a tip above the cap',
    [{ calls: [{ from: bea, to: cal, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2' }] }],
    false,
    -32602,
    /max priority fee per gas higher/,
  ],
  [
    'long initcode',
    [{ calls: [{ input: `0x${'00'.repeat(49_153)}` }] }],
    false,
    -38025,
    /max initcode size exceeded: code size 49153 limit 49152/,
  ],
  ['authorizations of a creation', [{ calls: [{ authorizationList: [] }] }], false, -32603, /./],
  [
    'another chain',
    [{ calls: [{ to: cal, chainId: '0x1' }] }],
    false,
    -32000,
    /^chainId does not match node's \(have=1, want=\d+\)$/,
  ],
  [
    'no precompiled contract',
    [{ stateOverrides: { [bea]: { movePrecompileToAddress: cal } } }],
    false,
    -32000,
    /is not a precompile/,
  ],
  [
    'state and stateDiff',
    [{ stateOverrides: { [bea]: { state: {}, stateDiff: {} } } }],
    false,
    -32000,
    /has both 'state' and 'stateDiff'/,
  ],
  [
    'a number as blocks',
    5,
    false,
    -32602,
    /^invalid argument 0: blockStateCalls: want a list of blocks, got number$/,
  ],
]
