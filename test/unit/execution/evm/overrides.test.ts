/** Messages on a state and in a block that their caller has changed. */
import t from 'tap'
import { type ForkName, ForkSchedule, parseGenesisConfig } from '../../../../src/data/chain/forks.js'
import type {
  AccountOverride,
  BlockOverrides,
} from '../../../../src/execution/evm/messages/executionRequest.js'
import { bytesToBigInt, bytesToHex, hexToBytes, padLeft } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { assemble } from './assembly.js'
import {
  addressOf,
  contract,
  demoExecution,
  demoStore,
  faultOf,
  goOn,
  type Message,
  requestOf,
  resultOf,
  topOf,
  word,
} from './demoExecution.js'

const demoForks = new ForkSchedule(parseGenesisConfig(JSON.parse(demoStore.readIdentity()?.config ?? '{}')))

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
    why: 'invalid opcode: PUSH0',
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
  // Slot 2 or 3 of a token of the demo chain is its supply. Finds a contract with slots in the store.
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

t.test('a number below a fork chooses the rules before it, also after the Merge', async (t) => {
  const { config } = demoForks
  const before = (fork: ForkName): BlockOverrides => ({ number: BigInt(config.blocks.get(fork) ?? 0) - 1n })
  const ask = async (code: Uint8Array, blockOverrides: BlockOverrides, message: Message = {}) => {
    const request = requestOf(
      { to: contract, gas: 100_000n, from: addressOf(2), ...message },
      [
        { address: contract, code },
        { address: addressOf(2), balance: 10n ** 24n },
      ],
      { blockOverrides },
    )
    const { failure, returnData } = await demoExecution.call(request, goOn)
    return failure ?? bytesToBigInt(returnData)
  }
  const undefinedIn = async (code: Uint8Array, fork: ForkName) => {
    const below = before(fork)
    t.match(await ask(code, below), { why: /^invalid opcode/ }, `before ${fork}`)
    t.type(await ask(code, { number: (below.number ?? 0n) + 1n }), 'bigint', fork)
  }
  await undefinedIn(topOf('BASEFEE'), 'london')
  await undefinedIn(topOf('CHAINID'), 'istanbul')
  await undefinedIn(topOf('RETURNDATASIZE'), 'byzantium')
  // Forks by time are later than those by number.
  t.match(await ask(hexToBytes('5f'), before('london')), { why: /^invalid opcode/ })
  t.match(await ask(hexToBytes('5f'), { time: BigInt(config.times.get('shanghai') ?? 0) - 1n }), {
    why: /^invalid opcode/,
  })
  t.type(await ask(topOf('BASEFEE'), { time: 0n }), 'bigint')
  // Before the Merge, PREVRANDAO was DIFFICULTY, which is zero in a block after the Merge.
  t.equal(await ask(topOf('PREVRANDAO'), before('london')), 0n)
  t.equal(await ask(topOf('PREVRANDAO'), { ...before('london'), difficulty: 9n }), 9n)
})

t.test(
  'fees are checked from London on, and the price follows from the base fee that the block has',
  async (t) => {
    const from = addressOf(2)
    const low: Message = { from, maxFeePerGas: 5n, maxPriorityFeePerGas: 7n }
    const rich = { address: from, balance: 10n ** 24n }
    const at = (number: bigint) => ({ blockOverrides: { number } })
    const london = BigInt(demoForks.config.blocks.get('london') ?? 0)
    t.equal(await resultOf(topOf('GASPRICE'), low, [rich], at(london - 1n)), 5n)
    t.equal(await resultOf(topOf('GASPRICE'), { from, gasPrice: 5n }, [rich], at(london - 1n)), 5n)
    const fault = await faultOf(resultOf(topOf('GASPRICE'), low, [rich], at(london)))
    t.match(fault, { why: /max priority fee per gas higher than max fee per gas/ })
  },
)
