/** The environment of messages, their failures, and refusals. */
import t from 'tap'
import type { AccountOverride } from '../../../../src/execution/evm/messages/executionRequest.js'
import { toChecksumAddress } from '../../../../src/primitives/addresses.js'
import {
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  type Hash32,
  hexToBytes,
  padLeft,
} from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { faultToWireError } from '../../../../src/serving/rpc/answers/wireErrors.js'
import { assemble, deploy, type Item, returnTop } from './assembly.js'
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
  t.equal(await resultOf(topOf('TIMESTAMP'), {}, [], rest), BigInt(demoHeader.timestamp) + 12n)
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
    [
      hexToBytes('5f').fill(0xf6),
      { kind: 'ExecutionFailed', why: 'invalid opcode: opcode 0xf6 not defined' },
    ],
    [hexToBytes('4b'), { kind: 'ExecutionFailed', why: 'invalid opcode: SLOTNUM' }],
    [assemble('POP'), { kind: 'ExecutionFailed', why: 'stack underflow (0 <=> 1)' }],
    [assemble(1, 2, 3, 'CALL'), { kind: 'ExecutionFailed', why: 'stack underflow (3 <=> 7)' }],
    [hexToBytes('60018f'), { kind: 'ExecutionFailed', why: 'stack underflow (1 <=> 16)' }],
    [assemble('JUMPDEST', 1, 0, 'JUMP'), { kind: 'ExecutionFailed', why: 'stack limit reached 1024 (1023)' }],
    [assemble(1, 0, 0, 'RETURNDATACOPY'), { kind: 'ExecutionFailed', why: 'return data out of bounds' }],
    [assemble(2n ** 30n, 0, 'KECCAK256'), { kind: 'ExecutionFailed', why: 'out of gas' }],
    [
      assemble(2n ** 40n, 0, 'KECCAK256'),
      { kind: 'ExecutionFailed', why: 'out of gas: gas uint64 overflow' },
    ],
    [assemble(2n ** 64n, 0, 'KECCAK256'), { kind: 'ExecutionFailed', why: 'gas uint64 overflow' }],
    [
      assemble(49_153, 0, 0, 'CREATE'),
      {
        kind: 'ExecutionFailed',
        why: 'out of gas: max initcode size exceeded: code size 49153 limit 49152',
      },
    ],
    [assemble(0, 0, 2n ** 30n, 0, 1, 0, 'DELEGATECALL'), { why: 'out of gas: out of gas' }],
  ]
  for (const [code, failure] of cases) {
    const request = requestOf({ to: contract, gas: 1_000_000n }, [{ address: contract, code }])
    t.match((await demoExecution.call(request, goOn)).failure, failure)
  }
})

t.test('too little gas for an instruction has the words of what it was needed for', async (t) => {
  const failureWith = async (gas: bigint, ...items: readonly Item[]) => {
    const request = requestOf({ to: contract, gas: 21_000n + gas }, [
      { address: contract, code: assemble(...items) },
    ])
    return (await demoExecution.call(request, goOn)).failure
  }
  const sentry = 'out of gas: not enough gas for reentrancy sentry'
  t.match(await failureWith(2_306n, 1, 0, 'SSTORE'), { why: sentry })
  t.match(await failureWith(2_307n, 1, 0, 'SSTORE'), { why: 'out of gas' })
  const destroy = [bytesToBigInt(addressOf(9)), 'SELFDESTRUCT'] as const
  t.match(await failureWith(5_002n, ...destroy), { why: 'out of gas' })
  t.match(await failureWith(7_602n, ...destroy), { why: 'out of gas: out of gas' })
  const call = [0, 0, 0, 0, 0, bytesToBigInt(addressOf(9)), 0, 'CALL'] as const
  t.match(await failureWith(120n, ...call), { why: 'out of gas' })
  t.match(await failureWith(2_620n, ...call), { why: 'out of gas: out of gas' })
  t.equal(await failureWith(2_621n, ...call), undefined)
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
  t.match(await failureOf(assemble(24_577, 0, 'RETURN')), {
    why: 'max code size exceeded: code size 24577 limit 24576',
  })
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
  const deposit = (
    await demoExecution.call(requestOf({ data: assemble(24_000, 0, 'RETURN'), gas: 100_000n }), goOn)
  ).failure
  t.match(deposit, { why: 'contract creation code storage out of gas' })
})

t.test(
  'what cannot start is refused before anything runs, each time in the words of go-ethereum',
  async (t) => {
    const from = addressOf(2)
    const rich = { address: from, balance: 10n ** 24n }
    const baseFee = demoHeader.baseFeePerGas ?? 0n
    const hash = (version: number) => {
      const bytes = new Uint8Array(32)
      bytes[0] = version
      return bytes
    }
    const who = toChecksumAddress(from)
    const nobody = `0x${'0'.repeat(40)}`
    const unit = { gas: 100_000n }
    const blobs = { to: contract, blobVersionedHashes: [hash(1)], ...unit }
    const lack = (address: string, have: bigint, want: bigint) =>
      `insufficient funds for gas * price + value: address ${address} have ${have} want ${want}`
    // The words around the reason: of a call, of an estimate, of an access list.
    const words = (why: string, gas: bigint) =>
      [`err: ${why} (supplied gas ${gas})`, `failed with ${gas} gas: ${why}`] as const
    const cases: readonly [Message, why: string, estimate?: string][] = [
      [{ to: contract, value: 1n, ...unit }, lack(nobody, 0n, 1n)],
      [
        { to: contract, from, gasPrice: 10n ** 20n, ...unit },
        lack(who, 10n ** 24n, 10n ** 25n),
        'gas required exceeds allowance (10000)',
      ],
      [
        { to: contract, from, gasPrice: 10n ** 10n, value: 10n ** 24n, ...unit },
        lack(who, 10n ** 24n, 10n ** 24n + 10n ** 15n),
        'insufficient funds for transfer',
      ],
      [
        { to: contract, from, gasPrice: 2n ** 255n, ...unit },
        `insufficient funds for gas * price + value: address ${who} required balance exceeds 256 bits`,
        'gas required exceeds allowance (0)',
      ],
      [
        { to: contract, gas: 21_040n, data: new Uint8Array(64).fill(1) },
        'intrinsic gas too low: have 21040, want 22024',
        'gas required exceeds allowance (21040)',
      ],
      [
        { to: contract, gas: 22_100n, data: new Uint8Array(64).fill(1) },
        'insufficient gas for floor data gas cost: have 22100, want 23560',
      ],
      [
        { to: contract, from, maxFeePerGas: baseFee - 1n, ...unit },
        `max fee per gas less than block base fee: address ${who}, maxFeePerGas: ${baseFee - 1n}, baseFee: ${baseFee}`,
      ],
      [
        { to: contract, from, maxFeePerGas: baseFee, maxPriorityFeePerGas: baseFee + 1n, ...unit },
        `max priority fee per gas higher than max fee per gas: address ${who}, maxPriorityFeePerGas: ${baseFee + 1n}, maxFeePerGas: ${baseFee}`,
      ],
      [{ ...blobs, blobVersionedHashes: [] }, 'blob transaction missing blob hashes'],
      [{ ...blobs, blobVersionedHashes: [hash(1), hash(2)] }, 'blob 1 has invalid hash version'],
      [
        { ...blobs, blobVersionedHashes: new Array<Uint8Array>(7).fill(hash(1)) },
        'blob transaction has too many blobs',
      ],
      [
        { to: contract, authorizationList: [], ...unit },
        `EIP-7702 transaction with empty auth list (sender ${nobody})`,
      ],
      [
        { data: new Uint8Array(49_153), gas: 10_000_000n },
        'max initcode size exceeded: code size 49153 limit 49152',
      ],
    ]
    for (const [message, why, otherEstimate] of cases) {
      const request = requestOf(message, [rich, { address: contract, code: Uint8Array.of(0) }])
      const [call, estimate] = words(why, message.gas as bigint)
      const refusal = await faultOf(demoExecution.call(request, goOn))
      t.same(refusal, { kind: 'MessageRefused', why: call }, call)
      const wire = faultToWireError(await faultOf(demoExecution.estimate(request, goOn)))
      t.same(wire, { code: -32000, message: otherEstimate ?? estimate }, otherEstimate ?? estimate)
    }
    const bare: readonly [Message, string][] = [
      [{ data: hash(1), blobVersionedHashes: [hash(1)] }, 'blob transaction of type create'],
      [{ data: hash(1), authorizationList: [] }, 'EIP-7702 transaction cannot be used to create contract'],
    ]
    for (const [message, why] of bare) {
      for (const ask of ['call', 'estimate', 'accessList'] as const) {
        const job = demoExecution[ask](requestOf(message), goOn)
        t.same(await faultOf(job), { kind: 'MessageRefused', why }, `${ask}: ${why}`)
      }
    }
    const unknown = requestOf({}, [], { block: { number: 1, hash: new Uint8Array(32), isPending: false } })
    t.same(await faultOf(demoExecution.call(unknown, goOn)), { kind: 'HeaderForHashNotFound' })
  },
)

t.test('members of later transactions are refused by earlier rules', async (t) => {
  const blockOverrides = (number: bigint) => ({ blockOverrides: { number } })
  const authorization = { chainId: 1n, address: addressOf(3), nonce: 0n, yParity: 0, r: 1n, s: 1n }
  const cases: readonly [Message, string, bigint][] = [
    [{ accessList: [] }, 'access list', 84n],
    [{ blobVersionedHashes: [new Uint8Array(32)] }, 'blob', 99n],
    [{ authorizationList: [authorization] }, 'setcode', 99n],
  ]
  for (const [message, kind, number] of cases) {
    const request = requestOf({ to: contract, gas: 100_000n, ...message }, [], blockOverrides(number))
    const why = `err: transaction type not supported: ${kind} tx (sender 0x${'0'.repeat(40)}) (supplied gas 100000)`
    t.same(await faultOf(demoExecution.call(request, goOn)), { kind: 'MessageRefused', why })
  }
})

t.test('fees of EIP-1559 are refused where there is no base fee', async (t) => {
  const why = 'maxFeePerGas and maxPriorityFeePerGas are not valid before London is active'
  for (const fees of [{ maxFeePerGas: 10n ** 11n }, { maxPriorityFeePerGas: 0n }]) {
    const block = { number: 99, hash: demoStore.readCanonicalHash(99) as Hash32, isPending: false }
    const early = requestOf({ to: contract, gas: 100_000n, ...fees }, [], { block })
    t.same(await faultOf(demoExecution.call(early, goOn)), { kind: 'MessageRefused', why })
    t.same(await faultOf(demoExecution.estimate(early, goOn)), { kind: 'MessageRefused', why })
    t.same(await faultOf(demoExecution.accessList(early, goOn)), { kind: 'MessageRefused', why })
  }
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
    why: /^err: max fee per blob gas less than block blob gas fee: address 0x0{40} blobGasFeeCap: 1, blobBaseFee: 9 /,
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
