import t from 'tap'
import type { AccountOverride } from '../../../../src/execution/evm/messages/executionRequest.js'
import { bytesToBigInt, bytesToHex, concatBytes, padLeft } from '../../../../src/primitives/bytes.js'
import { assemble } from './assembly.js'
import {
  addressOf,
  contract,
  demoExecution,
  demoHeader,
  faultOf,
  goOn,
  type Message,
  requestOf,
  topOf,
  word,
} from './demoExecution.js'

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

const listOf = async (message: Message, overrides: readonly AccountOverride[]) => {
  const { accessList, failure, gasUsed } = await demoExecution.accessList(requestOf(message, overrides), goOn)
  const shown = accessList.map(({ address, storageKeys }) => [
    bytesToHex(address),
    ...storageKeys.map((key) => bytesToBigInt(key)),
  ])
  return { shown, failure, gasUsed }
}

t.test('slots of the recipient and of precompiled contracts are found anew, others stay', async (t) => {
  const listed = (address: Uint8Array, ...slots: number[]) => ({
    address,
    storageKeys: slots.map((slot) => word(slot)),
  })
  const message: Message = {
    to: contract,
    from: addressOf(2),
    accessList: [
      listed(contract, 4, 7),
      listed(addressOf(2), 1),
      listed(padLeft(Uint8Array.of(6), 20), 1),
      listed(addressOf(8), 3),
    ],
  }
  const overrides = [{ address: contract, code: assemble(4, 'SLOAD') }]
  t.same((await listOf(message, overrides)).shown, [
    [bytesToHex(contract), 4n],
    [bytesToHex(addressOf(8)), 3n],
  ])
})

t.test('a slot or address whose access could not be paid is listed', async (t) => {
  // The inner contract gets 2,000 gas, of which a slot that is not listed wants 2,100.
  const third = addressOf(6)
  const code = assemble(0, 0, 0, 0, bytesToBigInt(third), 2_000, 'STATICCALL')
  const inner = { address: third, code: assemble(4, 'SLOAD') }
  const short = await listOf({ to: contract }, [{ address: contract, code }, inner])
  t.same(short.shown, [[bytesToHex(third), 4n]])
  const far = [{ address: contract, code: assemble(bytesToBigInt(addressOf(8)), 'BALANCE') }]
  const poor = await listOf({ to: contract, gas: 23_401n }, far)
  t.same(poor.shown, [[bytesToHex(addressOf(8))]])
})

t.test(
  'fees are filled in and refused as for a transaction, but a message without any is free',
  async (t) => {
    const from = addressOf(2)
    const rich = { address: from, balance: 10n ** 24n }
    const priceOf = async (message: Message) => {
      const code = topOf('GASPRICE')
      const found = await listOf({ to: contract, from, gas: 100_000n, ...message }, [
        rich,
        { address: contract, code: concatBytes(assemble('GASPRICE', 'SLOAD'), code) },
      ])
      return found.shown[0]?.[1]
    }
    const baseFee = demoHeader.baseFeePerGas ?? 0n
    t.equal(await priceOf({}), 0n)
    t.equal(await priceOf({ maxPriorityFeePerGas: 7n }), baseFee + 7n)
    const refusal = (message: Message) =>
      faultOf(demoExecution.accessList(requestOf({ to: contract, ...message }), goOn))
    const cases: readonly [Message, string | RegExp][] = [
      [{ gasPrice: 0n }, 'gasPrice must be non-zero after london fork'],
      [{ maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }, 'maxFeePerGas must be non-zero'],
      [{ maxFeePerGas: 16n, maxPriorityFeePerGas: 17n }, 'maxFeePerGas (0x10) < maxPriorityFeePerGas (0x11)'],
      [{ maxFeePerBlobGas: 0n }, 'maxFeePerBlobGas, if specified, must be non-zero'],
      [{ gasPrice: 1n, authorizationList: [] }, 'both gasPrice and authorizationList specified'],
      // The hash is the one that go-ethereum 1.17.6 gave the transaction without a signature.
      [
        {
          to: addressOf(9),
          from: new Uint8Array(20).fill(0x55),
          gasPrice: 10n ** 9n,
          gas: 21_000n,
          value: 1n,
        },
        /^failed to apply transaction: 0x[0-9a-f]{64} err: insufficient funds for gas \* price \+ value: address 0x5{40} have 0 want 21000000000001$/,
      ],
    ]
    for (const [message, why] of cases) t.match(await refusal(message), { kind: 'MessageRefused', why })
    const moved = [{ address: padLeft(Uint8Array.of(4), 20), movePrecompileTo: addressOf(50) }]
    t.match(await faultOf(demoExecution.accessList(requestOf({ to: contract }, moved), goOn)), {
      why: /^account 0x0{39}4 is not a precompile$/,
    })
  },
)
