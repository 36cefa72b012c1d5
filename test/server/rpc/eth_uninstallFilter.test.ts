import t from 'tap'
import { openForkingEndpoint } from '../../rpc/forkingEndpoint.js'

t.test('ends a filter, once', async (t) => {
  const { ask, answer } = openForkingEndpoint(t)
  const id = await ask('eth_newBlockFilter', [])
  t.equal(await ask('eth_uninstallFilter', [id]), true)
  t.equal(await ask('eth_uninstallFilter', [id]), false)
  t.equal(await ask('eth_uninstallFilter', ['0x1']), false)
  t.strictSame((await answer('eth_getFilterChanges', [id])).error, {
    code: -32000,
    message: 'filter not found',
  })
  t.match((await answer('eth_uninstallFilter', [7])).error, { code: -32602 })
})
