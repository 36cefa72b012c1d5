// @shares
import t from 'tap'
import { startRollups } from '../../rollup/rollupService.js'
import { checkRefusals } from '../../rpc/questions.js'

t.test('the chain id, configured as text or as a felt', async (t) => {
  const networks = await startRollups(t, {
    text: { chainId: 'SN_MAIN' },
    felt: { chainId: '0x00534E5F4d41494e' },
  })
  for (const service of Object.values(networks)) {
    t.equal((await service.call('rollupx_chainId')).result, '0x534e5f4d41494e')
    t.equal((await service.call('rollupx_chainId', {})).result, '0x534e5f4d41494e')
    await checkRefusals(t, service, 'rollupx_chainId', [
      [['latest'], -32602, 'too many arguments, want at most 0'],
    ])
  }
})
