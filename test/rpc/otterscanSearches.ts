/** Common parts of the two searches for transactions of an address, towards the head and towards genesis. */
import t from 'tap'
import type { Service } from '../service/service.js'
import { examples, type Json } from './demoChain.js'
import { changesOf, partiesOf, traceChain } from './otterscanCalls.js'

export interface SearchPage {
  readonly txs: Json[]
  readonly receipts: Json[]
  readonly firstPage: boolean
  readonly lastPage: boolean
}

const people = [...examples.accounts.slice(0, 3), ...examples.contracts.slice(0, 3)]
export const somebody = people[0]?.address ?? ''

/** Tests of one of the searches; `page` requests a page, `isBackward` is set for the search towards genesis. */
export function testSearch(
  service: Service,
  page: (address: string, number: number, size: number) => Promise<SearchPage>,
  isBackward: boolean,
): void {
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
        t.equal(isBackward ? firstPage : lastPage, number === 0)
        t.strictSame(
          receipts.map(({ transactionHash }) => transactionHash),
          txs.map(({ hash }) => hash),
        )
        if (isBackward) found.push(...txs)
        else found.unshift(...txs)
        if (isBackward ? lastPage : firstPage) break
        t.ok(txs.length >= 7)
        number = Number(txs.at(isBackward ? -1 : 0)?.blockNumber)
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
    const { txs, receipts } = await page(somebody, 0, 3)
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
}
