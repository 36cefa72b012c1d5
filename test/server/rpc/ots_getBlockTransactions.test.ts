import t from 'tap'
import { blocks, type Json, quantity } from '../../rpc/demoChain.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())
const full = blocks.reduce((most, block) =>
  block.transactions.length > most.transactions.length ? block : most,
)

t.test('pages go from the end of a block to its beginning, and together have all of it', async (t) => {
  const tag = quantity(full.number)
  const block = (await service.call('eth_getBlockByNumber', [tag, true])).result
  const receipts = (await service.call('eth_getBlockReceipts', [tag])).result as Json[]
  const pageSize = 37
  const transactions: Json[] = []
  const found: Json[] = []
  for (let page = 0; page * pageSize < block.transactions.length; page++) {
    const { result } = await service.call('ots_getBlockTransactions', [tag, page, pageSize])
    t.equal(result.fullblock.transactionCount, quantity(block.transactions.length))
    t.equal(result.fullblock.hash, block.hash)
    transactions.unshift(...result.fullblock.transactions)
    found.unshift(...result.receipts)
  }
  t.same(
    transactions,
    block.transactions.map((each: Json) => ({ ...each, input: (each.input as string).slice(0, 10) })),
  )
  t.same(
    found,
    receipts.map((receipt) => ({ ...receipt, logs: null, logsBloom: null })),
  )
})

t.test('beyond the last page there is nothing', async (t) => {
  const { result } = await service.call('ots_getBlockTransactions', [quantity(full.number), 1_000, 25])
  t.match(result, { fullblock: { transactions: [] }, receipts: [] })
  t.equal((await service.call('ots_getBlockTransactions', ['0xffff', 0, 25])).result, null)
  const { error } = await service.call('ots_getBlockTransactions', ['latest', 0, 256])
  t.match(error, { code: -32602, message: /want a page size from 0 to 255, got 256/ })
})
