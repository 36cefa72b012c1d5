import t from 'tap'
import { startRollup } from '../rollupService.js'
import { checkRefusals } from './questions.js'

t.test('the chain id, configured as text or as a felt', async (t) => {
  for (const chainId of ['SN_MAIN', '0x00534E5F4d41494e']) {
    const service = await startRollup(t, { chainId })
    t.equal((await service.call('rollupx_chainId')).result, '0x534e5f4d41494e')
    t.equal((await service.call('rollupx_chainId', {})).result, '0x534e5f4d41494e')
    await checkRefusals(t, service, 'rollupx_chainId', [
      [['latest'], -32602, 'too many arguments, want at most 0'],
    ])
  }
})
