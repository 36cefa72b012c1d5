/** Attacks by unread subscriptions, on a developer chain for which the attackers make blocks of some 3,800 logs. */
import { writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { hexlify, Wallet } from 'ethers'
import { mergedConfig, testGenesis, testKeys } from '../../test/ingest/chainMaker.js'
import { word } from '../data/demoFacts.js'
import { rpc } from '../load/rpc.js'
import type { Attack, AttackTools } from './attackTools.js'
import { exchange } from './exchange.js'
import { answerKind, lookedAtBytes } from './tally.js'

const to = `0x${'10'.repeat(20)}`
/** Makes as many logs as its input says, without data, with two topics each: the numbers 0 and 1. */
const code = '0x6000355b80156019576001600060006000a2600190036003565b00'
const fees = {
  type: 2,
  chainId: 7357,
  maxFeePerGas: 10n ** 12n,
  maxPriorityFeePerGas: 1,
  gasLimit: 15_000_000,
}

/** Entry of the configuration for that chain; its genesis is written into `folder`. */
export function madeNetwork(folder: string): object {
  const genesis = join(folder, 'made.json')
  const made = testGenesis(mergedConfig())
  writeFileSync(
    genesis,
    JSON.stringify({ ...made, alloc: { ...made.alloc, [to]: { balance: '0x0', code } } }),
  )
  return { name: 'made', genesis, source: { type: 'develop', blockSeconds: 0 } }
}

/** `account` belongs to this attack alone, so that nonces of several attacks do not collide. */
function makeBlocks(tools: AttackTools, account: number): void {
  const wallet = new Wallet(hexlify(testKeys[account] as Uint8Array))
  const agent = new Agent({ keepAlive: true })
  const ask = async (...call: Parameters<typeof rpc>) =>
    (await exchange(tools.urlOf('/made'), agent, rpc(...call), lookedAtBytes)).text
  tools.repeat(1, async () => {
    const nonce = Number(JSON.parse(await ask('eth_getTransactionCount', [wallet.address, 'latest'])).result)
    const raw = await wallet.signTransaction({ ...fees, to, nonce, data: word(3_800) })
    tools.tally.add(`block ${answerKind(await ask('eth_sendRawTransaction', [raw]))}`)
    await setTimeout(500)
  })
}

function attack(
  [name, title]: readonly [string, string],
  [account, sockets, each]: readonly [number, number, number],
  params: (at: number) => readonly unknown[],
): Attack {
  const drive = (tools: AttackTools) => {
    makeBlocks(tools, account)
    const messages = Array.from({ length: each }, (_, at) => rpc('eth_subscribe', params(at)))
    tools.repeat(sockets, async () => tools.neverRead(await tools.openSocket('/made'), messages))
  }
  return { name, title, drive }
}

const over = { fromBlock: '0x0', toBlock: '0x0' }

export const subscriptionAttacks: readonly Attack[] = [
  attack(['ranges', '16,000 log subscriptions whose range is over'], [0, 16, 1_000], () => ['logs', over]),
  attack(['buckets', '14,400 filters that share a bucket'], [1, 16, 900], (at) => [
    'logs',
    { topics: [[word(0), word(at + 2)], [word(2)]] },
  ]),
  attack(['receipts', '2,000 subscriptions to receipts'], [2, 2, 1_000], () => ['transactionReceipts']),
]
