/** Subjects of questions about a chain: random blocks, their transactions, and the accounts and slots in them. */
import type { Dice } from '../library/property.js'
import type { Endpoint } from './endpoint.js'

interface Transaction {
  readonly hash: string
  readonly from: string
  readonly to: string | null
}

interface Log {
  readonly address: string
  readonly topics: readonly string[]
}

export interface FactBlock {
  readonly number: number
  readonly hash: string
  readonly miner: string
  readonly uncles: readonly string[]
  readonly transactions: readonly Transaction[]
}

export interface Facts {
  readonly head: number
  /** Blocks in the order of their numbers, including the first and the last of the chain. */
  readonly blocks: readonly FactBlock[]
  /** Blocks of {@link blocks} whose state geth has. */
  readonly withState: readonly FactBlock[]
  readonly addresses: readonly string[]
  readonly logs: readonly Log[]
}

/** More are not named in one question each: calls take them by chance. */
const addressesMax = 60

export const quantity = (value: number | bigint): string => `0x${value.toString(16)}`

export async function readFacts(geth: Endpoint, head: number, count: number, dice: Dice): Promise<Facts> {
  const numbers = new Set([0, head])
  while (numbers.size < Math.min(count, head + 1)) numbers.add(dice.throw(head + 1))
  const blocks: FactBlock[] = []
  const logs: Log[] = []
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const block = (await geth.result('eth_getBlockByNumber', [quantity(number), true])) as FactBlock
    blocks.push({ ...block, number })
    const receipts = (await geth.result('eth_getBlockReceipts', [quantity(number)])) as {
      readonly contractAddress: string | null
      readonly logs: readonly Log[]
    }[]
    logs.push(...receipts.flatMap((receipt) => receipt.logs))
  }
  const named = blocks.flatMap(({ miner, transactions }) => [
    miner,
    ...transactions.flatMap(({ from, to }) => (to === null ? [from] : [from, to])),
  ])
  const addresses = [...new Set([...named, ...logs.map(({ address }) => address)])].slice(0, addressesMax)
  return { head, blocks, withState: await thoseWithState(geth, blocks), addresses, logs }
}

/** A node that is no archive has the states of its newest blocks alone. */
async function thoseWithState(geth: Endpoint, blocks: readonly FactBlock[]): Promise<readonly FactBlock[]> {
  const answers = await geth.answers(
    blocks.map(({ number }) => ({
      method: 'eth_getBalance',
      params: [`0x${'0'.repeat(40)}`, quantity(number)],
    })),
  )
  return blocks.filter((_, at) => answers[at]?.error === undefined)
}
