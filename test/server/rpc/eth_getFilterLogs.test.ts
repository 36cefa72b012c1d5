import t from 'tap'
import { openForkingEndpoint } from '../../rpc/forkingEndpoint.js'
import { addressOfNumber } from '../../unit/serving/streams/forkingChain.js'

const some = [{ address: addressOfNumber(1), topics: [] }]

t.test('answers what eth_getLogs would, and leaves the changes as they are', async (t) => {
  const { forks, ask } = openForkingEndpoint(t)
  forks.extend(some, some)
  for (const filter of [
    { fromBlock: '0x1' },
    {},
    { blockHash: forks.head.hash },
    { fromBlock: 'earliest' },
  ]) {
    const id = await ask('eth_newFilter', [filter])
    forks.extend(some)
    t.strictSame(await ask('eth_getFilterLogs', [id]), await ask('eth_getLogs', [filter]))
    t.equal((await ask('eth_getFilterChanges', [id])).length, 1)
  }
})

t.test('refuses what is too much as eth_getLogs does', async (t) => {
  const { forks, ask, answer } = openForkingEndpoint(t, { bounds: { logsMax: 1, logBytesMax: 2 ** 20 } })
  forks.extend(some, some)
  const id = await ask('eth_newFilter', [{ fromBlock: '0x1' }])
  t.match((await answer('eth_getFilterLogs', [id])).error, { code: -32005, data: [1, 1] })
})
