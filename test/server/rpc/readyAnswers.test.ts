/** Methods that send stored answers, compared with those that render them from the rows of the blocks. */
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { blocks, headBlock, type Json, quantity } from '../../rpc/demoChain.js'
import { askResults } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'
import { demoStorePath } from '../../store/storedMessages.js'

const service = await startService()
t.teardown(() => service.stop())

t.test('the served store has answers of the newest blocks, and lacks those of older ones', async (t) => {
  const store = ChainReader.open({ path: demoStorePath })
  t.teardown(() => store.close())
  const { first, last } = store.readReadyRange()
  t.equal(last, headBlock.number)
  t.ok(first > 0 && first < last, `from block ${first}`)
})

t.test('a stored answer and a rendered one are the same, of new and of old blocks', async (t) => {
  const byNumber = await askResults(
    service,
    blocks.map(({ number }) => ['eth_getBlockByNumber', [quantity(number), false]]),
  )
  const byHash = await askResults(
    service,
    blocks.map(({ hash }) => ['eth_getBlockByHash', [hash, false]]),
  )
  const full = await askResults(
    service,
    blocks.map(({ hash }) => ['eth_getBlockByHash', [hash, true]]),
  )
  const receipts = await askResults(
    service,
    blocks.map(({ hash }) => ['eth_getBlockReceipts', [hash]]),
  )
  for (const [at, block] of blocks.entries()) {
    const { transactions } = full[at] as { transactions: Json[] }
    const hashes = transactions.map(({ hash }) => hash)
    t.strictSame(byNumber[at], { ...full[at], transactions: hashes }, `block ${block.number}`)
    t.strictSame(byHash[at], byNumber[at])
    const one = (method: string) =>
      askResults(
        service,
        hashes.map((hash) => [method, [hash]]),
      )
    if (hashes.length === 0) continue
    t.strictSame(await one('eth_getTransactionByHash'), transactions)
    t.strictSame(await one('eth_getTransactionReceipt'), receipts[at])
  }
})
