import t from 'tap'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

t.test('Otterscan is told its level', async (t) => {
  t.equal((await service.call('ots_getApiLevel')).result, 8)
})
