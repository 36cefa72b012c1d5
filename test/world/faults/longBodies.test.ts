/**
 * Long requests over each road, while many connections send bodies of 2 MB at once. No turn of the listening thread
 * takes long, by the CPU time of that thread.
 */
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { WebSocket } from 'ws'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { writeInto } from '../../library/folder.js'
import { notedTurns } from '../../library/loopWatch.js'
import { someOf } from '../../library/property.js'
import { inTime, once } from '../../library/until.js'
import { copyDemo } from '../../service/servedDemo.js'
import { reportsOf, startService } from '../../service/service.js'

/** Limit as for long answers: usual turns of this load take less than 30 ms. */
const turnMsMax = 60
/** Rounds until one has only short turns: machines are busy at times. The first are of a cold process. */
const roundsMax = 8
const connections = 16
/** All connections together stay below `limits.bufferedBytesMax`. */
const bodyBytes = 2 ** 21

const rpc = (method: string, params: unknown, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
const anyone = `0x${'ee'.repeat(20)}`
const zeros = `0x${'00'.repeat(bodyBytes / 2)}`

const bodies: Readonly<Record<string, string>> = {
  blanks: `${' '.repeat(bodyBytes)}${rpc('eth_chainId', [])}`,
  'a call with data': rpc('eth_call', [{ to: anyone, data: zeros }, 'latest']),
  'a batch of calls': `[${Array.from({ length: 900 }, (_, at) =>
    rpc('eth_call', [{ to: anyone, data: zeros.slice(0, 2_300) }, 'latest'], at),
  ).join()}]`,
  'a transaction': rpc('eth_sendRawTransaction', [zeros]),
  'no JSON': '['.repeat(bodyBytes),
}

type Road = (body: string) => Promise<number>

for (const transport of someOf(['uws', 'node'] as const, 1)) {
  t.test(`${transport}: a long body holds no neighbour`, { timeout: 1_800_000 }, async (t) => {
    const copy = copyDemo(t, { transport, logLevel: 'error', limits: { requestMsMax: 120_000 } })
    const path = writeInto(copy.folder, 'turns', '')
    const watch = join(packageRoot(), 'dist/modules/test/library/loopWatch.js')
    const env = { NODE_OPTIONS: `--import=file://${watch}`, LOOP_WATCH: path }
    const service = await startService(['--config', copy.config, '--no-auth'], env)
    t.teardown(() => service.stop())
    const agent = new Agent({ keepAlive: true, maxSockets: connections })
    const sockets = await Promise.all(
      Array.from({ length: connections }, async () => {
        const socket = new WebSocket(`${service.origin.replace('http', 'ws')}/ws`)
        await once(socket, 'open')
        return socket
      }),
    )
    t.teardown(() => {
      agent.destroy()
      for (const socket of sockets) socket.terminate()
    })
    const overHttp: Road = (body) =>
      new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
        const sent = request(service.origin, { method: 'POST', agent, headers }, (response) => {
          let bytes = 0
          response.on('data', (chunk: Buffer) => {
            bytes += chunk.length
          })
          response.on('end', () => resolve(bytes))
          response.on('error', reject)
        })
        // A connection that the server has closed since its last answer.
        sent.on('error', (error) => (sent.reusedSocket ? resolve(overHttp(body)) : reject(error)))
        sent.end(body)
      })
    const roads: Readonly<Record<string, readonly Road[]>> = {
      HTTP: sockets.map(() => overHttp),
      WebSocket: sockets.map((socket) => async (body) => {
        const answered = once(socket, 'message')
        socket.send(body)
        return ((await answered) as [Buffer])[0].length
      }),
    }
    for (const [name, body] of Object.entries(bodies)) {
      for (const [road, lanes] of Object.entries(roads)) {
        const longest: number[] = []
        do {
          const sinceMs = Date.now()
          const answers = await inTime(name, Promise.all(lanes.map((ask) => ask(body))))
          t.ok(answers.every((bytes) => bytes > 0))
          longest.push(Math.max(0, ...notedTurns(path, sinceMs)))
        } while ((longest.at(-1) as number) > turnMsMax && longest.length < roundsMax)
        const shown = longest.map((ms) => ms.toFixed(0)).join(', ')
        t.comment(`${name} over ${road}: longest turns ${shown} ms`)
        t.ok((longest.at(-1) as number) <= turnMsMax, `${name} over ${road}: ${shown} ms`)
      }
    }
    t.same(reportsOf(service.said.err), [], 'no defect is logged')
  })
}
