import t from 'tap'
import { startService } from '../service/service.js'
import { checkRefusals, countRefusals } from './questions.js'

const method = 'debug_getBadBlocks'
const service = await startService()
t.teardown(() => service.stop())

t.test('no block that was refused is kept', async (t) => {
  t.strictSame((await service.call(method)).result, [])
  await checkRefusals(t, service, method, countRefusals([]))
})
