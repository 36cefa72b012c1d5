/** anvil, started from a genesis file: a node whose chain a test extends, reorganises and reverts. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { toQuantity } from '../../src/primitives/bytes.js'
import { mergedConfig, requestContracts, testAddresses, testGenesis } from '../ingest/chainMaker.js'
import { writeInto } from '../library/folder.js'
import { inTime, once, waitFor } from '../library/until.js'
import { anvilProgram } from './anvilProgram.js'

/** A block in a node's answer, with the members that tests use. */
export interface NodeBlock {
  readonly number: string
  readonly hash: string
  readonly parentHash: string
}

export interface AnvilNode {
  readonly url: string
  readonly genesisPath: string
  /** The result of a method. Rejects with the message of an error. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  ask(method: string, params?: readonly unknown[]): Promise<any>
  /** Mines blocks, each with one transfer, and returns the last. */
  mine(blocks: number): Promise<NodeBlock>
  head(): Promise<NodeBlock>
  stop(): Promise<void>
}

const program = anvilProgram()

/** Reason to skip tests that need anvil; false if it can run. */
export const withoutAnvil = program === undefined && 'anvil has no program for this machine'

/**
 * The genesis of the nodes: {@link testAddresses} have ether, and, as in anvil's own, there are no contracts of
 * requests.
 */
export function anvilGenesis(): Record<string, unknown> {
  const genesis = testGenesis({ ...mergedConfig(), chainId: 31_337 }, { difficulty: '0x0' })
  const alloc = Object.entries(genesis.alloc).filter(([address]) => !(address in requestContracts))
  return { ...genesis, alloc: Object.fromEntries(alloc) }
}

/** Number of nodes started by this process. Without it, two that mine at the same time would mine equal blocks. */
let started = 0

/** Starts anvil with a genesis, which is written into `folder`, or null for its own. It mines only on request. */
export async function startAnvil(
  t: Test,
  folder: string,
  genesis: unknown = anvilGenesis(),
  flags: readonly string[] = [],
): Promise<AnvilNode> {
  const genesisPath = writeInto(folder, 'anvil-genesis.json', genesis)
  const child = spawn(
    program ?? '',
    [
      ...['--port', '0', ...(genesis === null ? [] : ['--init', genesisPath])],
      ...(flags.includes('--hardfork') ? [] : ['--hardfork', 'prague']),
      ...flags,
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const listening = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const port = /^Listening on 127\.0\.0\.1:(\d+)/.exec(line)?.[1]
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`)
    })
    child.on('exit', (status) => reject(new Error(`anvil ended with status ${status}`)))
  })
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  t.teardown(stop)
  const url = await inTime('anvil to listen', listening)
  const ask: AnvilNode['ask'] = async (method, params = []) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } }
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }
  const [from] = await ask('eth_accounts')
  const head = () => ask('eth_getBlockByNumber', ['latest', false]) as Promise<NodeBlock>
  const to = String(testAddresses[1])
  const value = toQuantity(++started)
  const mine = async (blocks: number) => {
    // Each transaction is mined at once, in a block of its own, but the answer comes earlier.
    for (let count = 0; count < blocks; count++) {
      const hash = await ask('eth_sendTransaction', [{ from, to, value }])
      await waitFor('the block', async () => (await ask('eth_getTransactionReceipt', [hash])) !== null, 1)
    }
    return head()
  }
  return { url, genesisPath, ask, mine, head, stop }
}
