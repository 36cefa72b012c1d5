/** What messages see, how they fail, and what is refused. */
import t from 'tap'
import type { AccountOverride } from '../../../src/evm/execution.js'
import { bytesToBigInt, bytesToHex, concatBytes, hexToBytes, padLeft } from '../../../src/primitives/bytes.js'
import { keccak256 } from '../../../src/primitives/keccak.js'
import { assemble, deploy, returnTop } from './assembly.js'
import {
  addressOf,
  contract,
  demoExecution,
  demoHead,
  demoHeader,
  demoStore,
  faultOf,
  goOn,
  type Message,
  requestOf,
  resultOf,
  topOf,
} from './demoExecution.js'

t.test('a message sees the block after which it is executed', async (t) => {
  t.equal(await resultOf(topOf('NUMBER')), BigInt(demoHeader.number))
  t.equal(await resultOf(topOf('TIMESTAMP')), BigInt(demoHeader.timestamp))
  t.equal(await resultOf(topOf('GASLIMIT')), demoHeader.gasLimit)
  t.equal(await resultOf(topOf('COINBASE')), bytesToBigInt(demoHeader.miner))
  t.equal(await resultOf(topOf('PREVRANDAO')), bytesToBigInt(demoHeader.mixHash))
  t.equal(await resultOf(topOf('CHAINID')), 8433n)
  t.equal(await resultOf(topOf(demoHeader.number - 1, 'BLOCKHASH')), bytesToBigInt(demoHeader.parentHash))
  const old = demoStore.readCanonicalHash(demoHeader.number - 200)
  t.equal(await resultOf(topOf(demoHeader.number - 200, 'BLOCKHASH')), bytesToBigInt(old ?? new Uint8Array()))
  t.equal(await resultOf(topOf(demoHeader.number, 'BLOCKHASH')), 0n)
})

t.test('the pending block is the next one, on the state of the head', async (t) => {
  const rest = { block: { ...demoHead, isPending: true } }
  t.equal(await resultOf(topOf('NUMBER'), {}, [], rest), BigInt(demoHeader.number + 1))
  t.equal(await resultOf(topOf('TIMESTAMP'), {}, [], rest), BigInt(demoHeader.timestamp + 12))
  t.equal(await resultOf(topOf(demoHeader.number, 'BLOCKHASH'), {}, [], rest), bytesToBigInt(demoHead.hash))
})

t.test('the base fee counts as zero for a message without fees, and only for that', async (t) => {
  t.equal(await resultOf(topOf('BASEFEE')), 0n)
  t.equal(await resultOf(topOf('GASPRICE')), 0n)
  const rich = { address: addressOf(2), balance: 10n ** 30n }
  const baseFee = demoHeader.baseFeePerGas ?? 0n
  const paid = { from: rich.address, gasPrice: baseFee + 5n, gas: 100_000n }
  t.equal(await resultOf(topOf('BASEFEE'), paid, [rich]), baseFee)
  t.equal(await resultOf(topOf('GASPRICE'), paid, [rich]), baseFee + 5n)
  const market = { from: rich.address, maxFeePerGas: baseFee * 2n, maxPriorityFeePerGas: 3n, gas: 100_000n }
  t.equal(await resultOf(topOf('GASPRICE'), market, [rich]), baseFee + 3n)
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
  const baseFee = demoHeader.baseFeePerGas ?? 0n
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
