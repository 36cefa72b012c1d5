/** The program in front of a node: how tests configure it, and what its clients are told. */
import type { Test } from 'tap'
import type { NodeBlock } from './anvilNode.js'
import { writeInto } from './program.js'
import { type Service, startService } from './service.js'
import { SocketClient } from './socketClient.js'
import { waitFor } from './until.js'

export interface FollowOptions {
  readonly urls: readonly string[]
  readonly genesisPath: string
  readonly pollMs?: number
  readonly timeoutMs?: number
  readonly reorgDepthMax?: number
}

/** Writes a configuration of network `dev` that follows nodes. */
export function writeFollowConfig(
  folder: string,
  { urls, genesisPath, timeoutMs, ...source }: FollowOptions,
): string {
  return writeInto(folder, 'tidegate.json', {
    dataDir: 'data',
    networks: [
      {
        name: 'dev',
        genesis: genesisPath,
        source: {
          type: 'follow',
          upstreams: urls.map((url) => ({ url, ...(timeoutMs !== undefined && { timeoutMs }) })),
          pollMs: 20,
          ...source,
        },
      },
    ],
  })
}

/** Serves it without keys; ends with the test. */
export async function startFollower(t: Test, folder: string, options: FollowOptions): Promise<Service> {
  const service = await startService(['--config', writeFollowConfig(folder, options), '--no-auth'])
  t.teardown(() => service.stop())
  return service
}

/** Resolves once the service's head is this block. */
export async function reaches(service: Service, { number, hash }: NodeBlock): Promise<void> {
  await waitFor(`block ${Number(number)}, ${hash}`, async () => {
    const { result } = await service.call('eth_getBlockByNumber', ['latest', false])
    return result.hash === hash
  })
}

/** What a subscriber of `newHeads` is told, with the blocks that left (`removed`), in order. */
export class HeadListener {
  readonly events: { readonly hash: string; readonly parentHash: string; readonly removed: boolean }[] = []

  static async open(t: Test, service: Service): Promise<HeadListener> {
    const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
    t.teardown(() => client.cut())
    const { result } = await service.call('eth_blockNumber')
    // A subscription that says where it begins is told of removed blocks, too.
    const params = ['newHeads', { fromBlock: `0x${(Number(result) + 1).toString(16)}` }]
    await client.ask(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params }))
    const listener = new HeadListener()
    client.socket.on('message', (data) => {
      const { result } = JSON.parse(String(data)).params
      listener.events.push({ ...result, removed: result.removed === true })
    })
    return listener
  }

  /** The chain that the events lead to from `base`, each step of which must follow from the one before. */
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
