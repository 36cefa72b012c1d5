import t from 'tap'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_getBadBlocks'
const service = await startService()
t.teardown(() => service.stop())

t.test('no block that was refused is kept', async (t) => {
  t.strictSame((await service.call(method)).result, [])
  await checkRefusals(t, service, method, countRefusals([]))
})
