/** txpool_content.test.ts compares the answers of this method. */
import t from 'tap'
import { checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

t.test('it takes no parameters', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await checkRefusals(t, service, 'txpool_status', [[['0x1'], -32602, 'too many arguments, want at most 0']])
})
