import t from 'tap'
import { blocks, quantity } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'erigon_getHeaderByNumber'
const service = await startService()
t.teardown(() => service.stop())

t.test('it is eth_getHeaderByNumber, and takes JSON numbers as well', async (t) => {
  const some = blocks.filter(({ number }) => number % 20 === 0).map(({ number }) => number)
  const expected = await askResults(
    service,
    some.map((number) => ['eth_getHeaderByNumber', [quantity(number)]]),
  )
  for (const write of [quantity, (number: number) => number, String]) {
    const headers = await askResults(
      service,
      some.map((number) => [method, [write(number)]]),
    )
    t.strictSame(headers, expected)
  }
  t.equal((await service.call(method, [65_535])).result, null)
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, countRefusals(['latest']))
})
