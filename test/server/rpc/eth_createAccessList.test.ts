import t from 'tap'
import { encodeCall } from '../../../data/devnet/abi.js'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import { checkCallRefusals, checkIgnoredMembers } from '../../rpc/callRefusals.js'
import { addressOf, examples } from '../../rpc/demoChain.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

const ask = (...params: unknown[]) => service.call('eth_createAccessList', params)

t.test('a token transfer touches two balances of the token', async (t) => {
  const data = bytesToHex(encodeCall('transfer(address,uint256)', [hexToBytes(addressOf('cal')), 1]))
  const call = { from: addressOf('bea'), to: addressOf('Tide'), data }
  const { result } = await ask(call)
  t.match(result, { accessList: [{ address: addressOf('Tide') }], gasUsed: /^0x[1-9a-f]/ })
  t.notOk('error' in result)
  const { storageKeys } = result.accessList[0]
  t.ok(storageKeys.includes(examples.slots.find(({ label }) => label === 'Tide of bea at the head')?.slot))
  t.same((await ask({ ...call, accessList: result.accessList })).result, result, 'the list is complete')
})

t.test('a failing call has a list and an error beside it', async (t) => {
  const data = bytesToHex(encodeCall('transfer(address,uint256)', [hexToBytes(addressOf('cal')), 1]))
  const { result } = await ask({ from: `0x${'55'.repeat(20)}`, to: addressOf('Tide'), data })
  t.match(result, { accessList: [{ address: addressOf('Tide') }], error: 'execution reverted' })
})

t.test('a call of nothing touches nothing', async (t) => {
  t.same((await ask({ to: `0x${'99'.repeat(20)}` })).result, { accessList: [], gasUsed: '0x5208' })
})

t.test('code and slots may be overridden, and nobody has to be able to pay', async (t) => {
  const here = `0x${'77'.repeat(20)}`
  const slot = (digit: string) => `0x${digit.padStart(64, '0')}`
  // Loads the slot whose number is in slot 1.
  const account = { code: '0x60015454', stateDiff: { [slot('1')]: slot('2a') } }
  const { result } = await ask({ from: `0x${'55'.repeat(20)}`, to: here }, 'latest', { [here]: account })
  t.same(result.accessList, [{ address: here, storageKeys: [slot('1'), slot('2a')] }])
  t.match((await ask({ to: here }, 'latest', {}, {})).error, {
    code: -32602,
    message: 'too many arguments, want at most 3',
  })
})

t.test('what an instruction names that could not be paid is listed, as by go-ethereum', async (t) => {
  const here = `0x${'77'.repeat(20)}`
  const address = (digits: string) => `0x${digits.padStart(40, '0')}`
  // Calls 0xcc with 50 gas, which is not enough for BALANCE of 0xbb, nor for CALL of it with five words on the stack.
  for (const inner of ['0x60bb31', '0x3d3d3d60bb5af1']) {
    const overrides = { [here]: { code: '0x5f5f5f5f5f60cc6032f1' }, [address('cc')]: { code: inner } }
    const { result } = await ask({ to: here }, 'latest', overrides)
    t.same(
      result.accessList.map((entry: { address: string }) => entry.address),
      [address('bb'), address('cc')],
      inner,
    )
  }
})

t.test('members that mean nothing are ignored', (t) =>
  checkIgnoredMembers(t, service, 'eth_createAccessList'),
)

t.test('calls that cannot be executed are refused', (t) =>
  checkCallRefusals(t, service, 'eth_createAccessList'),
)
