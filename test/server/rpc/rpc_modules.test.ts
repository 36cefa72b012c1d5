import t from 'tap'
import { methods } from '../../../src/serving/rpc/registry.js'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'rpc_modules'
const service = await startService()
t.teardown(() => service.stop())

t.test('every namespace that has a method has a version, and no other', async (t) => {
  const namespaces = new Set([...Object.keys(methods).map((name) => name.split('_')[0] ?? ''), 'rpc'])
  const expected = Object.fromEntries([...namespaces].sort().map((namespace) => [namespace, '1.0']))
  t.equal(JSON.stringify((await service.call(method)).result), JSON.stringify(expected))
  await checkRefusals(t, service, method, countRefusals([]))
})
