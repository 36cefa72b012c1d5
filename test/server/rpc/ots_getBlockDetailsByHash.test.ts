import t from 'tap'
import { headBlock, unknownHash } from '../../rpc/demoChain.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

t.test('details by hash are those by number', async (t) => {
  const byHash = await service.call('ots_getBlockDetailsByHash', [headBlock.hash])
  t.same(byHash.result, (await service.call('ots_getBlockDetails', ['latest'])).result)
  t.equal((await service.call('ots_getBlockDetailsByHash', [unknownHash])).result, null)
})
