/**
 * The scenarios over HTTP. Each makes its n-th request from n alone, so that every server and every run gets the same
 * requests. Requests that must not repeat differ for each n.
 */
import { bytesToHex, toQuantity } from '../../src/primitives/bytes.js'
import { addressOf, calldata, fullBlock, slots, smallBlock, word } from '../data/demoFacts.js'
import { scatter, walk } from '../data/scatter.js'
import { readyBlocks, transactionHash, transactionsPerBlock } from '../data/syntheticBlocks.js'
import { accountHex, contractAddress, contractOf, contracts, slotOf } from '../data/syntheticState.js'
import { batch, rpc } from './rpc.js'

/** Networks by their name in the configuration: the demo chain, synthetic ones, and one that go-ethereum imports too. */
export type NetworkName = 'demo' | 'slots-1k' | 'slots-large' | 'accounts' | 'blocks' | 'mixed'

export interface Scenario {
  /** Name as in `--only` and targets.json. */
  readonly name: string
  readonly title: string
  readonly network: NetworkName
  /** Body of the n-th request. */
  question(n: number): string
  /** Whether requests differ; `one` if every n gives the same. */
  readonly variety: 'one' | 'many'
  /** Sent as `Accept-Encoding`; the answers must then be compressed. */
  readonly acceptEncoding?: string
  /** Whether the server runs without caches. */
  readonly isUncached?: boolean
  /**
   * `same`: anvil gets the same requests and must give the same answers. A function: other requests for anvil, because
   * it has less state. `none`: anvil cannot answer this.
   */
  readonly node: 'same' | 'none' | ((n: number) => string)
  /** Takes so long that few connections send requests, and there is no measurement at a fixed rate. */
  readonly isSlow?: true
  /** Whether ratios are of CPU time per answer even if all servers were saturated. */
  readonly isByCpu?: true
  /** A scenario on the same server to compare with, measured in turns. */
  readonly beside?: Scenario
}

/** Sizes of the networks; the others are fixed. */
export interface Sizes {
  readonly accounts: number
  readonly largeSlots: number
  /** Blocks of the network `blocks`. */
  readonly blocks: number
}

/** Number of slots of a network, without those of its accounts. */
export function slotsOf(network: NetworkName, { largeSlots }: Sizes): number {
  return network === 'slots-1k' ? 1_000 : network === 'slots-large' ? largeSlots : 0
}

/** Rounds of the loop whose gas is estimated: 1.64 million gas. */
const loopRounds = 20_000
/** Swapped against reserves of more than 10^20, so that varying it by a few wei changes no branch. */
const swapAmount = 10n ** 15n

const contractHexes = Array.from({ length: contracts }, (_, index) => bytesToHex(contractAddress(index)))
const tide = addressOf('Tide')
const bea = addressOf('bea')
const cal = addressOf('cal')

function one(name: string, title: string, body: string, more: Partial<Scenario> = {}): Scenario {
  return { name, title, network: 'demo', variety: 'one', question: () => body, node: 'same', ...more }
}

function many(
  name: string,
  title: string,
  question: (n: number) => string,
  more: Partial<Scenario> = {},
): Scenario {
  return { name, title, network: 'demo', variety: 'many', question, node: 'same', ...more }
}

function randomSlots(
  network: NetworkName,
  title: string,
  sizes: Sizes,
  more: Partial<Scenario> = {},
): Scenario {
  const count = slotsOf(network, sizes)
  const question = (n: number) => {
    const index = scatter(n) % count
    return rpc('eth_getStorageAt', [contractHexes[contractOf(index)], bytesToHex(slotOf(index)), 'latest'])
  }
  // Without caches, which could store all answers about the small network.
  return many(network, title, question, { network, isUncached: true, node: 'none', ...more })
}

/** The scenario with the default limits, compared with the run without caches. */
function withCaches(name: string, what: string, uncached: Scenario): Scenario {
  const { isUncached: _, ...scenario } = uncached
  return { ...scenario, name, title: `${what}, with the default limits`, beside: uncached }
}

function estimate(call: { readonly to: string; readonly data?: string; readonly value?: string }): string {
  return rpc('eth_estimateGas', [{ from: bea, ...call }])
}

function call(request: { readonly from?: string; readonly to: string; readonly data: string }): string {
  return rpc('eth_call', [request, 'latest'])
}

/** Contracts ignore bytes after the arguments; they make each request different. */
export function unlike(data: string, n: number): string {
  return data + word(n).slice(2)
}

/**
 * Hashes of transactions in blocks `first` to `last` of the network `blocks`, each once before any again. They are made at the
 * first question.
 */
function randomHash(first: number, last: number): (n: number) => string {
  const count = (last - first + 1) * transactionsPerBlock
  const stop = walk(count)
  let hashes: string[] | undefined
  return (n) => {
    const before = (first - 1) * transactionsPerBlock
    hashes ??= Array.from({ length: count }, (_, serial) => transactionHash(before + serial))
    return hashes[stop(n)] as string
  }
}

/** A proof of three slots of the token, different ones for each n. */
function tokenProof(n: number): string {
  return rpc('eth_getProof', [tide, [word(3 * n), word(3 * n + 1), word(3 * n + 2)], 'latest'])
}

function storageBatch(): string {
  return batch(
    Array.from({ length: 100 }, (_, at) => {
      const { address, slot } = slots[at % slots.length] as (typeof slots)[number]
      return ['eth_getStorageAt', [address, slot, 'latest']]
    }),
  )
}

/** Whether this scenario works with any endpoint that serves the demo chain. */
export function isOfAnyEndpoint({ network, isUncached }: Scenario): boolean {
  return network === 'demo' && isUncached !== true
}

/** Every scenario over HTTP, in the order of the table. */
export function httpScenarios(sizes: Sizes): Scenario[] {
  const cached = slots[0] as (typeof slots)[number]
  const full = toQuantity(fullBlock.number)
  const fullBody = rpc('eth_getBlockByNumber', [full, true])
  const receiptsBody = rpc('eth_getBlockReceipts', [full])
  const count = (value: number) => value.toLocaleString('en')
  const blockFull = one('block-full', 'block, 200 full transactions', fullBody)
  const newest = Math.min(readyBlocks, sizes.blocks)
  const firstReady = sizes.blocks - newest + 1
  const newestStop = walk(newest)
  const blockStop = walk(sizes.blocks)
  const fewSlots = randomSlots('slots-1k', 'random slots of 1,000', sizes)
  const manySlots = randomSlots('slots-large', `random slots of ${count(sizes.largeSlots)}`, sizes, {
    beside: fewSlots,
  })
  const ofBlocks = { network: 'blocks', isUncached: true, node: 'none' } as const
  const randomBlocks = many(
    'block-random',
    `random blocks of the newest ${count(newest)}, from the store`,
    (n) => rpc('eth_getBlockByNumber', [toQuantity(firstReady + newestStop(n)), false]),
    ofBlocks,
  )
  const hashOf = randomHash(firstReady, sizes.blocks)
  const anyHashOf = randomHash(1, sizes.blocks)
  const randomTransactions = many(
    'transaction-random',
    `transactions by hash, random of the newest ${count(newest * transactionsPerBlock)}, from the store`,
    (n) => rpc('eth_getTransactionByHash', [hashOf(n)]),
    ofBlocks,
  )
  const randomReceipts = many(
    'receipt-random',
    'receipts of these transactions by hash, from the store',
    (n) => rpc('eth_getTransactionReceipt', [hashOf(n)]),
    ofBlocks,
  )
  return [
    one(
      'slot-cached',
      'storage slot, cached',
      rpc('eth_getStorageAt', [cached.address, cached.slot, 'latest']),
    ),
    fewSlots,
    manySlots,
    withCaches('cached-slots', 'these slots', manySlots),
    one('block', 'block by hash, no transactions', rpc('eth_getBlockByHash', [smallBlock.hash, false])),
    blockFull,
    one('block-full-gzip', 'that block, compressed', fullBody, {
      acceptEncoding: 'gzip, deflate, br',
      node: 'none',
      beside: blockFull,
    }),
    one('receipts', 'receipts of that block', receiptsBody),
    one(
      'trace',
      'callTracer, block of 200 transactions',
      rpc('debug_traceBlockByNumber', [full, { tracer: 'callTracer' }]),
      // anvil's answer has another order of members, and additional ones.
      {
        node: () => rpc('debug_traceBlockByNumber', [full, { tracer: 'callTracer' }]),
        isSlow: true,
      },
    ),
    one('block-full-uncached', 'that block, from the store', fullBody, { isUncached: true }),
    one('receipts-uncached', 'its receipts, from the store', receiptsBody, { isUncached: true }),
    randomBlocks,
    withCaches('cached-blocks', 'these blocks', randomBlocks),
    randomTransactions,
    withCaches('cached-transactions', 'these transactions', randomTransactions),
    randomReceipts,
    many(
      'block-older',
      `random blocks of ${count(sizes.blocks)}, most without ready answers`,
      (n) => rpc('eth_getBlockByNumber', [toQuantity(1 + blockStop(n)), false]),
      ofBlocks,
    ),
    many(
      'transaction-older',
      `transactions by hash, random of ${count(sizes.blocks * transactionsPerBlock)}`,
      (n) => rpc('eth_getTransactionByHash', [anyHashOf(n)]),
      ofBlocks,
    ),
    many(
      'proof-random',
      `proof, 3 slots, random of ${count(sizes.accounts)} accounts`,
      (n) => rpc('eth_getProof', [accountHex(scatter(n) % sizes.accounts), [0, 1, 2].map(word), 'latest']),
      { network: 'accounts', isUncached: true, node: tokenProof },
    ),
    many('call-balance', 'call, token balance', (n) =>
      call({ to: tide, data: unlike(calldata('balanceOf(address)', [bea]), n) }),
    ),
    // The result of a swap by a call, as for exchanges without a quote method.
    many('call-quote', 'call, exchange quote', (n) => {
      const data = calldata('swap(bool,uint256,uint256)', [true, swapAmount + BigInt(n), 0])
      return call({ from: bea, to: addressOf('Exchange'), data })
    }),
    many('estimate-transfer', 'estimate, transfer', (n) => estimate({ to: cal, value: toQuantity(n + 1) })),
    many('estimate-token', 'estimate, token transfer', (n) =>
      estimate({ to: tide, data: calldata('transfer(address,uint256)', [cal, n + 1]) }),
    ),
    many('estimate-swap', 'estimate, exchange swap', (n) => {
      const data = calldata('swap(bool,uint256,uint256)', [true, swapAmount + BigInt(n), 0])
      return estimate({ to: addressOf('Exchange'), data })
    }),
    many(
      'estimate-loop',
      'estimate, loop of 20,000',
      (n) => estimate({ to: addressOf('Burner'), data: unlike(calldata('burn(uint256)', [loopRounds]), n) }),
      { isSlow: true },
    ),
    one('batch-storage', 'batch of 100 storage reads', storageBatch()),
  ]
}
