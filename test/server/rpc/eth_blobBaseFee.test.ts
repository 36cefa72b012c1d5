import t from 'tap'
import { blocks, forkBlock } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, countRefusals, type Question } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_blobBaseFee'
const service = await startService()
t.teardown(() => service.stop())

t.test('it is what the blobs of a block are charged, and null before there are any', async (t) => {
  const blobs = blocks.filter(({ transactions }) => transactions.some(({ type }) => type === 3))
  const lists = await askResults(
    service,
    blobs.map(({ hash }): Question => ['eth_getBlockReceipts', [{ blockHash: hash }]]),
  )
  const ask = async (at: string | undefined) => {
    const { text } = await service.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, at }))
    return JSON.parse(text).result
  }
  for (const [at, receipts] of lists.entries()) {
    const { blobGasPrice } = receipts.find(({ type }: { type: string }) => type === '0x3')
    t.equal(await ask(blobs[at]?.hash), blobGasPrice)
  }
  t.ok(blobs.length > 3)
  t.equal(await ask(blocks[forkBlock('cancun') - 2]?.hash), null)
  t.match(await ask(undefined), /^0x/)
  await checkRefusals(t, service, method, countRefusals([]))
})
