import t from 'tap'
import type { AccountOverride } from '../../../src/evm/execution.js'
import { bytesToBigInt, bytesToHex } from '../../../src/primitives/bytes.js'
import { assemble } from './assembly.js'
import { addressOf, contract, demoExecution, goOn, type Message, requestOf } from './demoExecution.js'

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
