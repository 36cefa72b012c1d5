/** Requests that are sent before the answers to those before them are there. */
import { readFileSync } from 'node:fs'
import { test } from '../../../transport/eachTransport.js'
import { RawClient, rawPost } from '../../../unit/serving/transport/rawClient.js'
import { echo, echoed, goodKey, withServer } from '../../../unit/serving/transport/testServer.js'

const statisticsPath = '/proc/self/net/snmp'

/** TCP segments that this machine has sent; undefined if the system does not report them. */
function segmentsSent(): number | undefined {
  try {
    const [names, values] = readFileSync(statisticsPath, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('Tcp:'))
      .map((line) => line.split(' '))
    return Number(values?.[names?.indexOf('OutSegs') ?? -1])
  } catch {
    return undefined
  }
}

test('answers to requests that came together leave together', async (t) => {
  const { port } = await withServer(t)
  const count = 2_000
  const requests = rawPost(`/v3/${goodKey}`, echo).repeat(count)
  // Other processes send as well meanwhile, so that the best of some tries counts.
  let fewest = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 30 && fewest > count; tries++) {
    const client = await RawClient.connect(port)
    const before = segmentsSent() ?? 0
    client.write(requests)
    const bodies = new Set<string | undefined>()
    for (let answer = 0; answer < count; answer++) bodies.add((await client.read())?.body)
    t.strictSame([...bodies], [echoed])
    fewest = Math.min(fewest, (segmentsSent() ?? 0) - before)
    client.socket.destroy()
  }
  const skip = segmentsSent() === undefined && `the system has no ${statisticsPath}`
  t.ok(fewest <= count, `${fewest} segments for ${count} answers`, { skip })
})
