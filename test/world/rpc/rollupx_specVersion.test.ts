// @shares
import t from 'tap'
import { startRollup } from '../../rollup/rollupService.js'
import { checkRefusals } from '../../rpc/questions.js'

t.test('the version of the specification', async (t) => {
  const service = await startRollup(t)
  t.equal((await service.call('rollupx_specVersion')).result, '0.10.2')
  await checkRefusals(t, service, 'rollupx_specVersion', [
    [['latest'], -32602, 'too many arguments, want at most 0'],
  ])
})
