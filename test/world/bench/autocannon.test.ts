import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { askByAutocannon } from '../../../bench/load/httpRun.js'

async function listen(t: Test, onRequest: RequestListener): Promise<string> {
  const server = createServer(onRequest)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/some/path`
}

t.test('connections ask in turns, and their first answers do not count', async (t) => {
  const heard: string[] = []
  const sockets = new Set<Socket>()
  const url = await listen(t, async (request, response) => {
    sockets.add(request.socket)
    heard.push(`${request.url} ${await text(request)}`)
    response.end('answer')
  })
  const bodies = Array.from({ length: 15 }, (_, at) => `body ${at}`)
  const latencies = await askByAutocannon({ url, bodies, rate: 5, seconds: 2 })
  t.equal(latencies.length, 10)
  t.ok(latencies.every((ms) => ms > 0))
  t.equal(sockets.size, 5)
  t.ok(heard.length > 5, 'more than the first questions')
  // On a busy machine two that are asked shortly after each other may come in another order.
  t.equal(new Set(heard).size, heard.length, 'no body twice')
  t.ok(heard.every((one) => bodies.includes(one.replace('/some/path ', ''))))
})

t.test('no question waits for the answer to another', async (t) => {
  const together = 10
  const seen = new Set<Socket>()
  const held: ServerResponse[] = []
  let wereTogether = false
  const url = await listen(t, (request, response) => {
    request.resume()
    if (!seen.has(request.socket)) {
      seen.add(request.socket)
      response.end('answer')
      return
    }
    held.push(response)
    // A client that waits for earlier answers before it sends more would never send this many.
    if (held.length < together) return
    wereTogether = true
    for (const one of held.splice(0)) one.end('answer')
  })
  const latencies = await askByAutocannon({ url, bodies: ['body'], rate: 3 * together, seconds: 1 })
  t.equal(latencies.length, 3 * together)
  t.ok(wereTogether)
})

t.test('an answer that does not come counts with the time that it had', async (t) => {
  let asked = 0
  const url = await listen(t, (request, response) => {
    request.resume()
    if (++asked <= 3) response.end('answer')
  })
  t.same(await askByAutocannon({ url, bodies: ['body'], rate: 3, seconds: 1 }), [800, 800, 800])
})

t.test('a failed answer or connection fails the run', async (t) => {
  const failing = await listen(t, (request, response) => {
    request.resume()
    response.statusCode = 500
    response.end()
  })
  await t.rejects(askByAutocannon({ url: failing, bodies: ['body'], rate: 2, seconds: 1 }), {
    message: /^http:\S+: 0 connections failed, \d+ answers were not 200/,
  })
  const silent = await listen(t, (request) => request.resume())
  await t.rejects(askByAutocannon({ url: silent, bodies: ['body'], rate: 2, seconds: 1 }), {
    message: /a connection had no answer in 1\.8 s/,
  })
})
