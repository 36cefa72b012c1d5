/**
 * Two servers restart in turn while clients send requests, behind nginx and HAProxy as the documentation configures
 * them. Other clients know both servers and keep their connections. No request fails, and WebSockets end as the
 * documentation says.
 */
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { mergedConfig, testGenesis } from '../../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { until } from '../../library/until.js'
import { startBalancer, withoutBalancer } from '../../service/balancers.js'
import { freePorts } from '../../service/ports.js'
import { writeConfig } from '../../service/program.js'
import { copyDemo } from '../../service/servedDemo.js'
import { type Service, startService } from '../../service/service.js'
import { transports } from '../../transport/eachTransport.js'
import { SocketClient } from '../../transport/socketClient.js'

/** With more kills there are more requests, and no pauses: that takes all cores. */
const isLong = process.env.KILLS !== undefined
const requestsMin = isLong ? 20_000 : 2_000
/** Pause between two requests of a client. The server may close an idle connection while a request is being sent. */
const pauseMs = isLong ? 0 : 10
const clients = 20
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
/** Several intervals of a balancer's check. */
const drainDelayMs = 3_000
/** Limit of a stop beyond the delay on an idle machine, times five for a busy one. */
const stopMsMax = 2_000 * 5

interface Server {
  readonly port: number
  readonly start: () => Promise<Service>
  service: Service
}

/** Two, each with a configuration of its own. */
async function openServers(
  t: Test,
  configOf: () => string,
  flags: readonly string[] = [],
): Promise<Server[]> {
  const servers: Server[] = []
  for (const port of await freePorts(2)) {
    const config = configOf()
    const start = () => startService(['--config', config, '--no-auth', '--port', String(port), ...flags])
    servers.push({ port, start, service: await start() })
  }
  t.teardown(() => Promise.all(servers.map(({ service }) => service.stop())))
  return servers
}

const demoConfig = (t: Test, delayMs: number) => () =>
  copyDemo(t, { drainDelayMs: delayMs, admin: false }).config

interface Load {
  requests: number
  /** Number of failures, by their cause. */
  readonly failures: Record<string, number>
  isOver: boolean
}

function fail(load: Load, why: string): void {
  load.failures[why] = (load.failures[why] ?? 0) + 1
}

/** One request. Rejects with `isUnsent` if no connection was made. That is harmless: the client asks another server. */
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

/** Sends requests until the load is over. Changes to the next URL if a server closes, or is not there. */
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

/** Restarts the servers in turn until there were enough requests. */
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

for (const { name: transport } of someOf(transports, 1)) {
  for (const delayMs of transport === 'uws' ? [0, drainDelayMs] : [0]) {
    t.test(`${transport}: clients that keep their connections, delay ${delayMs} ms`, async (t) => {
      const servers = await openServers(t, demoConfig(t, delayMs), ['--transport', transport])
      await restartUnder(
        t,
        servers,
        servers.map(({ port }) => `http://127.0.0.1:${port}/`),
        delayMs,
      )
    })
  }
}

for (const name of someOf(['nginx', 'haproxy'] as const, 1)) {
  t.test(`behind ${name}`, { skip: withoutBalancer(name) }, async (t) => {
    const servers = await openServers(t, demoConfig(t, drainDelayMs))
    const url = await startBalancer(
      t,
      name,
      servers.map(({ port }) => port),
    )
    await restartUnder(t, servers, [`${url}/`], drainDelayMs)
  })
}

/** A chain that has a block every second. */
function growingConfig(t: Test): string {
  const folder = makeFolder(t)
  writeInto(folder, 'genesis.json', testGenesis(mergedConfig()))
  return writeConfig(folder, {
    dataDir: 'data',
    drainDelayMs,
    admin: false,
    networks: [{ name: 'dev', genesis: 'genesis.json', source: { type: 'develop', blockSeconds: 1 } }],
  })
}

/** A client that wants new heads, and connects again as soon as its connection ends. */
class HeadWatcher {
  heads = 0
  readonly ends: number[] = []
  #socket: SocketClient | undefined
  #isOver = false

  constructor(readonly url: string) {}

  /** Rejects if an upgrade or a subscription is refused. */
  async watch(): Promise<void> {
    while (!this.#isOver) {
      const socket = await SocketClient.connect(this.url)
      this.#socket = socket
      const ask = { jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }
      socket.send(JSON.stringify(ask))
      for (let text = await socket.next(); text !== undefined; text = await socket.next()) {
        const { method, error } = JSON.parse(text)
        if (error !== undefined) throw new Error(text)
        if (method === 'eth_subscription') this.heads++
      }
      if (!this.#isOver) this.ends.push((await socket.closed).code)
    }
  }

  end(): void {
    this.#isOver = true
    this.#socket?.cut()
  }
}

for (const name of someOf(['nginx', 'haproxy'] as const, 1)) {
  t.test(`WebSockets behind ${name}`, { skip: withoutBalancer(name) }, async (t) => {
    const servers = await openServers(t, () => growingConfig(t))
    const ports = servers.map(({ port }) => port)
    const url = (await startBalancer(t, name, ports)).replace('http', 'ws')
    const watchers = Array.from({ length: 8 }, () => new HeadWatcher(`${url}/ws`))
    const endAll = () => {
      for (const watcher of watchers) watcher.end()
    }
    t.teardown(endAll)
    const watching = Promise.all(watchers.map((watcher) => watcher.watch()))
    const failed = watching.then(() => {
      throw new Error('a watcher ended')
    })
    // Blocks before the subscription do not count.
    const allGetHeads = async () => {
      const before = watchers.map(({ heads }) => heads)
      await until(() => watchers.every(({ heads }, at) => heads > (before[at] as number) + 1))
    }
    const restartAll = async () => {
      await allGetHeads()
      for (const server of servers) {
        t.equal(await server.service.stop(), 0)
        server.service = await server.start()
        await allGetHeads()
      }
    }
    await Promise.race([restartAll(), failed])
    const ends = watchers.flatMap((watcher) => watcher.ends)
    t.ok(ends.length >= watchers.length, `${ends.length} connections ended`)
    t.strictSame(new Set(ends), new Set([1001]), 'each as its server stopped')
    endAll()
    await watching
  })
}
