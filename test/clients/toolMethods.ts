/**
 * The methods that docs/developer-chain.md lists, each with parameters as tests of contracts give them, and the table of
 * that page. With TABLE=1 a run writes its column into the page; without it, the column has to be that of the run.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { toolPrefixes } from '../../src/primitives/upstreamCalls.js'
import { post } from '../service/httpClient.js'

/** The columns of the table, in their order. */
const tools = ['anvil', 'Hardhat', 'Tidegate'] as const
type Tool = (typeof tools)[number]

const path = join(packageRoot(), 'docs/developer-chain.md')
const row = /^\| `(\w+)` \| (yes|no) \| (yes|no) \| (yes|no) \|/gm

/** Methods that the page lists, in its order. */
export const listedMethods: readonly string[] = [...readFileSync(path, 'utf8').matchAll(row)].map(
  ([, method = '']) => method,
)

/** The result of a method. Rejects with the message of an error. */
type Ask = (method: string, ...params: readonly unknown[]) => Promise<unknown>

const someone = `0x${'57'.repeat(20)}`
const word = `0x${'07'.padStart(64, '0')}`
const later = async (ask: Ask, seconds: number) => {
  const { timestamp } = (await ask('eth_getBlockByNumber', 'latest', false)) as { timestamp: string }
  return Number(timestamp) + seconds
}
const own = async (ask: Ask) => ((await ask('eth_accounts')) as readonly string[])[0] as string
const payment = async (ask: Ask) => ({ from: await own(ask), to: someone, value: '0x1' })
const typedData = {
  types: { EIP712Domain: [{ name: 'name', type: 'string' }], Note: [{ name: 'text', type: 'string' }] },
  primaryType: 'Note',
  domain: { name: 'notes' },
  message: { text: 'ahoy' },
}

/** Parameters of each method. All are called in this order, so that each finds the data that it needs. */
export const toolCalls: Readonly<
  Record<string, (ask: Ask) => readonly unknown[] | Promise<readonly unknown[]>>
> = {
  eth_coinbase: () => [],
  eth_sendTransaction: async (ask) => [await payment(ask)],
  eth_signTransaction: async (ask) => [
    {
      ...(await payment(ask)),
      gas: '0x5208',
      nonce: '0x9',
      maxFeePerGas: '0x77359400',
      maxPriorityFeePerGas: '0x1',
    },
  ],
  eth_sign: async (ask) => [await own(ask), '0x61686f79'],
  eth_signTypedData_v4: async (ask) => [await own(ask), typedData],
  anvil_setBalance: () => [someone, '0xde0b6b3a7640000'],
  anvil_addBalance: () => [someone, '0xde0b6b3a7640000'],
  eth_sendUnsignedTransaction: () => [{ from: someone, to: someone, value: '0x1' }],
  anvil_setCode: () => [someone, '0x6001'],
  anvil_setNonce: () => [someone, '0x20'],
  anvil_setStorageAt: () => [someone, '0x0', word],
  anvil_impersonateAccount: () => [someone],
  anvil_stopImpersonatingAccount: () => [someone],
  anvil_autoImpersonateAccount: () => [false],
  anvil_setCoinbase: () => [someone],
  anvil_setNextBlockBaseFeePerGas: () => ['0x3b9aca00'],
  hardhat_setPrevRandao: () => [word],
  evm_setBlockGasLimit: () => ['0x1c9c380'],
  anvil_setMinGasPrice: () => ['0x1'],
  anvil_setChainId: async (ask) => [Number(await ask('eth_chainId'))],
  anvil_setRpcUrl: () => ['http://127.0.0.1:1'],
  evm_increaseTime: () => [100],
  evm_setNextBlockTimestamp: async (ask) => [await later(ask, 1_000)],
  evm_mine: () => [],
  evm_setTime: async (ask) => [await later(ask, 1_000)],
  anvil_setBlockTimestampInterval: () => [5],
  anvil_removeBlockTimestampInterval: () => [],
  anvil_mine: () => ['0x2', '0x3c'],
  evm_mine_detailed: () => [],
  hardhat_intervalMine: () => [],
  anvil_getIntervalMining: () => [],
  evm_setIntervalMining: () => [0],
  evm_setAutomine: () => [false],
  anvil_getAutomine: () => [],
  anvil_dropTransaction: async (ask) => [await ask('eth_sendTransaction', await payment(ask))],
  anvil_removePoolTransactions: async (ask) => [await own(ask)],
  anvil_dropAllTransactions: () => [],
  evm_snapshot: () => [],
  evm_revert: async (ask) => [await ask('evm_snapshot')],
  anvil_nodeInfo: () => [],
  anvil_metadata: () => [],
  anvil_setLoggingEnabled: () => [true],
  anvil_dumpState: () => [],
  // A node that cannot dump its state has no method for loading one, either.
  anvil_loadState: async (ask) => [await ask('anvil_dumpState').catch(() => '0x')],
  anvil_reorg: () => [1, []],
  anvil_rollback: () => [1],
  anvil_reset: () => [],
}

/** Whether a node has each method: it answers with a result, under this name or with another tool's beginning. */
async function methodsOf(url: string): Promise<ReadonlyMap<string, 'yes' | 'no'>> {
  const ask: Ask = async (method, ...params) => {
    const { text } = await post(url, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const { result, error } = JSON.parse(text) as { result?: unknown; error?: { message: string } }
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }
  const found = new Map<string, 'yes' | 'no'>()
  for (const [method, paramsOf] of Object.entries(toolCalls)) {
    const names = method.startsWith('eth_')
      ? [method]
      : [method, ...toolPrefixes.map((tool) => method.replace(/^[a-z]+/, tool))]
    const params = await paramsOf(ask)
    let has: 'yes' | 'no' = 'no'
    for (const name of new Set(names)) {
      if (has === 'no')
        has = await ask(name, ...params).then(
          () => 'yes' as const,
          () => 'no' as const,
        )
    }
    found.set(method, has)
  }
  return found
}

/** Compares the column of a tool with a run of it, or writes it. */
export async function checkColumn(t: Test, tool: Tool, url: string): Promise<void> {
  const found = await methodsOf(url)
  const text = readFileSync(path, 'utf8')
  if (process.env.TABLE === '1') {
    const written = text.replace(row, (_, method: string, ...cells: string[]) => {
      const shown = tools.map((each, at) => (each === tool ? (found.get(method) ?? 'no') : cells[at]))
      return `| \`${method}\` | ${shown.join(' | ')} |`
    })
    writeFileSync(path, written)
    t.pass('the column is written')
    return
  }
  for (const [, method = '', ...cells] of text.matchAll(row))
    t.equal(cells[tools.indexOf(tool)], found.get(method), `${tool}: ${method}`)
}
