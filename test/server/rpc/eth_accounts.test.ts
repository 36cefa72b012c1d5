import t from 'tap'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { ada, poor, rich, startSigners } from '../../rpc/signers.js'
import { startService } from '../../service/service.js'

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

t.test('an account that gets ether later is signed for, until that is taken back', async (t) => {
  const own = await startSigners(t)
  const has = async () => ((await own.call(method)).result as string[]).includes(poor.address.toLowerCase())
  t.equal(await has(), false)
  const { result: snapshot } = await own.call('evm_snapshot')
  t.match(await own.call('anvil_setBalance', [poor.address, '0xde0b6b3a7640000']), { result: null })
  t.equal(await has(), true)
  const payment = { from: poor.address, to: ada, value: '0x1' }
  t.match(await own.call('eth_sendTransaction', [payment]), { result: /^0x/ })
  t.match(await own.call('evm_revert', [snapshot]), { result: true })
  t.equal(await has(), false)
})

t.test('it is what a node answers that holds no keys, makes no blocks and has no peers', async (t) => {
  t.strictSame((await service.call(method)).result, [])
  await checkRefusals(t, service, method, countRefusals([]))
})
