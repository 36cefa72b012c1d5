/** The order in which a block for a validator takes waiting transactions: that of go-ethereum's miner. */
import type { SentTransaction } from '../../../execution/evm/transactions/sentTransaction.js'
import { latin1Key } from '../../../primitives/bytes.js'

/** Wei per gas that the fee recipient of a block with this base fee gets. */
export function tipOf({ maxFeePerGas, maxPriorityFeePerGas }: SentTransaction, baseFee: bigint): bigint {
  const most = maxFeePerGas - baseFee
  return maxPriorityFeePerGas < most ? maxPriorityFeePerGas : most
}

/** The next transaction of a sender; the others are its later nonces. */
interface Offer {
  readonly tip: bigint
  /** Position in the given order. */
  readonly at: number
  readonly rest: readonly number[]
}

/**
 * Orders transactions by tip; equal tips keep the given order, and so do those of one sender. A sender offers one
 * transaction at a time, and its next one once that is taken.
 */
export function byTip(ready: readonly SentTransaction[], baseFee: bigint): readonly SentTransaction[] {
  const senders = new Map<string, number[]>()
  for (const [at, { sender }] of ready.entries()) {
    const key = latin1Key(sender)
    const own = senders.get(key)
    if (own === undefined) senders.set(key, [at])
    else own.push(at)
  }
  const offerOf = ([at = 0, ...rest]: readonly number[]): Offer => ({
    tip: tipOf(ready[at] as SentTransaction, baseFee),
    at,
    rest,
  })
  // The best offer is the last one.
  const offers = [...senders.values()].map(offerOf).sort((a, b) => (isBetter(a, b) ? 1 : -1))
  const ordered: SentTransaction[] = []
  for (let best = offers.pop(); best !== undefined; best = offers.pop()) {
    ordered.push(ready[best.at] as SentTransaction)
    if (best.rest.length > 0) insert(offers, offerOf(best.rest))
  }
  return ordered
}

function isBetter(a: Offer, b: Offer): boolean {
  return a.tip > b.tip || (a.tip === b.tip && a.at < b.at)
}

function insert(offers: Offer[], offer: Offer): void {
  let low = 0
  let high = offers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBetter(offer, offers[middle] as Offer)) low = middle + 1
    else high = middle
  }
  offers.splice(low, 0, offer)
}
