import t from 'tap'
import { openForkingEndpoint } from '../../rpc/forkingEndpoint.js'
import { growFrom } from '../../unit/serving/streams/forkingChain.js'

t.test('tells the hashes of new blocks, those of a new branch too', async (t) => {
  const { forks, ask, answer } = openForkingEndpoint(t)
  const [base] = forks.extend([])
  const id = await ask('eth_newBlockFilter', [])
  t.strictSame(await ask('eth_getFilterChanges', [id]), [])
  const left = forks.extend([], [])
  t.strictSame(
    await ask('eth_getFilterChanges', [id]),
    left.map(({ hash }) => hash),
  )
  const branch = growFrom(base as never, [[], [], []])
  forks.write(branch[2] as never)
  forks.chain.refreshHead()
  t.strictSame(
    await ask('eth_getFilterChanges', [id]),
    branch.map(({ hash }) => hash),
  )
  t.strictSame((await answer('eth_getFilterLogs', [id])).error, { code: -32000, message: 'filter not found' })
})
