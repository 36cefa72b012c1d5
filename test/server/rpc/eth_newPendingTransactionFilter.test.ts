import t from 'tap'
import { openForkingEndpoint } from '../../rpc/forkingEndpoint.js'

t.test('tells none where there is no node', async (t) => {
  const { forks, ask } = openForkingEndpoint(t)
  for (const params of [[], [true], [false]]) {
    const id = await ask('eth_newPendingTransactionFilter', params)
    forks.extend([])
    t.strictSame(await ask('eth_getFilterChanges', [id]), [])
    t.equal(await ask('eth_uninstallFilter', [id]), true)
  }
})
