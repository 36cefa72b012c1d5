import type { Chain } from '../../data/chain/chain.js'
import type { Hash32 } from '../../primitives/bytes.js'
import { setTimeout } from '../../primitives/timers.js'

/** Who waits, and may leave. */
export interface Waiting {
  onFinished(listener: () => void): void
  forget(listener: () => void): void
}

/**
 * The receipt of a transaction as JSON, once the newest chain has it; undefined where that is not before `endsAtMs`
 * (performance.now()), or the owner leaves. Rejects with NotHeldError where that cannot be told.
 */
export function awaitReceipt(
  chain: Chain,
  hash: Hash32,
  endsAtMs: number,
  owner: Waiting,
): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (work: () => void) => {
      stopListening()
      clearTimeout(timer)
      owner.forget(leave)
      work()
    }
    const look = () => {
      try {
        const at = chain.findTransaction(hash)
        const receipt = at && chain.receiptJson(at)
        if (receipt !== undefined) settle(() => resolve(receipt))
      } catch (error) {
        settle(() => reject(error))
      }
    }
    const leave = () => settle(() => resolve(undefined))
    const stopListening = chain.onHead(look)
    const timer = setTimeout(leave, endsAtMs - performance.now())
    owner.onFinished(leave)
    look()
  })
}
