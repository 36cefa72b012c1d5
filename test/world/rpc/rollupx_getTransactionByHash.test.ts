// @shares
import t from 'tap'
import { makeTransaction, specTransaction } from '../../rollup/invokeTransactions.js'
import { startRollup } from '../../rollup/rollupService.js'
import { checkRefusals } from '../../rpc/questions.js'

const method = 'rollupx_getTransactionByHash'
const service = await startRollup(t)

t.test('a transaction comes back in the official shape', async (t) => {
  const official = makeTransaction(1, 2)
  const hash = await service.take(official)
  t.strictSame((await service.call(method, [hash])).result, { transaction_hash: hash, ...official })
  t.strictSame((await service.call(method, { transaction_hash: hash })).result.transaction_hash, hash)
  t.equal(
    (await service.call(method, [`0x${hash.slice(2).padStart(64, '0')}`])).result.transaction_hash,
    hash,
  )
  const bare = await service.take(specTransaction)
  t.match((await service.call(method, [bare])).result, {
    resource_bounds: { l1_gas: { max_amount: '0x28ed6103d0000', max_price_per_unit: '0x1' } },
    signature: [/^0x/, /^0x/],
  })
})

t.test('what is unknown and what is no hash', async (t) => {
  await checkRefusals(t, service, method, [
    [['0x1'], 29, 'Transaction hash not found'],
    [[], -32602, 'missing value for required argument 0'],
    [[7], -32602, 'invalid argument 0: want a transaction hash, got number'],
    [['1'], -32602, 'invalid argument 0: want a transaction hash of 1 to 64 hex digits'],
  ])
})
