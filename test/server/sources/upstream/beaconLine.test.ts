import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { BeaconLine } from '../../../../src/sources/upstream/beaconLine.js'

t.test('a path and a key of the URL are part of every request', async (t) => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.end('{"data":"x"}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const url = new URL(`http://127.0.0.1:${port}/below/?apikey=a%20b`)
  const line = new BeaconLine({ url, headers: {}, answerBytesMax: 1_000 })
  t.teardown(() => line.close())
  const calls = ['/eth/v1/one', '/eth/v1/two?count=2'].map((method, id) => ({ id, method, params: [] }))
  const answers = await line.exchange(calls, new AbortController().signal)
  t.match(answers, [{ result: { json: { data: 'x' } } }, { result: { json: { data: 'x' } } }])
  t.strictSame(asked.sort(), ['/below/eth/v1/one?apikey=a+b', '/below/eth/v1/two?count=2&apikey=a+b'])
})
