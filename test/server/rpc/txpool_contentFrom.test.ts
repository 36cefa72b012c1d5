/** txpool_content.test.ts compares the answers of this method. */
import t from 'tap'
import { addressOf } from '../../rpc/demoChain.js'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

t.test('what is no address is refused', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await checkRefusals(t, service, 'txpool_contentFrom', [
    ...countRefusals([addressOf('bea')]),
    [['0x12'], -32602, 'invalid argument 0: hex string has length 2, want 40 for address'],
  ])
})
