/**
 * Calls of a server to itself before it listens. They use the main methods, with parameters from the newest blocks of a
 * chain, so that rows are read as for users. Owns the choice of methods and parameters.
 */
import { toQuantity } from '../../primitives/bytes.js'
import { largest } from '../../primitives/extremes.js'

/** Gives the answer to a request body. */
export type Ask = (body: string) => Promise<Buffer>

/** Newest blocks that are read for parameters: on a busy chain 3 MB of JSON, 20 ms. */
const blocksMax = 16
/** Number of these blocks that are requested with all transactions: they take ten times as long as other answers. */
const fullBlocksMax = 2
/** Requests of each method in a round: enough for different accounts, few enough for some rounds in the time. */
const perMethodMax = 64
/** Calls of a batch: as many as a page sends when it loads. */
const batchCalls = 20
/** Slots of a contract: the first ones, in which Solidity places variables. */
const slotsPerContract = 8

interface TransactionJson {
  readonly hash: string
  readonly from: string
  readonly to: string | null
  readonly input: string
}

interface BlockJson {
  readonly number: string
  readonly hash: string
  readonly transactions: readonly TransactionJson[]
}

/** The body of a call. */
export function callBody(method: string, params: readonly unknown[], id = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/** Methods that any network answers from its identity, without a question to other nodes. */
export const constantQuestions: readonly string[] = [
  callBody('eth_chainId', []),
  callBody('web3_clientVersion', []),
  `[${callBody('eth_chainId', [])},${callBody('web3_clientVersion', [], 2)}]`,
]

/** Bodies of requests about a chain's newest blocks. Stops reading blocks once `isOver`. */
export async function chainQuestions(ask: Ask, isOver: () => boolean): Promise<readonly string[]> {
  const blocks = await newestBlocks(ask, isOver)
  const transactions = blocks.flatMap((block) => block.transactions)
  const calls = transactions.filter(({ to, input }) => to !== null && input !== '0x')
  const accounts = distinct(transactions.flatMap(({ from, to }) => (to === null ? [from] : [from, to])))
  const contracts = distinct(calls.map(({ to }) => to as string))
  const slots = contracts.flatMap((contract) =>
    Array.from({ length: slotsPerContract }, (_, slot) => [contract, toQuantity(slot)] as const),
  )
  const about = <T>(values: readonly T[], method: string, paramsOf: (value: T) => readonly unknown[]) =>
    values.slice(0, perMethodMax).map((value) => callBody(method, paramsOf(value)))
  const message = ({ from, to, input }: TransactionJson) => ({ from, to, data: input })
  const fullBlocks = blocks.slice(0, fullBlocksMax)
  const reads = [
    about(accounts, 'eth_getBalance', (account) => [account, 'latest']),
    about(slots, 'eth_getStorageAt', ([contract, slot]) => [contract, slot, 'latest']),
    [callBody('eth_blockNumber', [])],
    [callBody('eth_chainId', [])],
    [callBody('eth_gasPrice', [])],
  ]
  return inTurn([
    ...reads,
    about(accounts, 'eth_getTransactionCount', (account) => [account, 'latest']),
    about(blocks, 'eth_getBlockByHash', ({ hash }) => [hash, false]),
    about(fullBlocks, 'eth_getBlockByNumber', ({ number }) => [number, true]),
    about(transactions, 'eth_getTransactionByHash', ({ hash }) => [hash]),
    about(transactions, 'eth_getTransactionReceipt', ({ hash }) => [hash]),
    about(blocks, 'eth_getLogs', ({ number }) => [{ fromBlock: number, toBlock: number }]),
    about(calls, 'eth_call', (call) => [message(call), 'latest']),
    about(calls, 'eth_estimateGas', (call) => [message(call)]),
    about(slots, 'eth_getProof', ([contract, slot]) => [contract, [slot], 'latest']),
    batchesOf(inTurn(reads)),
  ])
}

/** The first of each list, then the second of each, and so on: if the time is short, each method has some. */
function inTurn(lists: readonly (readonly string[])[]): string[] {
  const turns = largest(lists.map(({ length }) => length))
  return Array.from({ length: turns }, (_, turn) => lists.flatMap((list) => list[turn] ?? [])).flat()
}

async function newestBlocks(ask: Ask, isOver: () => boolean): Promise<BlockJson[]> {
  const read = async (block: string) =>
    JSON.parse((await ask(callBody('eth_getBlockByNumber', [block, true]))).toString('utf8')).result as
      | BlockJson
      | null
      | undefined
  const blocks: BlockJson[] = []
  for (let next = 'latest'; blocks.length < blocksMax && !isOver(); ) {
    const block = await read(next)
    if (block === null || block === undefined) break
    blocks.push(block)
    const number = Number(block.number)
    if (number === 0) break
    next = toQuantity(number - 1)
  }
  return blocks
}

function batchesOf(bodies: readonly string[]): string[] {
  const count = Math.floor(bodies.length / batchCalls)
  return Array.from({ length: count }, (_, at) => {
    const calls = bodies.slice(at * batchCalls, (at + 1) * batchCalls)
    return `[${calls.join(',')}]`
  })
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)]
}
