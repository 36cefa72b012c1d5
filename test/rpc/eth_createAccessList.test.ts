import t from 'tap'
import { type Service, startService } from '../service.js'
import { sights } from './demoChain.js'

let service: Service
t.before(async () => {
  service = await startService()
})
t.teardown(() => service.stop())

t.test('the list holds the slot that a balance is read from', async (t) => {
  const slot = sights.slots.find(({ label }) => label === 'Tide of bea at the head')
  const owner = sights.accounts.find(({ name }) => name === 'bea')
  if (slot === undefined || owner === undefined) throw new Error('the demo network has no bea')
  const data = `0x70a08231${owner.address.slice(2).padStart(64, '0')}`
  const { result } = await service.call('eth_createAccessList', [{ to: slot.address, data }, 'latest'])
  t.same(result.accessList, [{ address: slot.address, storageKeys: [slot.slot] }])
  const { error } = await service.call('eth_call', [
    { to: slot.address, data, gas: result.gasUsed, accessList: result.accessList },
  ])
  t.equal(error, undefined, 'the gas that it names is enough')
})

t.test('a call that touches nothing has an empty list', async (t) => {
  const { result } = await service.call('eth_createAccessList', [
    { to: '0x00000000000000000000000000000000000000ac' },
  ])
  t.match(result, { accessList: [], gasUsed: '0x5208' })
})

t.test('an unknown block and a malformed call are refused', async (t) => {
  t.match(
    (
      await service.call('eth_createAccessList', [
        { to: '0x00000000000000000000000000000000000000ac' },
        '0xffffff',
      ])
    ).error,
    { code: -32000 },
  )
  t.match((await service.call('eth_createAccessList', [{ to: '0x1' }, 'latest'])).error, { code: -32602 })
})
