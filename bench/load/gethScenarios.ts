/**
 * Scenarios beside go-ethereum, on a chain that both have imported: 300 or 600 blocks of 20 transfers and swaps among
 * 500 accounts. Both keep their caches of blocks and states. Tidegate has no cache of whole answers here: the chain is
 * so small that it would soon answer all from memory.
 */
import { bytesToHex, hexToBytes, toQuantity } from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import { calldata } from '../data/demoFacts.js'
import { walk } from '../data/scatter.js'
import { askResult, rpc } from './rpc.js'
import { type Scenario, unlike } from './scenarios.js'

/** Accounts, hashes and numbers of the chain that requests name. */
export interface ChainFacts {
  /** Hashes of the blocks with {@link transactions}. */
  readonly blocks: readonly { readonly number: string; readonly hash: string }[]
  readonly transactions: readonly string[]
  /** Senders of {@link transactions}. */
  readonly accounts: readonly string[]
  /** A contract of `TideToken.sol`. */
  readonly token: string
}

export interface GethScenario {
  /** Name as in `--only` and targets.json. */
  readonly name: string
  readonly title: string
  /** Gives the body of the n-th request. */
  questionsOf(facts: ChainFacts): (n: number) => string
}

/** Limits of Tidegate in these scenarios. */
export const withoutAnswers = { memoBytes: 0, proofCacheBytes: 0 } as const

interface BlockJson {
  readonly number: string
  readonly hash: string
  readonly transactions: readonly { readonly hash: string; readonly from: string }[]
}

/** Transactions of a block, but for blocks that set the chain up. */
const transactionsPerBlock = 20

/** Reads the facts from a server with the chain at `url`. */
export async function readChainFacts(url: string): Promise<ChainFacts> {
  const head = Number(await askResult(url, 'eth_blockNumber', []))
  const all: BlockJson[] = []
  for (let number = 1; number <= head; number++) {
    all.push((await askResult(url, 'eth_getBlockByNumber', [toQuantity(number), true])) as BlockJson)
  }
  const creation = all[0]?.transactions[0]?.hash
  const receipt = await askResult(url, 'eth_getTransactionReceipt', [creation])
  const blocks = all.filter(({ transactions }) => transactions.length === transactionsPerBlock)
  const transactions = blocks.flatMap((block) => block.transactions)
  return {
    blocks: blocks.map(({ number, hash }) => ({ number, hash })),
    transactions: transactions.map(({ hash }) => hash),
    accounts: [...new Set(transactions.map(({ from }) => from))],
    token: (receipt as { readonly contractAddress: string }).contractAddress,
  }
}

/** One question about each of `values`, in an order without locality. */
function aboutEach<T>(values: readonly T[], ask: (value: T, n: number) => string): (n: number) => string {
  const stop = walk(values.length)
  return (n) => ask(values[stop(n)] as T, n)
}

/** Place of `balanceOf` in the storage of `TideToken.sol`. */
const balancesPlace = 3

/** Slot of an account's balance in the token, as Solidity places mappings. */
function balanceSlot(account: string): string {
  const place = balancesPlace.toString(16).padStart(64, '0')
  return bytesToHex(keccak256(hexToBytes(`0x${account.slice(2).padStart(64, '0')}${place}`)))
}

/** Traces of all transactions in the order of the chain, as indexers and explorers ask for them. */
function traces(name: string, title: string, options: object): GethScenario {
  return {
    name,
    title: `${title}, transactions in order`,
    questionsOf({ transactions }) {
      return (n) => rpc('debug_traceTransaction', [transactions[n % transactions.length], options])
    },
  }
}

export const gethScenarios: readonly GethScenario[] = [
  {
    name: 'geth-balance',
    title: 'balance of an account',
    questionsOf: ({ accounts }) =>
      aboutEach(accounts, (account) => rpc('eth_getBalance', [account, 'latest'])),
  },
  {
    name: 'geth-slot',
    title: 'slot of a token',
    questionsOf: ({ accounts, token }) =>
      aboutEach(accounts, (account) => rpc('eth_getStorageAt', [token, balanceSlot(account), 'latest'])),
  },
  {
    name: 'geth-block',
    title: 'block by hash, with hashes of its transactions',
    questionsOf: ({ blocks }) => aboutEach(blocks, ({ hash }) => rpc('eth_getBlockByHash', [hash, false])),
  },
  {
    name: 'geth-transaction',
    title: 'transaction by hash',
    questionsOf: ({ transactions }) =>
      aboutEach(transactions, (hash) => rpc('eth_getTransactionByHash', [hash])),
  },
  {
    name: 'geth-receipt',
    title: 'receipt by hash',
    questionsOf: ({ transactions }) =>
      aboutEach(transactions, (hash) => rpc('eth_getTransactionReceipt', [hash])),
  },
  {
    name: 'geth-logs',
    title: 'logs of a block',
    questionsOf: ({ blocks }) =>
      aboutEach(blocks, ({ number }) => rpc('eth_getLogs', [{ fromBlock: number, toBlock: number }])),
  },
  {
    name: 'geth-call',
    title: 'call, token balance',
    questionsOf: ({ accounts, token }) =>
      aboutEach(accounts, (account, n) =>
        rpc('eth_call', [
          { to: token, data: unlike(calldata('balanceOf(address)', [account]), n) },
          'latest',
        ]),
      ),
  },
  {
    name: 'geth-proof',
    title: 'proof of a slot of a token',
    questionsOf: ({ accounts, token }) =>
      aboutEach(accounts, (account) => rpc('eth_getProof', [token, [balanceSlot(account)], 'latest'])),
  },
  traces('geth-call-tracer', 'callTracer', { tracer: 'callTracer' }),
  traces('geth-prestate-tracer', 'prestateTracer', { tracer: 'prestateTracer' }),
  traces('geth-opcodes', 'log of opcodes', {}),
  {
    name: 'geth-call-tracer-random',
    title: 'callTracer, each time in another block',
    questionsOf: ({ transactions }) =>
      aboutEach(transactions, (hash) => rpc('debug_traceTransaction', [hash, { tracer: 'callTracer' }])),
  },
]

/** The scenario for a chain with these facts. */
export function toScenario({ name, title, questionsOf }: GethScenario, facts: ChainFacts): Scenario {
  return {
    name,
    title: `${title}, beside go-ethereum`,
    network: 'mixed',
    variety: 'many',
    question: questionsOf(facts),
    node: 'same',
    isByCpu: true,
  }
}
