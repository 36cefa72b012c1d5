/**
 * Two servers of one chain are restarted in turn while clients ask: behind nginx and HAProxy as the documentation
 * configures them, and by clients that know both and keep their connections. No request fails.
 */
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '../library/until.js'
import { startBalancer, withoutBalancer } from '../service/balancers.js'
import { freePorts } from '../service/ports.js'
import { copyDemo } from '../service/servedDemo.js'
import { type Service, startService } from '../service/service.js'
import { transports } from '../transport/eachTransport.js'

/** Where processes are killed more often, more is asked, and without pauses: that takes all cores. */
const isLong = process.env.KILLS !== undefined
const requestsMin = isLong ? 20_000 : 2_000
/** Between two requests of a client. An idle connection is what a server may close while a request is on its way. */
const pauseMs = isLong ? 0 : 10
const clients = 20
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
/** Several intervals of a balancer's check. */
const drainDelayMs = 3_000
/** What a stop may take beyond the delay on a machine that does nothing else; here several times that. */
const stopMsMax = 2_000 * 5

interface Server {
  readonly port: number
  readonly start: () => Promise<Service>
  service: Service
}

async function openServers(t: Test, delayMs: number, flags: readonly string[] = []): Promise<Server[]> {
  const servers: Server[] = []
  for (const port of await freePorts(2)) {
    const { config } = copyDemo(t, { drainDelayMs: delayMs, admin: false })
    const start = () => startService(['--config', config, '--no-auth', '--port', String(port), ...flags])
    servers.push({ port, start, service: await start() })
  }
  t.teardown(() => Promise.all(servers.map(({ service }) => service.stop())))
  return servers
}

interface Load {
  requests: number
  /** How often, by what failed. */
  readonly failures: Record<string, number>
  isOver: boolean
}

function fail(load: Load, why: string): void {
  load.failures[why] = (load.failures[why] ?? 0) + 1
}

/** One request. Rejects with `isUnsent` where no connection was made, which harms nobody: another server is asked. */
function ask(url: string, agent: Agent): Promise<{ readonly status: number; readonly isLast: boolean }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, method: 'POST', headers: { 'content-type': 'application/json' } })
    asked.on('error', reject)
    asked.on('response', (response) => {
      response.on('error', reject)
      response.resume().on('end', () => {
        resolve({ status: response.statusCode ?? 0, isLast: response.headers.connection === 'close' })
      })
    })
    asked.end(body)
  })
}

/** Asks until the load is over, and takes the next URL where a server says that it ends, or is not there. */
async function askOn(urls: readonly string[], load: Load): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  let at = 0
  for (let refused = 0; !load.isOver; ) {
    try {
      const { status, isLast } = await ask(urls[at % urls.length] as string, agent)
      load.requests++
      refused = 0
      if (status !== 200) fail(load, `status ${status}`)
      if (isLast) at++
      if (pauseMs > 0) await pause(pauseMs)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ECONNREFUSED' && ++refused < urls.length) at++
      else {
        load.requests++
        fail(load, String(code))
      }
    }
  }
  agent.destroy()
}

/** Restarts the servers in turn until enough was asked. */
async function restartUnder(t: Test, servers: readonly Server[], urls: readonly string[], delayMs: number) {
  const load: Load = { requests: 0, failures: {}, isOver: false }
  const asking = Promise.all(Array.from({ length: clients }, () => askOn(urls, load)))
  let restarts = 0
  for (let round = 0; round < 1 || load.requests < requestsMin; round++) {
    for (const server of servers) {
      const before = load.requests
      await until(() => load.requests > before + clients)
      const beganMs = performance.now()
      t.equal(await server.service.stop(), 0)
      const tookMs = performance.now() - beganMs
      t.ok(tookMs < delayMs + stopMsMax, `a stop takes ${Math.round(tookMs)} ms`)
      server.service = await server.start()
      restarts++
    }
  }
  load.isOver = true
  await asking
  t.strictSame(load.failures, {}, `${load.requests} requests during ${restarts} restarts`)
  t.comment(`${load.requests} requests during ${restarts} restarts`)
}

for (const { name: transport } of transports) {
  for (const delayMs of transport === 'uws' ? [0, drainDelayMs] : [0]) {
    t.test(`${transport}: clients that keep their connections, delay ${delayMs} ms`, async (t) => {
      const servers = await openServers(t, delayMs, ['--transport', transport])
      await restartUnder(
        t,
        servers,
        servers.map(({ port }) => `http://127.0.0.1:${port}/`),
        delayMs,
      )
    })
  }
}

for (const name of ['nginx', 'haproxy'] as const) {
  t.test(`behind ${name}`, { skip: withoutBalancer(name) }, async (t) => {
    const servers = await openServers(t, drainDelayMs)
    const url = await startBalancer(
      t,
      name,
      servers.map(({ port }) => port),
    )
    await restartUnder(t, servers, [`${url}/`], drainDelayMs)
  })
}
