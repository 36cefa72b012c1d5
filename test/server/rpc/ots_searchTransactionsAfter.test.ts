import t from 'tap'
import { type SearchPage, somebody, testSearch } from '../../rpc/otterscanSearches.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

const page = async (address: string, number: number, size: number): Promise<SearchPage> =>
  (await service.call('ots_searchTransactionsAfter', [address, number, size])).result

testSearch(service, page, false)

t.test('after the head there is one empty page, however large the number', async (t) => {
  for (const number of [100_000, Number.MAX_SAFE_INTEGER]) {
    t.strictSame(await page(somebody, number, 25), {
      txs: [],
      receipts: [],
      firstPage: true,
      lastPage: false,
    })
  }
})
