import t from 'tap'
import { decodeHeader } from '../../../src/chain/header.js'
import { type AccountOverride, type CallMessage, Execution } from '../../../src/evm/execution.js'
import {
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  hexToBytes,
  padLeft,
  toAddress,
  toMinimalBytes,
} from '../../../src/primitives/bytes.js'
import { keccak256 } from '../../../src/primitives/keccak.js'
import { historicalState } from '../../../src/state/stateView.js'
import { trieState } from '../../../src/state/trieState.js'
import { assemble, deploy, type Item, returnTop } from './assembly.js'
import {
  addressOf,
  demoExecution,
  demoHead,
  demoStore,
  faultOf,
  goOn,
  limits,
  type Message,
  requestOf,
} from './demoExecution.js'

const word = (value: number | bigint) => padLeft(toMinimalBytes(value), 32)
const contract = addressOf(1)

/** What code at {@link contract} returns, as an integer. */
async function resultOf(
  code: Uint8Array,
  message: Message = {},
  overrides: readonly AccountOverride[] = [],
  rest: object = {},
): Promise<bigint> {
  const request = requestOf({ to: contract, ...message }, [{ address: contract, code }, ...overrides], rest)
  const { failure, returnData } = await demoExecution.call(request, goOn)
  if (failure !== undefined) throw new Error(JSON.stringify(failure))
  return bytesToBigInt(returnData)
}

const topOf = (...items: Item[]) => concatBytes(assemble(...items), returnTop)
const headRow = demoStore.readHeader(demoHead.hash)
if (headRow === undefined) throw new Error('no header')
const header = decodeHeader(headRow)

t.test('a message sees the block after which it is executed', async (t) => {
  t.equal(await resultOf(topOf('NUMBER')), BigInt(header.number))
  t.equal(await resultOf(topOf('TIMESTAMP')), BigInt(header.timestamp))
  t.equal(await resultOf(topOf('GASLIMIT')), header.gasLimit)
  t.equal(await resultOf(topOf('COINBASE')), bytesToBigInt(header.miner))
  t.equal(await resultOf(topOf('PREVRANDAO')), bytesToBigInt(header.mixHash))
  t.equal(await resultOf(topOf('CHAINID')), 8433n)
  t.equal(await resultOf(topOf(header.number - 1, 'BLOCKHASH')), bytesToBigInt(header.parentHash))
  const old = demoStore.readCanonicalHash(header.number - 200)
  t.equal(await resultOf(topOf(header.number - 200, 'BLOCKHASH')), bytesToBigInt(old ?? new Uint8Array()))
  t.equal(await resultOf(topOf(header.number, 'BLOCKHASH')), 0n)
})

t.test('the pending block is the next one, on the state of the head', async (t) => {
  const rest = { block: { ...demoHead, isPending: true } }
  t.equal(await resultOf(topOf('NUMBER'), {}, [], rest), BigInt(header.number + 1))
  t.equal(await resultOf(topOf('TIMESTAMP'), {}, [], rest), BigInt(header.timestamp + 12))
  t.equal(await resultOf(topOf(header.number, 'BLOCKHASH'), {}, [], rest), bytesToBigInt(demoHead.hash))
})

t.test('the base fee counts as zero for a message without fees, and only for that', async (t) => {
  t.equal(await resultOf(topOf('BASEFEE')), 0n)
  t.equal(await resultOf(topOf('GASPRICE')), 0n)
  const rich = { address: addressOf(2), balance: 10n ** 30n }
  const baseFee = header.baseFeePerGas ?? 0n
  const paid = { from: rich.address, gasPrice: baseFee + 5n, gas: 100_000n }
  t.equal(await resultOf(topOf('BASEFEE'), paid, [rich]), baseFee)
  t.equal(await resultOf(topOf('GASPRICE'), paid, [rich]), baseFee + 5n)
  const market = { from: rich.address, maxFeePerGas: baseFee * 2n, maxPriorityFeePerGas: 3n, gas: 100_000n }
  t.equal(await resultOf(topOf('GASPRICE'), market, [rich]), baseFee + 3n)
})

t.test('overrides of the block', async (t) => {
  const at = (blockOverrides: object) => ({ blockOverrides })
  const miner = addressOf(77)
  t.equal(await resultOf(topOf('NUMBER'), {}, [], at({ number: 1_000n })), 1_000n)
  t.equal(await resultOf(topOf('TIMESTAMP'), {}, [], at({ time: 2n ** 40n })), 2n ** 40n)
  t.equal(await resultOf(topOf('GASLIMIT'), {}, [], at({ gasLimit: 7n })), 7n)
  t.equal(await resultOf(topOf('COINBASE'), {}, [], at({ feeRecipient: miner })), bytesToBigInt(miner))
  t.equal(await resultOf(topOf('PREVRANDAO'), {}, [], at({ prevRandao: word(9) })), 9n)
  const rich = { address: addressOf(2), balance: 10n ** 30n }
  const paid = { from: rich.address, gasPrice: 100n, gas: 100_000n }
  t.equal(await resultOf(topOf('BASEFEE'), paid, [rich], at({ baseFeePerGas: 42n })), 42n)
  t.equal(await resultOf(topOf('BLOBBASEFEE'), {}, [], at({ blobBaseFee: 43n })), 43n)
})

t.test('an override of number and time chooses the rules', async (t) => {
  // PUSH0 exists since Shanghai.
  const push0 = requestOf({ to: contract }, [{ address: contract, code: hexToBytes('5f00') }])
  t.equal((await demoExecution.call(push0, goOn)).failure, undefined)
  const early = { ...push0, blockOverrides: { number: 120n, time: 1_735_691_100n } }
  t.match((await demoExecution.call(early, goOn)).failure, {
    kind: 'ExecutionFailed',
    why: 'invalid opcode: opcode 0x5f not defined',
  })
})

t.test('overrides of accounts count as the state before the message', async (t) => {
  const other = addressOf(3)
  t.equal(await resultOf(topOf(bytesToBigInt(other), 'BALANCE'), {}, [{ address: other, balance: 5n }]), 5n)
  t.equal(
    await resultOf(topOf(bytesToBigInt(other), 'EXTCODESIZE'), {}, [
      { address: other, code: Uint8Array.of(1, 2) },
    ]),
    2n,
  )
  const slots = async (override: Partial<AccountOverride>, slot: number) => {
    const code = topOf(slot, 'SLOAD')
    const request = requestOf({ to: contract }, [{ address: contract, code, ...override }])
    return bytesToBigInt((await demoExecution.call(request, goOn)).returnData)
  }
  t.equal(await slots({ stateDiff: [[word(1), word(9)]] }, 1), 9n)
  t.equal(await slots({ state: [[word(1), word(9)]] }, 1), 9n)
  t.equal(await slots({ state: [[word(1), word(9)]] }, 2), 0n)
  // A slot that an override set has that value as its original one: setting it to another costs 5,000.
  const store = assemble(2, 1, 'SSTORE')
  const before = requestOf({ to: contract }, [
    { address: contract, code: store, stateDiff: [[word(1), word(9)]] },
  ])
  const fresh = requestOf({ to: contract }, [{ address: contract, code: store }])
  const [changed, made] = await Promise.all([
    demoExecution.call(before, goOn),
    demoExecution.call(fresh, goOn),
  ])
  t.equal(made.gasUsed - changed.gasUsed, 17_100n)
})

t.test('state hides every slot that it does not name, stateDiff none', async (t) => {
  // A token of the demo chain holds its supply in slot 2 or 3; find a contract with slots through the store.
  const found = [...demoStore.accounts()].find(([address]) => [...demoStore.slotsOf(address)].length > 2)
  if (found === undefined) throw new Error('no contract with slots')
  const [address] = found
  const [first] = demoStore.slotsOf(address)
  const [slot, value] = first ?? [new Uint8Array(), new Uint8Array()]
  const code = topOf(bytesToBigInt(slot), 'SLOAD')
  const read = async (override: Partial<AccountOverride>) => {
    const request = requestOf({ to: address }, [{ address, code, ...override }])
    return bytesToBigInt((await demoExecution.call(request, goOn)).returnData)
  }
  t.equal(await read({}), bytesToBigInt(value))
  t.equal(await read({ stateDiff: [[keccak256(slot), word(1)]] }), bytesToBigInt(value))
  t.equal(await read({ state: [] }), 0n)
})

t.test('a precompiled contract can be moved', async (t) => {
  const identity = padLeft(Uint8Array.of(4), 20)
  const target = addressOf(50)
  const data = Uint8Array.of(1, 2, 3)
  const moved: AccountOverride[] = [{ address: identity, movePrecompileTo: target }]
  const at = async (to: Uint8Array, overrides: AccountOverride[]) =>
    bytesToHex((await demoExecution.call(requestOf({ to, data }, overrides), goOn)).returnData)
  t.equal(await at(identity, []), '0x010203')
  t.equal(await at(target, moved), '0x010203')
  t.equal(await at(identity, moved), '0x')
  t.equal(await at(identity, [{ address: identity, code: topOf(5) }]), bytesToHex(word(5)))
  t.match(
    await faultOf(
      demoExecution.call(requestOf({ to: target }, [{ address: target, movePrecompileTo: identity }]), goOn),
    ),
    { kind: 'MessageRefused', why: / is not a precompile$/ },
  )
  t.match(
    await faultOf(demoExecution.call(requestOf({}, [...moved, { address: target, balance: 1n }]), goOn)),
    {
      kind: 'MessageRefused',
      why: / is already overridden$/,
    },
  )
})

t.test('failures are told apart, in the words of go-ethereum', async (t) => {
  const cases: readonly [code: Uint8Array, failure: object][] = [
    [assemble(0, 0, 'REVERT'), { kind: 'ExecutionReverted', reason: undefined }],
    [hexToBytes('fe'), { kind: 'ExecutionFailed', why: 'invalid opcode: INVALID' }],
    [hexToBytes('0c'), { kind: 'ExecutionFailed', why: 'invalid opcode: opcode 0xc not defined' }],
    [assemble(5, 'JUMP'), { kind: 'ExecutionFailed', why: 'invalid jump destination' }],
    [assemble('POP'), { kind: 'ExecutionFailed', why: /^stack underflow/ }],
    [assemble('JUMPDEST', 1, 0, 'JUMP'), { kind: 'ExecutionFailed', why: 'stack limit reached 1024 (1023)' }],
    [assemble(1, 0, 0, 'RETURNDATACOPY'), { kind: 'ExecutionFailed', why: 'return data out of bounds' }],
    [assemble(2n ** 40n, 0, 'KECCAK256'), { kind: 'ExecutionFailed', why: 'out of gas' }],
  ]
  for (const [code, failure] of cases) {
    const request = requestOf({ to: contract, gas: 1_000_000n }, [{ address: contract, code }])
    t.match((await demoExecution.call(request, goOn)).failure, failure)
  }
})

t.test('a creation returns the code that it leaves, and fails in ways of its own', async (t) => {
  const code = Uint8Array.of(1, 2, 3)
  const made = await demoExecution.call(requestOf({ data: deploy(code) }), goOn)
  t.same(
    { failure: made.failure, code: bytesToHex(made.returnData) },
    { failure: undefined, code: '0x010203' },
  )
  const failureOf = async (data: Uint8Array, overrides: AccountOverride[] = []) =>
    (await demoExecution.call(requestOf({ data, from: addressOf(2) }, overrides), goOn)).failure
  t.match(await failureOf(deploy(Uint8Array.of(0xef, 1))), { why: 'invalid code: must not begin with 0xef' })
  t.match(await failureOf(assemble(24_577, 0, 'RETURN')), { why: 'max code size exceeded' })
  t.match(await failureOf(deploy(code), [{ address: addressOf(2), nonce: 2n ** 64n - 1n }]), {
    why: 'nonce uint64 overflow',
  })
  // Created by an account without transactions: the address is known beforehand.
  const created = keccak256(
    concatBytes(Uint8Array.of(0xd6, 0x94), addressOf(2), Uint8Array.of(0x80)),
  ).subarray(12)
  t.match(await failureOf(deploy(code), [{ address: created, nonce: 1n }]), {
    why: 'contract address collision',
  })
  t.match(await faultOf(demoExecution.call(requestOf({ data: new Uint8Array(49_153) }), goOn)), {
    kind: 'MessageRefused',
    why: 'max initcode size exceeded: code size 49153 limit 49152',
  })
})

t.test('what cannot start is refused before anything runs', async (t) => {
  const from = addressOf(2)
  const rich = { address: from, balance: 10n ** 24n }
  const baseFee = header.baseFeePerGas ?? 0n
  const hash = (version: number) => {
    const bytes = new Uint8Array(32)
    bytes[0] = version
    return bytes
  }
  const cases: readonly [Message, object][] = [
    [
      { to: contract, value: 1n },
      { kind: 'InsufficientFunds', purpose: 'transfer' },
    ],
    [
      { to: contract, from, gasPrice: 10n ** 20n, gas: 21_000n },
      { kind: 'InsufficientFunds', purpose: 'gas', detail: { have: 10n ** 24n, want: 21_000n * 10n ** 20n } },
    ],
    [
      { to: contract, gas: 20_999n },
      { kind: 'IntrinsicGasTooLow', have: 20_999n, want: 21_000n },
    ],
    [
      { to: contract, gas: 21_020n, data: Uint8Array.of(1) },
      { why: 'insufficient gas for floor data gas cost: gas 21020, minimum needed 21040' },
    ],
    [
      { to: contract, from, maxFeePerGas: baseFee - 1n },
      { why: /^max fee per gas less than block base fee: address 0x/ },
    ],
    [
      { to: contract, from, maxFeePerGas: baseFee, maxPriorityFeePerGas: baseFee + 1n },
      { why: /^max priority fee per gas higher than max fee per gas: address 0x/ },
    ],
    [{ data: hash(1), blobVersionedHashes: [hash(1)] }, { why: 'blob transaction of type create' }],
    [{ to: contract, blobVersionedHashes: [] }, { why: 'blob transaction missing blob hashes' }],
    [{ to: contract, blobVersionedHashes: [hash(1), hash(2)] }, { why: 'blob 1 has invalid hash version' }],
    [
      { to: contract, blobVersionedHashes: new Array<Uint8Array>(7).fill(hash(1)) },
      { why: 'blob transaction has too many blobs (have=7, max=6)' },
    ],
    [
      { data: hash(1), authorizationList: [] },
      { why: /^EIP-7702 transaction cannot be used to create contract/ },
    ],
    [{ to: contract, authorizationList: [] }, { why: /^EIP-7702 transaction with empty auth list/ }],
  ]
  for (const [message, fault] of cases) {
    const request = requestOf(message, [rich, { address: contract, code: Uint8Array.of(0) }])
    t.match(await faultOf(demoExecution.call(request, goOn)), fault)
    const kind = (fault as { kind?: string }).kind
    if (message.gas === undefined)
      t.match(await faultOf(demoExecution.estimate(request, goOn)), fault, kind ?? '')
  }
  const unknown = requestOf({}, [], { block: { number: 1, hash: new Uint8Array(32), isPending: false } })
  t.same(await faultOf(demoExecution.call(unknown, goOn)), { kind: 'HeaderForHashNotFound' })
})

t.test('blob hashes and their price are there for the message', async (t) => {
  const hash = padLeft(Uint8Array.of(7), 32)
  hash[0] = 1
  const blobs: Message = { blobVersionedHashes: [hash] }
  t.equal(await resultOf(topOf(0, 'BLOBHASH'), blobs), bytesToBigInt(hash))
  t.equal(await resultOf(topOf(1, 'BLOBHASH'), blobs), 0n)
  t.equal(await resultOf(topOf('BLOBBASEFEE'), blobs), 0n, 'free of charge where no fee is named')
  const tooLow = requestOf({ to: contract, ...blobs, maxFeePerBlobGas: 1n }, [], {
    blockOverrides: { blobBaseFee: 9n },
  })
  t.match(await faultOf(demoExecution.call(tooLow, goOn)), {
    why: /^max fee per blob gas less than block blob gas fee/,
  })
})

t.test('transient storage of one message is gone in the next', async (t) => {
  const code = concatBytes(assemble(0, 'TLOAD', 7, 0, 'TSTORE'), returnTop)
  t.equal(await resultOf(code), 0n)
  t.equal(await resultOf(code), 0n)
})

t.test('an endless loop ends with the time, however small it is', async (t) => {
  const execution = new Execution(demoStore, { ...limits, timeMsMax: 150 })
  const loops: readonly string[] = [
    '5b5f56',
    '5b600056',
    // A loop that calls itself, one that creates, one that hashes a megabyte a time.
    '5b5f5f5f5f5f305af1505f56',
    '5b5f5f5ff0505f56',
    '5b620fffff5f20505f56',
  ]
  for (const code of loops) {
    for (const kind of ['call', 'estimate', 'accessList'] as const) {
      const start = performance.now()
      const overrides = [{ address: contract, code: hexToBytes(code) }]
      const request = requestOf({ to: contract, gas: 10n ** 12n }, overrides, { gasMax: 10n ** 12n })
      // Since Osaka an estimate is bounded by the gas of a transaction; an earlier block is not.
      const early = { ...request, blockOverrides: { number: 200n, time: 1_735_692_000n } }
      t.same(await faultOf(execution[kind](early, goOn)), { kind: 'ExecutionTimedOut', limitSeconds: 0.15 })
      t.ok(performance.now() - start < 1_500, `${code} ${kind}`)
    }
  }
})

t.test('a job that is told to stop stops', async (t) => {
  let asked = 0
  const loop = requestOf({ to: contract }, [{ address: contract, code: hexToBytes('5b5f56') }])
  t.match(await faultOf(demoExecution.call(loop, () => ++asked > 3)), { kind: 'ExecutionTimedOut' })
})

t.test('precompiled contracts that would take longer than the job may are refused', async (t) => {
  const blake = padLeft(Uint8Array.of(9), 20)
  const data = new Uint8Array(213)
  data.set([0xff, 0xff, 0xff, 0xff])
  const request = requestOf({ to: blake, data, gas: 10n ** 10n }, [], { gasMax: 10n ** 10n })
  const start = performance.now()
  t.match(await faultOf(demoExecution.call(request, goOn)), { kind: 'ExecutionTimedOut' })
  t.ok(performance.now() - start < 500)
})

t.test('a job that holds too much memory is stopped', async (t) => {
  const execution = new Execution(demoStore, { timeMsMax: 20_000, memoryBytesMax: 2 ** 22 })
  const bombs: readonly [what: string, code: Uint8Array][] = [
    ['memory of nested frames', assemble(1, 100_000, 'MSTORE', 0, 0, 0, 0, 0, 'ADDRESS', 'GAS', 'CALL')],
    ['logs', assemble('JUMPDEST', 100_000, 0, 'LOG0', 0, 'JUMP')],
    ['transient slots', assemble('JUMPDEST', 1, 'GAS', 'TSTORE', 0, 'JUMP')],
    ['slots', assemble('JUMPDEST', 1, 'GAS', 'SSTORE', 0, 'JUMP')],
  ]
  for (const [what, code] of bombs) {
    const request = requestOf({ to: contract, gas: 10n ** 10n }, [{ address: contract, code }], {
      gasMax: 10n ** 10n,
    })
    t.same(
      await faultOf(execution.call(request, goOn)),
      { kind: 'ExecutionOutOfMemory', limitBytes: 2 ** 22 },
      what,
    )
    t.match(
      await execution.call(requestOf({ to: addressOf(4) }), goOn),
      { failure: undefined },
      'and the next runs',
    )
  }
})

t.test('the same code is analysed once, however deep it calls itself', async (t) => {
  // 24 KB of PUSH1 behind a call of itself: 1,024 analyses would take 200 MB and seconds.
  const self = assemble(0, 0, 0, 0, 0, 'ADDRESS', 'GAS', 'CALL')
  const code = concatBytes(self, new Uint8Array(24_000).fill(0x60))
  const before = process.memoryUsage().rss
  await demoExecution.call(
    requestOf({ to: contract, gas: 10n ** 9n }, [{ address: contract, code }], { gasMax: 10n ** 9n }),
    goOn,
  )
  t.ok(process.memoryUsage().rss - before < 150 * 2 ** 20)
})

t.test('jobs that are started together do not mix', async (t) => {
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, value) =>
      resultOf(concatBytes(assemble(value, 0, 'SSTORE', 0, 'SLOAD'), returnTop)),
    ),
  )
  t.same(
    results,
    Array.from({ length: 20 }, (_, value) => BigInt(value)),
  )
})

t.test('an access list names what a message touches, and is stable', async (t) => {
  const other = addressOf(5)
  const third = addressOf(6)
  const code = assemble(
    4,
    'SLOAD',
    'POP',
    bytesToBigInt(other),
    'BALANCE',
    'POP',
    0,
    0,
    0,
    0,
    bytesToBigInt(third),
    'GAS',
    'STATICCALL',
    'CALLER',
    'BALANCE',
    1,
    'BALANCE',
  )
  const inner: AccountOverride = { address: third, code: assemble(2, 'SLOAD', 1, 'SLOAD') }
  const overrides = [{ address: contract, code }, inner]
  const found = await demoExecution.accessList(
    requestOf({ to: contract, from: addressOf(2) }, overrides),
    goOn,
  )
  const shown = found.accessList.map(({ address, storageKeys }) => [
    bytesToHex(address),
    ...storageKeys.map((key) => bytesToBigInt(key)),
  ])
  t.same(shown, [[bytesToHex(contract), 4n], [bytesToHex(other)], [bytesToHex(third), 1n, 2n]])
  const message: Message = { to: contract, from: addressOf(2), accessList: found.accessList }
  const { gasUsed } = await demoExecution.call(requestOf(message, overrides), goOn)
  t.equal(gasUsed, found.gasUsed)
  t.same(await demoExecution.accessList(requestOf(message, overrides), goOn), found)
})

t.test('a failing message has an access list and the reason why it fails', async (t) => {
  const code = assemble(4, 'SLOAD', 0, 0, 'REVERT')
  const found = await demoExecution.accessList(
    requestOf({ to: contract }, [{ address: contract, code }]),
    goOn,
  )
  t.equal(found.accessList.length, 1)
  t.match(found.failure, { kind: 'ExecutionReverted' })
})

t.test('off the canonical chain the tries say what the tables say on it', async (t) => {
  const onTries = trieState(demoStore, header.stateRoot)
  const onTables = historicalState(demoStore, header.number, header.stateRoot)
  for (const [address] of demoStore.accounts()) {
    t.same(onTries.account(address), onTables.account(address))
    for (const [slot] of demoStore.slotsOf(address)) {
      t.same(onTries.slot(address, slot), onTables.slot(address, slot))
    }
  }
  // A number that its hash does not have: as after a reorganisation.
  const message: CallMessage = { to: contract, value: 0n, data: new Uint8Array(0) }
  const code = topOf('NUMBER')
  const request = requestOf(message, [{ address: contract, code }], {
    block: { number: 5, hash: demoHead.hash, isPending: false },
  })
  const { returnData } = await demoExecution.call(request, goOn)
  t.equal(bytesToBigInt(returnData), BigInt(header.number))
})

t.test('a state that is not held is a fault', async (t) => {
  const missing = trieState(demoStore, keccak256(Uint8Array.of(1)))
  try {
    missing.account(toAddress(contract))
    t.fail('found')
  } catch (error) {
    t.match(error, { fault: { kind: 'StateNotAvailable' } })
  }
})
