import t from 'tap'
import { blocks, unknownHash } from '../../rpc/demoChain.js'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'debug_intermediateRoots'
const service = await startService()
t.teardown(() => service.stop())

t.test(
  'a block has a root for each transaction, and the last is its own where nothing follows',
  async (t) => {
    const own = await askResults(
      service,
      blocks.map(({ hash }) => ['eth_getBlockByHash', [hash, false]] as const),
    )
    const results = await askResults(
      service,
      blocks.map(({ hash }) => [method, [hash]] as const),
    )
    let whole = 0
    for (const [at, roots] of results.entries()) {
      const { transactions, stateRoot, difficulty, withdrawals } = own[at]
      t.equal(roots?.length ?? 0, transactions.length)
      if (roots === null || difficulty !== '0x0' || (withdrawals ?? []).length > 0) continue
      whole++
      t.equal(roots.at(-1), stateRoot)
    }
    t.ok(whole > 20)
  },
)

t.test('blocks that are not there or executed nothing are refused', async (t) => {
  const genesis = (await service.call('eth_getBlockByNumber', ['0x0', false])).result.hash
  await checkRefusals(t, service, method, [
    [[genesis], -32000, 'genesis is not traceable'],
    [[unknownHash], -32000, `block ${unknownHash} not found`],
  ])
})
