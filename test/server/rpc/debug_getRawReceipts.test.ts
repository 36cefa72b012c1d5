import t from 'tap'
import { blocks, hex, quantity, unknownHash } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, refusalsOfBlock } from '../../rpc/questions.js'
import { bytesOfReceiptJson } from '../../rpc/receiptOracle.js'
import { startService } from '../../service/service.js'

const method = 'debug_getRawReceipts'
const service = await startService()
t.teardown(() => service.stop())

t.test('every receipt has the bytes of its object', async (t) => {
  const numbers = blocks.map(({ number }) => quantity(number))
  const raw: string[][] = await askResults(
    service,
    numbers.map((number) => [method, [number]]),
  )
  const objects = await askResults(
    service,
    numbers.map((number) => ['eth_getBlockReceipts', [number]]),
  )
  for (const [at, receipts] of objects.entries()) {
    t.strictSame(
      raw[at],
      receipts.map((receipt: never) => hex(bytesOfReceiptJson(receipt))),
    )
  }
  const { hash } = blocks[149] as { hash: string }
  t.strictSame((await service.call(method, [{ blockHash: hash }])).result, raw[149])
  for (const id of ['0xffff', unknownHash]) t.equal((await service.call(method, [id])).result, null)
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [...refusalsOfBlock('number')])
})
