/**
 * The mixed production profile: wallets, explorers and indexers on one endpoint. The weights are an assumption, not a
 * recording. Most calls read the head, balances and slots. One in seven fetches a block or receipts; one in twenty is a
 * proof or an estimate, which are expensive. Replace the weights if you know a better mix.
 */
import { toQuantity } from '../../src/primitives/bytes.js'
import { addressOf, calldata, headNumber, slots, word } from '../data/demoFacts.js'
import { scatter } from '../data/scatter.js'
import { rpc } from './rpc.js'

const bea = addressOf('bea')
const cal = addressOf('cal')
const tide = addressOf('Tide')
const balanceCalls = [bea, cal].map((owner) => ({ to: tide, data: calldata('balanceOf(address)', [owner]) }))

const someBlock = (choice: number): string => toQuantity(1 + (choice % headNumber))

interface Share {
  /** Out of {@link weightsTotal} requests. */
  readonly weight: number
  readonly method: string
  /** `choice` is a pseudo-random number. */
  params(choice: number): readonly unknown[]
}

function share(weight: number, method: string, params: Share['params'] = () => []): Share {
  return { weight, method, params }
}

export const productionMix: readonly Share[] = [
  share(30, 'eth_call', (choice) => [balanceCalls[choice % 2], 'latest']),
  share(20, 'eth_blockNumber'),
  share(20, 'eth_getStorageAt', (choice) => {
    const { address, slot } = slots[choice % slots.length] as (typeof slots)[number]
    return [address, slot, 'latest']
  }),
  share(6, 'eth_chainId'),
  share(8, 'eth_getBlockByNumber', (choice) => [someBlock(choice), false]),
  share(3, 'eth_getBlockByNumber', (choice) => [someBlock(choice), true]),
  share(5, 'eth_getTransactionByBlockNumberAndIndex', (choice) => ['0xc8', toQuantity(choice % 200)]),
  share(3, 'eth_getBlockReceipts', (choice) => [someBlock(choice)]),
  share(3, 'eth_estimateGas', (choice) => {
    const data = calldata('transfer(address,uint256)', [cal, 1 + (choice % 1_000_000)])
    return [{ from: bea, to: tide, data }]
  }),
  share(2, 'eth_getProof', (choice) => [tide, [word(choice)], 'latest']),
]

export const weightsTotal = productionMix.reduce((sum, { weight }) => sum + weight, 0)

/** The n-th request; any {@link weightsTotal} consecutive ones have exactly these weights. */
export function productionQuestion(n: number): string {
  // 37 and 100 are coprime, so the kinds are spread evenly.
  let at = (n * 37) % weightsTotal
  for (const { weight, method, params } of productionMix) {
    if (at < weight) return rpc(method, params(scatter(n)))
    at -= weight
  }
  throw new Error('weights do not add up')
}
