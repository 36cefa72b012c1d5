/** Long traces are sent in parts, and end with their client. */
import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { once } from '../../library/until.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { post } from '../../service/httpClient.js'
import { writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { connectToEdge, EdgeAgent } from '../../transport/edgeConnections.js'
import { SocketClient } from '../../transport/socketClient.js'

const looping = '0x00000000000000000000000000000000000c0de5'

/** A trace of a loop of three instructions: about `steps` of them. */
function loopCall(steps: number): string {
  const gas = `0x${(21_000 + Math.ceil((steps / 3) * 11)).toString(16)}`
  const options = { stateOverrides: { [looping]: { code: '0x5b5f56' } } }
  const params = [{ to: looping, gas }, 'latest', options]
  return JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'debug_traceCall', params })
}
const small = loopCall(30)
/** About 20 MB. */
const long = loopCall(300_000)
/** About 60 MB, more than any buffer between. */
const longer = loopCall(900_000)

const cases = [
  { transport: 'uws', edge: 0 },
  { transport: 'node', edge: 0 },
  { transport: 'uws', edge: 1 },
]

for (const { transport, edge } of someOf(cases, 1)) {
  const skip = edge > 0 && process.platform !== 'linux' && 'edges share a port on Linux alone'
  t.test(`${transport}, edge ${edge}`, { skip }, async (t) => {
    const config = JSON.parse(readFileSync(fixtureConfig, 'utf8'))
    const limits = { ...config.limits, poolThreads: 2, traceMsMax: 600_000 }
    const settings = { ...config, limits, edges: edge + 1, logSample: 1 }
    const path = writeConfig(makeFolder(t), settings)
    const service = await startService(['--config', path, '--no-auth', '--transport', transport])
    t.teardown(() => service.stop())
    const agent = edge === 0 ? new Agent() : new EdgeAgent(t, service, edge)
    const ask = (body: string) => post(service.origin, body, {}, agent)
    const { port } = new URL(service.origin)

    t.test('a trace of several parts is one JSON text', async (t) => {
      const { status, text } = await ask(long)
      t.equal(status, 200)
      const { id, result } = JSON.parse(text)
      t.equal(id, 7)
      t.ok(result.structLogs.length > 290_000)
      t.ok(text.length > 10_000_000)
      t.equal(result.failed, true)
      t.equal(result.structLogs.at(-1).error, 'out of gas')
      const { headers } = await ask(small)
      t.ok(headers['content-length'], 'a small one is sent whole')
    })

    t.test('in a batch and over a WebSocket the bound of answers applies', async (t) => {
      const [first, second] = JSON.parse((await ask(`[${small},${longer}]`)).text)
      t.equal(first.result.structLogs.length > 0, true)
      t.match(second.error, {
        code: -32003,
        message: /^response too large: the trace has more than 25000000/,
      })
      const client = await SocketClient.connect(`ws://127.0.0.1:${port}/ws`, { agent })
      t.teardown(() => client.socket.terminate())
      client.socket.send(longer)
      t.match(JSON.parse((await client.next()) ?? '').error, { code: -32003 })
      client.socket.send(long)
      t.ok(JSON.parse((await client.next()) ?? '').result.structLogs.length > 290_000)
    })

    t.test('a trace holds no thread when its client leaves, or reads no more', async (t) => {
      for (const leaves of [true, false]) {
        const socket = edge === 0 ? connect(Number(port), '127.0.0.1') : await connectToEdge(service, edge)
        t.teardown(() => socket.destroy())
        socket.write(headOf(longer) + longer)
        await once(socket, 'readable')
        if (leaves) socket.destroy()
        // The only thread for traces is free again.
        t.match(JSON.parse((await ask(small)).text), { id: 7, result: { failed: true } })
        socket.destroy()
      }
    })
  })
}

function headOf(body: string): string {
  return `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
}
