import t from 'tap'
import { startService } from '../service/service.js'
import { checkRefusals, countRefusals } from './questions.js'
import { rich, startSigners } from './signers.js'

const method = 'eth_accounts'
const service = await startService()
t.teardown(() => service.stop())

t.test('a developer chain signs for those accounts of test tools that have ether', async (t) => {
  const own = await startSigners(t)
  t.strictSame(
    (await own.call(method)).result,
    rich.map(({ address }) => address.toLowerCase()),
  )
})

t.test('it is what a node answers that holds no keys, makes no blocks and has no peers', async (t) => {
  t.strictSame((await service.call(method)).result, [])
  await checkRefusals(t, service, method, countRefusals([]))
})
