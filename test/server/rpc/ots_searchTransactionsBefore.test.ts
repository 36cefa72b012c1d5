import t from 'tap'
import { type SearchPage, testSearch } from '../../rpc/otterscanSearches.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

const page = async (address: string, number: number, size: number): Promise<SearchPage> =>
  (await service.call('ots_searchTransactionsBefore', [address, number, size])).result

testSearch(service, page, true)
