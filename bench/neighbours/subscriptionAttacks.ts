/** Attacks by unread subscriptions, on a developer chain for which the attackers make blocks of some 3,800 logs. */
import { Agent } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { word } from '../data/demoFacts.js'
import { signLogs, walletOf } from '../data/madeChain.js'
import { rpc } from '../load/rpc.js'
import type { Attack, AttackTools } from './attackTools.js'
import { exchange } from './exchange.js'
import { answerKind, lookedAtBytes } from './tally.js'

/** `account` belongs to this attack alone, so that nonces of several attacks do not collide. */
function makeBlocks(tools: AttackTools, account: number): void {
  const wallet = walletOf(account)
  const agent = new Agent({ keepAlive: true })
  const ask = async (...call: Parameters<typeof rpc>) =>
    (await exchange(tools.urlOf('/made'), agent, rpc(...call), lookedAtBytes)).text
  tools.repeat(1, async () => {
    const nonce = Number(JSON.parse(await ask('eth_getTransactionCount', [wallet.address, 'latest'])).result)
    const raw = await signLogs(wallet, nonce, 3_800)
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
