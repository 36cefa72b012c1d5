import t from 'tap'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'net_peerCount'
const service = await startService()
t.teardown(() => service.stop())

t.test('it is what a node answers that holds no keys, makes no blocks and has no peers', async (t) => {
  t.strictSame((await service.call(method)).result, '0x0')
  await checkRefusals(t, service, method, countRefusals([]))
})
