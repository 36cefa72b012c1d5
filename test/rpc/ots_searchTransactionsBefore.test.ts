import t from 'tap'
import { startService } from '../service/service.js'
import { type SearchPage, testSearch } from './otterscanSearches.js'

const service = await startService()
t.teardown(() => service.stop())

const page = async (address: string, number: number, size: number): Promise<SearchPage> =>
  (await service.call('ots_searchTransactionsBefore', [address, number, size])).result

testSearch(service, page, true)
