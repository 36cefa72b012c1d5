/** The program in front of a node: its configuration in tests, and its messages to clients. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { makeFolder } from '../library/folder.js'
import { waitFor } from '../library/until.js'
import { writeConfig } from '../service/program.js'
import { type Service, startService } from '../service/service.js'
import { SocketClient } from '../transport/socketClient.js'
import { type AnvilNode, type NodeBlock, startAnvil } from './anvilNode.js'
import { forwardTo, type NodeAnswer, type NodeCall, WeatherNode } from './weatherNode.js'

export interface FollowOptions {
  readonly urls: readonly string[]
  readonly genesisPath: string
  readonly pollMs?: number
  /** Timeout of each node. */
  readonly timeoutMs?: number
  /** Time during which the source repeats requests to all nodes. */
  readonly sourceMs?: number
  readonly reorgDepthMax?: number
  readonly revertAfterMs?: number
  readonly quorum?: number
  readonly passThrough?: readonly string[]
  readonly edges?: number
}

/** Answers of a silent node are awaited as long as a request may take. */
const waitMsMax = 30_000

/** Writes a configuration of network `dev` that follows nodes. */
export function writeFollowConfig(
  folder: string,
  { urls, genesisPath, timeoutMs, sourceMs, edges, ...source }: FollowOptions,
): string {
  return writeConfig(folder, {
    dataDir: 'data',
    limits: { requestMsMax: waitMsMax },
    ...(edges !== undefined && { edges }),
    networks: [
      {
        name: 'dev',
        genesis: genesisPath,
        source: {
          type: 'follow',
          upstreams: urls.map((url) => ({ url, ...(timeoutMs !== undefined && { timeoutMs }) })),
          pollMs: 20,
          ...(sourceMs !== undefined && { timeoutMs: sourceMs }),
          ...source,
        },
      },
    ],
  })
}

/** Serves the follower without keys; ends with the test. */
export async function startFollower(t: Test, folder: string, options: FollowOptions): Promise<Service> {
  const service = await startService(['--config', writeFollowConfig(folder, options), '--no-auth'])
  t.teardown(() => service.stop())
  return service
}

/** Options for starting anvil, mining before it is followed, and following it. */
export interface AnvilOptions extends Omit<FollowOptions, 'urls' | 'genesisPath'> {
  readonly genesis?: unknown
  readonly flags?: readonly string[]
  readonly blocks?: number
}

/** Starts anvil, and the program that follows it, and waits until both have the same head. */
export async function followAnvil(t: Test, options: AnvilOptions = {}) {
  const anvil = await startMined(t, options)
  return { anvil, service: await followAt(t, anvil, anvil.url, options) }
}

/** Like {@link followAnvil}, with a node between the two. */
export async function followBetween(t: Test, options: AnvilOptions = {}) {
  const anvil = await startMined(t, options)
  const node = await openBetween(t, anvil)
  return { anvil, node, service: await followAt(t, anvil, node.url, options) }
}

async function startMined(t: Test, { genesis, flags, blocks = 0 }: AnvilOptions): Promise<AnvilNode> {
  const anvil = await startAnvil(t, makeFolder(t), genesis, flags)
  await anvil.mine(blocks)
  return anvil
}

async function followAt(t: Test, anvil: AnvilNode, url: string, options: AnvilOptions): Promise<Service> {
  const { genesis, flags, blocks, ...following } = options
  const { genesisPath } = anvil
  const service = await startFollower(t, makeFolder(t), { urls: [url], genesisPath, ...following })
  await reaches(service, await anvil.head())
  return service
}

/**
 * From now on, every second request for the head gets an older one. Returns a function that waits for some more
 * requests.
 */
export function answerOlderHeads(node: WeatherNode, anvil: AnvilNode, older: NodeBlock) {
  let asked = 0
  node.answer = between(anvil, (call, answer) =>
    call.method === 'eth_getBlockByNumber' && call.params[0] === 'latest' && asked++ % 2 === 1
      ? { result: older }
      : answer,
  )
  return () => {
    const before = asked
    return waitFor('more polls', () => asked > before + 6)
  }
}

export interface GatewayOptions {
  readonly urls: readonly string[]
  readonly timeoutMs?: number
  readonly quorum?: number
  readonly requestMsMax?: number
  /** The lowest block for which the gateway completes logs. */
  readonly logsFrom?: number
}

/** Serves, without keys, a gateway `dev` to nodes; ends with the test. */
export async function startGateway(
  t: Test,
  folder: string,
  { urls, timeoutMs, quorum, requestMsMax = waitMsMax, logsFrom }: GatewayOptions,
): Promise<Service> {
  const upstreams = urls.map((url) => ({ url, ...(timeoutMs !== undefined && { timeoutMs }) }))
  const config = writeConfig(
    folder,
    {
      dataDir: 'gateway',
      limits: { requestMsMax },
      networks: [
        {
          name: 'dev',
          kind: 'gateway',
          upstreams,
          pollMs: 100,
          ...(quorum !== undefined && { quorum }),
          ...(logsFrom !== undefined && { logs: { from: logsFrom } }),
        },
      ],
    },
    'gateway.json',
  )
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  return service
}

/**
 * A node between the program and anvil, without WebSockets, so that all requests pass through its weather. It also
 * returns the rules of the chain, which a gateway requests and anvil does not have.
 */
export async function openBetween(
  t: Test,
  anvil: AnvilNode,
  change: (call: NodeCall, answer: NodeAnswer) => NodeAnswer = (_call, answer) => answer,
): Promise<WeatherNode> {
  const node = new WeatherNode(between(anvil, change))
  node.hasSockets = false
  await node.start()
  t.teardown(() => node.stop())
  return node
}

/** The answer function of {@link openBetween}. */
export function between(
  anvil: AnvilNode,
  change: (call: NodeCall, answer: NodeAnswer) => NodeAnswer = (_call, answer) => answer,
): WeatherNode['answer'] {
  const { config } = JSON.parse(readFileSync(anvil.genesisPath, 'utf8'))
  return forwardTo(anvil.url, (call, answer) =>
    change(call, call.method === 'debug_chainConfig' ? { result: config } : answer),
  )
}

/** Resolves once `more` further requests came. */
export async function requests(node: WeatherNode, more: number): Promise<void> {
  const before = node.requests.length
  await waitFor(`${more} requests`, () => node.requests.length >= before + more)
}

/** One connection that repeatedly requests the number of the head. */
export class HeadAsker {
  readonly heads: number[] = []
  #isStopped = false

  static async open(t: Test, service: Service): Promise<HeadAsker> {
    const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
    t.teardown(() => client.cut())
    const asker = new HeadAsker()
    void asker.#ask(client)
    return asker
  }

  /** Whether no answer was below an earlier one. */
  get isMonotonic(): boolean {
    return this.heads.every((head, index) => index === 0 || head >= (this.heads[index - 1] as number))
  }

  /** Resolves once `count` further answers came. */
  async more(count: number): Promise<void> {
    const before = this.heads.length
    await waitFor(`${count} answers`, () => this.heads.length >= before + count)
  }

  stop(): void {
    this.#isStopped = true
  }

  async #ask(client: SocketClient): Promise<void> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
    while (!this.#isStopped) {
      const text = await client.ask(body)
      if (text === undefined) return
      this.heads.push(Number(JSON.parse(text).result))
      // The pause is short enough to see each head, without much load.
      await sleep(5)
    }
  }
}

/** Resolves once the service's head is this block. */
export async function reaches(service: Service, { number, hash }: NodeBlock): Promise<void> {
  const isHead = async () => {
    const { result } = await service.call('eth_getBlockByNumber', ['latest', false])
    return result.hash === hash
  }
  await waitFor(`block ${Number(number)}, ${hash}`, isHead, 30)
}

/** Events of a subscriber of `newHeads`, including removed blocks (`removed`), in order. */
export class HeadListener {
  readonly events: { readonly hash: string; readonly parentHash: string; readonly removed: boolean }[] = []

  static async open(t: Test, service: Service): Promise<HeadListener> {
    const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
    t.teardown(() => client.cut())
    const { result } = await service.call('eth_blockNumber')
    // A subscription with a start also gets removed blocks.
    const params = ['newHeads', { fromBlock: `0x${(Number(result) + 1).toString(16)}` }]
    await client.ask(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params }))
    const listener = new HeadListener()
    client.socket.on('message', (data) => {
      const { result } = JSON.parse(String(data)).params
      listener.events.push({ ...result, removed: result.removed === true })
    })
    return listener
  }

  /** The chain that results from the events after `base`; each event must follow from the one before. */
  follow(base: string): string[] {
    const chain = [base]
    for (const { hash, parentHash, removed } of this.events) {
      if (removed) {
        const last = chain.pop()
        if (last !== hash) throw new Error(`${hash} was taken back, but the head was ${last}`)
      } else {
        if (chain.at(-1) !== parentHash) throw new Error(`${hash} does not follow on ${chain.at(-1)}`)
        chain.push(hash)
      }
    }
    return chain
  }
}
