/**
 * The mixed production profile: wallets, explorers and indexers on one endpoint. The weights are an assumption, not a
 * recording: most calls read the head, balances and slots, one in seven fetches a block or receipts, and the
 * expensive ones, proofs and estimates, are one in twenty. Replace them if you know a better mix.
 */
import { addressOf, blockTag, calldata, headNumber, slots, word } from '../data/demoFacts.js'
import { scatter } from '../data/scatter.js'
import { rpc } from './rpc.js'

interface Share {
  /** Share of {@link weightsTotal} requests. */
  readonly weight: number
  readonly what: string
  /** `choice` is a pseudo-random number. */
  question(choice: number): string
}

const [bea, cal, tide] = [addressOf('bea'), addressOf('cal'), addressOf('Tide')]
const balanceQuestions = [bea, cal].map((owner) =>
  rpc('eth_call', [{ to: tide, data: calldata('balanceOf(address)', [owner]) }, 'latest']),
)

function someSlot(choice: number): readonly [address: string, slot: string] {
  const { address, slot } = slots[choice % slots.length] as (typeof slots)[number]
  return [address, slot]
}

const someBlock = (choice: number): string => blockTag(1 + (choice % headNumber))

export const productionMix: readonly Share[] = [
  {
    weight: 30,
    what: 'eth_call: balance of a token',
    question: (choice) => balanceQuestions[choice % 2] as string,
  },
  { weight: 20, what: 'eth_blockNumber', question: () => rpc('eth_blockNumber', []) },
  {
    weight: 20,
    what: 'eth_getStorageAt, one of the known slots',
    question: (choice) => rpc('eth_getStorageAt', [...someSlot(choice), 'latest']),
  },
  { weight: 6, what: 'eth_chainId', question: () => rpc('eth_chainId', []) },
  {
    weight: 8,
    what: 'eth_getBlockByNumber, hashes only',
    question: (choice) => rpc('eth_getBlockByNumber', [someBlock(choice), false]),
  },
  {
    weight: 3,
    what: 'eth_getBlockByNumber, full transactions',
    question: (choice) => rpc('eth_getBlockByNumber', [someBlock(choice), true]),
  },
  {
    weight: 5,
    what: 'eth_getTransactionByBlockNumberAndIndex',
    question: (choice) => rpc('eth_getTransactionByBlockNumberAndIndex', ['0xc8', blockTag(choice % 200)]),
  },
  {
    weight: 3,
    what: 'eth_getBlockReceipts',
    question: (choice) => rpc('eth_getBlockReceipts', [someBlock(choice)]),
  },
  {
    weight: 3,
    what: 'eth_estimateGas of a token transfer',
    question: (choice) =>
      rpc('eth_estimateGas', [
        { from: bea, to: tide, data: calldata('transfer(address,uint256)', [cal, 1 + (choice % 1_000_000)]) },
      ]),
  },
  {
    weight: 2,
    what: 'eth_getProof with one slot',
    question: (choice) => rpc('eth_getProof', [tide, [word(choice)], 'latest']),
  },
]

export const weightsTotal = productionMix.reduce((sum, { weight }) => sum + weight, 0)

/** The n-th request; any {@link weightsTotal} consecutive ones have exactly these weights. */
export function productionQuestion(n: number): string {
  // 37 and 100 are coprime, so the kinds are spread evenly.
  let at = (n * 37) % weightsTotal
  for (const { weight, question } of productionMix) {
    if (at < weight) return question(scatter(n))
    at -= weight
  }
  throw new Error('weights do not add up')
}
