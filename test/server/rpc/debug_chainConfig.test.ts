import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { devnetDir } from '../../rpc/demoChain.js'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_chainConfig'
const service = await startService()
t.teardown(() => service.stop())

t.test('the rules that the genesis file has', async (t) => {
  const { config } = JSON.parse(readFileSync(join(devnetDir, 'genesis.json'), 'utf8'))
  t.strictSame((await service.call(method)).result, config)
  await checkRefusals(t, service, method, countRefusals([]))
})
