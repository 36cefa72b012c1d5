/**
 * The scenarios over HTTP. Each makes its n-th request from n alone, so that every server and every run gets the same
 * requests, and those that must not repeat do not.
 */
import { bytesToHex, toQuantity } from '../../src/primitives/bytes.js'
import {
  addressOf,
  blockTag,
  calldata,
  fullBlock,
  headNumber,
  slots,
  smallBlock,
  uncleBlock,
  word,
} from '../data/demoFacts.js'
import { scatter, walk } from '../data/scatter.js'
import { transactionsPerBlock } from '../data/syntheticBlocks.js'
import { accountHex, contractAddress, contractOf, contracts, slotOf } from '../data/syntheticState.js'
import { productionQuestion } from './productionMix.js'
import { batch, rpc } from './rpc.js'

/** Networks by their name in the configuration: the demo chain, and synthetic ones. */
export type NetworkName = 'demo' | 'slots-1k' | 'slots-100k' | 'slots-large' | 'accounts' | 'blocks'

export interface Scenario {
  /** As in `--only` and targets.json. */
  readonly name: string
  readonly title: string
  readonly network: NetworkName
  /** Body of the n-th request. */
  question(n: number): string
  /** Whether requests differ; `one` where every n gives the same. */
  readonly variety: 'one' | 'many'
  /** Sent as `Accept-Encoding`; the answers must then be compressed. */
  readonly acceptEncoding?: string
  /** Whether the server runs without caches. */
  readonly isUncached?: boolean
  /**
   * `same`: anvil gets the same requests and must give the same answers. A function: other requests for anvil,
   * because it does not have that much state. `none`: anvil cannot answer this.
   */
  readonly anvil: 'same' | 'none' | ((n: number) => string)
  /** Takes so long that few connections ask, and nothing is asked at a fixed rate. */
  readonly isSlow?: true
  /** A scenario on the same server to compare with, measured in turns. */
  readonly beside?: Scenario
}

/** Sizes of the networks; the others are fixed. */
export interface Sizes {
  readonly accounts: number
  readonly largeSlots: number
  /** Of the network `blocks`. */
  readonly blocks: number
}

/** Number of slots of a network, but for those of accounts. */
export function slotsOf(network: NetworkName, sizes: Sizes): number {
  return {
    demo: 0,
    'slots-1k': 1_000,
    'slots-100k': 100_000,
    'slots-large': sizes.largeSlots,
    accounts: 0,
    blocks: 0,
  }[network]
}

/** Keys of one request of the scenario `mapping-slots`. */
const mappingKeys = 1_000
/** Rounds of the loop whose gas is estimated: 1.64 million gas. */
const loopRounds = 20_000
/** Swapped against reserves of more than 10^20, so that varying it by a few wei changes no branch. */
const swapAmount = 10n ** 15n

const contractHexes = Array.from({ length: contracts }, (_, index) => bytesToHex(contractAddress(index)))
const tide = addressOf('Tide')
const [bea, cal] = [addressOf('bea'), addressOf('cal')]

function one(name: string, title: string, body: string, more: Partial<Scenario> = {}): Scenario {
  return { name, title, network: 'demo', variety: 'one', question: () => body, anvil: 'same', ...more }
}

function many(
  name: string,
  title: string,
  question: (n: number) => string,
  more: Partial<Scenario> = {},
): Scenario {
  return { name, title, network: 'demo', variety: 'many', question, anvil: 'same', ...more }
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
  // Without caches, which could hold all answers about the small network.
  return many(network, title, question, { network, isUncached: true, anvil: 'none', ...more })
}

function estimate(call: { readonly to: string; readonly data?: string; readonly value?: string }): string {
  return rpc('eth_estimateGas', [{ from: bea, ...call }])
}

function call(request: { readonly from?: string; readonly to: string; readonly data: string }): string {
  return rpc('eth_call', [request, 'latest'])
}

/** Two blocks with five token transfers each, with other amounts for each n. */
function simulation(n: number): string {
  const calls = Array.from({ length: 5 }, (_, at) => ({
    from: bea,
    to: tide,
    input: calldata('transfer(address,uint256)', [cal, 5 * n + at + 1]),
    gas: '0x186a0',
  }))
  return rpc('eth_simulateV1', [{ blockStateCalls: [{ calls }, { calls }] }, 'latest'])
}

/** Contracts ignore bytes after the arguments; they make each request different. */
function unlike(data: string, n: number): string {
  return data + word(n).slice(2)
}

function randomTransaction(blocks: number): (n: number) => string {
  const transactionStop = walk(blocks * transactionsPerBlock)
  return (n) => {
    const stop = transactionStop(n)
    const number = 1 + Math.floor(stop / transactionsPerBlock)
    const index = stop % transactionsPerBlock
    return rpc('eth_getTransactionByBlockNumberAndIndex', [blockTag(number), toQuantity(index)])
  }
}

/** A proof of three slots of the token, different ones for each n. */
function tokenProof(n: number): string {
  return rpc('eth_getProof', [tide, [word(3 * n), word(3 * n + 1), word(3 * n + 2)], 'latest'])
}

function mappingSlots(n: number): string {
  const keys = Array.from({ length: mappingKeys }, (_, at) => accountHex((n * mappingKeys + at) % 2 ** 31))
  return rpc('tidegate_getMappingSlot', [keys, '0x3'])
}

function storageBatch(): string {
  return batch(
    Array.from({ length: 100 }, (_, at) => {
      const { address, slot } = slots[at % slots.length] as (typeof slots)[number]
      return ['eth_getStorageAt', [address, slot, 'latest']]
    }),
  )
}

/** A hundred reads of what a block explorer shows: slots, blocks, transactions, chain facts. */
function mixedBatch(): string {
  return batch(
    Array.from({ length: 100 }, (_, at) => {
      const { address, slot } = slots[at % slots.length] as (typeof slots)[number]
      const block = blockTag(1 + (scatter(at) % headNumber))
      const kinds = [
        ['eth_getStorageAt', [address, slot, 'latest']],
        ['eth_getBlockByNumber', [block, false]],
        ['eth_getTransactionByBlockNumberAndIndex', [blockTag(fullBlock.number), blockTag(at)]],
        ['eth_blockNumber', []],
        ['eth_chainId', []],
      ] as const
      return kinds[at % kinds.length] as (typeof kinds)[number]
    }),
  )
}

/** Whether this scenario works with any endpoint that has the demo chain. */
export function isOfAnyEndpoint({ network, isUncached }: Scenario): boolean {
  return network === 'demo' && isUncached !== true
}

/** Every scenario over HTTP, in the order of the table. */
export function httpScenarios(sizes: Sizes): Scenario[] {
  const cached = slots[0] as (typeof slots)[number]
  const full = blockTag(fullBlock.number)
  const fullBody = rpc('eth_getBlockByNumber', [full, true])
  const receiptsBody = rpc('eth_getBlockReceipts', [full])
  const count = (value: number) => value.toLocaleString('en')
  const blockFull = one('block-full', 'block, 200 full transactions', fullBody)
  const blockStop = walk(sizes.blocks)
  const fewSlots = randomSlots('slots-1k', 'random slots of 1,000', sizes)
  return [
    one(
      'slot-cached',
      'storage slot, cached',
      rpc('eth_getStorageAt', [cached.address, cached.slot, 'latest']),
    ),
    fewSlots,
    randomSlots('slots-100k', 'random slots of 100,000', sizes, { beside: fewSlots }),
    randomSlots('slots-large', `random slots of ${count(sizes.largeSlots)}`, sizes, { beside: fewSlots }),
    one('block', 'block by hash, no transactions', rpc('eth_getBlockByHash', [smallBlock.hash, false])),
    blockFull,
    one('block-full-gzip', 'that block, compressed', fullBody, {
      acceptEncoding: 'gzip, deflate, br',
      anvil: 'none',
      beside: blockFull,
    }),
    one('receipts', 'receipts of that block', receiptsBody),
    one(
      'trace',
      'callTracer, block of 200 transactions',
      rpc('debug_traceBlockByNumber', [full, { tracer: 'callTracer' }]),
      // Its answer has members in another order, and some of its own.
      {
        anvil: () => rpc('debug_traceBlockByNumber', [full, { tracer: 'callTracer' }]),
        isSlow: true,
      },
    ),
    one('block-full-uncached', 'that block, from the store', fullBody, { isUncached: true }),
    one('receipts-uncached', 'its receipts, from the store', receiptsBody, { isUncached: true }),
    many(
      'block-random',
      `random blocks of ${count(sizes.blocks)}, from the store`,
      (n) => rpc('eth_getBlockByNumber', [blockTag(1 + blockStop(n)), false]),
      { network: 'blocks', isUncached: true, anvil: 'none' },
    ),
    // anvil knows no uncles and answers null.
    one('uncle', 'uncle', rpc('eth_getUncleByBlockNumberAndIndex', [blockTag(uncleBlock.number), '0x0']), {
      anvil: 'none',
    }),
    many('transaction', 'transaction by index', (n) =>
      rpc('eth_getTransactionByBlockNumberAndIndex', [full, blockTag(n % fullBlock.transactions)]),
    ),
    many(
      'transaction-random',
      `random transactions of ${count(sizes.blocks * transactionsPerBlock)}, from the store`,
      randomTransaction(sizes.blocks),
      { network: 'blocks', isUncached: true, anvil: 'none' },
    ),
    one('proof-hot', 'proof, 3 slots, asked before', tokenProof(0)),
    many(
      'proof-random',
      `proof, 3 slots, random of ${count(sizes.accounts)} accounts`,
      (n) => rpc('eth_getProof', [accountHex(scatter(n) % sizes.accounts), [0, 1, 2].map(word), 'latest']),
      { network: 'accounts', isUncached: true, anvil: tokenProof },
    ),
    many('call-balance', 'call, token balance', (n) =>
      call({ to: tide, data: unlike(calldata('balanceOf(address)', [bea]), n) }),
    ),
    // The result of a swap, by a call, as for exchanges without a quote method.
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
    // Headers of simulated blocks differ: anvil gives them other roots and hashes.
    many('simulate', 'simulate, 2 blocks of 5 transfers', simulation, {
      anvil: simulation,
      isSlow: true,
    }),
    many('mapping-slots', 'mapping slots, 1,000 keys', mappingSlots, { anvil: 'none' }),
    one('batch-storage', 'batch of 100 storage reads', storageBatch()),
    one('batch-mixed', 'batch of 100 mixed reads', mixedBatch()),
    many('production-mix', 'production profile', productionQuestion),
  ]
}
