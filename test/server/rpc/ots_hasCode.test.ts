import t from 'tap'
import { addressOf, examples } from '../../rpc/demoChain.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

t.test('whether there is code is what eth_getCode says, at every block', async (t) => {
  for (const { address } of [...examples.contracts, ...examples.accounts]) {
    for (const block of ['latest', 'earliest', '0x64']) {
      const code = (await service.call('eth_getCode', [address, block])).result
      t.equal((await service.call('ots_hasCode', [address, block])).result, code !== '0x')
    }
  }
  t.equal((await service.call('ots_hasCode', [addressOf('Tide')])).result, true)
  t.match((await service.call('ots_hasCode', [addressOf('Tide'), '0xffff'])).error, { code: -32000 })
})
