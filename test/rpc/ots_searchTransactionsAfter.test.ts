import t from 'tap'
import { startService } from '../service.js'
import { examples, type Json } from './demoChain.js'
import { changesOf, partiesOf, traceChain } from './otterscanCalls.js'

const method = 'ots_searchTransactionsAfter'
const service = await startService()
t.teardown(() => service.stop())

const page = async (address: string, number: number, size: number) =>
  (await service.call(method, [address, number, size])).result as {
    txs: Json[]
    receipts: Json[]
    firstPage: boolean
    lastPage: boolean
  }

const people = [...examples.accounts.slice(0, 3), ...examples.contracts.slice(0, 3)]

t.test('pages have each transaction of the blocks that changed the account', async (t) => {
  const chain = await traceChain(service)
  let inner = 0
  for (const { address } of people) {
    const changes = await changesOf(service, address)
    const expected = chain.filter(({ number, call }) => changes.has(number) && partiesOf(call).has(address))
    inner += expected.filter(({ call }) => call.from !== address && call.to !== address).length
    const found: Json[] = []
    for (let number = 0; ; ) {
      const { txs, receipts, firstPage, lastPage } = await page(address, number, 7)
      t.equal(lastPage, number === 0)
      t.strictSame(
        receipts.map(({ transactionHash }) => transactionHash),
        txs.map(({ hash }) => hash),
      )
      found.unshift(...txs)
      if (firstPage) break
      t.ok(txs.length >= 7)
      number = Number(txs.at(0)?.blockNumber)
    }
    t.strictSame(
      found.map(({ hash }) => hash),
      expected.map(({ hash }) => hash).reverse(),
      address,
    )
  }
  t.ok(inner > 0)
})

t.test('transactions and receipts are those of other methods, with the time of the block', async (t) => {
  const { txs, receipts } = await page(people[0]?.address ?? '', 0, 3)
  t.ok(txs.length >= 3)
  for (const [index, { hash, blockHash }] of txs.entries()) {
    t.strictSame(txs[index], (await service.call('eth_getTransactionByHash', [hash])).result)
    const receipt = (await service.call('eth_getTransactionReceipt', [hash])).result
    const { timestamp } = (await service.call('eth_getBlockByHash', [blockHash, false])).result
    t.strictSame(receipts[index], { ...receipt, timestamp: Number(timestamp) })
  }
})

t.test('an address without history has one empty page', async (t) => {
  t.strictSame(await page(`0x${'5a'.repeat(20)}`, 0, 25), {
    txs: [],
    receipts: [],
    firstPage: true,
    lastPage: true,
  })
})

t.test('after the head there is one empty page, however large the number', async (t) => {
  for (const number of [100_000, Number.MAX_SAFE_INTEGER]) {
    t.strictSame(await page(people[0]?.address ?? '', number, 25), {
      txs: [],
      receipts: [],
      firstPage: true,
      lastPage: false,
    })
  }
})
