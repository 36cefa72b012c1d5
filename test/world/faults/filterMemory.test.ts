/** The largest possible log filters, on as many sockets as needed, on the program as its operator runs it. */
import t from 'tap'
import { waitFor } from '../../library/until.js'
import { startKeyedDemo } from '../../service/keyedDemo.js'
import { SocketClient } from '../../transport/socketClient.js'

const sockets = 12
const addressesPerFilter = 1_000

/** Filters requested on one socket: more than its share, and few enough for a test. */
const filtersAsked = 50

let serial = 0

/** A subscription with addresses that no other one has. */
function subscribeToThousand(id: number): string {
  const address = Array.from(
    { length: addressesPerFilter },
    () => `0x${(++serial).toString(16).padStart(40, '0')}`,
  )
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params: ['logs', { address }] })
}

async function connect(origin: string, key: string): Promise<SocketClient> {
  const client = await SocketClient.connect(`${origin.replace('http', 'ws')}/ws/v3/${key}`)
  t.teardown(() => client.cut())
  return client
}

/** Requests as many filters as a socket gets. Returns the refusal of the first one beyond. */
async function fill(client: SocketClient): Promise<{ taken: number; refusal: string | undefined }> {
  let refusal: string | undefined
  let taken = 0
  for (let id = 0; id < filtersAsked; id++) {
    const answer = JSON.parse((await client.ask(subscribeToThousand(id))) ?? '{}')
    if (answer.result !== undefined) taken++
    else refusal ??= answer.error.message
  }
  return { taken, refusal }
}

t.test('filters of one key have a bound, whatever the number of its sockets and edges', async (t) => {
  const { service, keys } = await startKeyedDemo(t, ['one', 'other'], {
    edges: process.platform === 'linux' ? 2 : 1,
  })
  const [one, other] = keys as [string, string]
  t.teardown(() => service.stop())

  const clients = await Promise.all(Array.from({ length: sockets }, () => connect(service.origin, one)))
  const first = await fill(clients[0] as SocketClient)
  t.ok(first.taken >= 10 && first.taken < filtersAsked, `${first.taken} filters on one socket`)
  t.match(first.refusal, /limit exceeded: .* of this connection .*; end some/)
  let taken = first.taken
  let refusal: string | undefined
  for (const client of clients.slice(1)) {
    const filled = await fill(client)
    taken += filled.taken
    refusal = filled.refusal
  }
  t.ok(taken < sockets * first.taken, `${taken} filters on ${sockets} sockets`)
  t.match(refusal, /limit exceeded: .* of this API key .*; end some/)

  const stranger = await connect(service.origin, other)
  t.match(await stranger.ask(subscribeToThousand(1)), /"result":"0x/, 'another key has its own')

  const [gone, ...left] = clients as [SocketClient, ...SocketClient[]]
  gone.cut()
  const last = left.at(-1) as SocketClient
  await waitFor('the memory of a socket that is gone', async () =>
    (await last.ask(subscribeToThousand(2)))?.includes('"result":"0x'),
  )
})
