/**
 * Runs methods on a network that does not hold everything: missing data is fetched, and the method runs again. Owns
 * the number of repetitions; the network fetches.
 */
import { type FaultError, messageRefused } from '../../primitives/faults.js'
import { NotHeldError, type WantingCall } from '../../primitives/notHeld.js'
import type { Caller } from '../callers/caller.js'
import type { NetworkViews, RpcNetwork } from '../method.js'

/** Fetches for one call, before it fails: the keys of the longest proof, and some more. */
export const suppliesMax = 2_000

/** Of a call that would go on lacking data. */
function lacksTooMuch(): FaultError {
  const why = `this network fetches at most ${suppliesMax} accounts, slots and the like for one call, and this one needs more; ask for less at once`
  return messageRefused(why)
}

/** Fetches data that was not held; undefined where something else was thrown, or the network cannot fetch. */
export function supply(
  { supply }: NetworkViews<RpcNetwork>,
  thrown: unknown,
  caller: Caller,
  call?: WantingCall,
): Promise<void> | undefined {
  return thrown instanceof NotHeldError ? supply?.(thrown.wanted, caller, call) : undefined
}

/** Runs `run`, and again each time the network has fetched missing data; throws what it throws last. */
export function runSupplied<T>(
  views: NetworkViews<RpcNetwork>,
  caller: Caller,
  call: WantingCall,
  run: () => T | Promise<T>,
): T | Promise<T> {
  if (views.supply === undefined) return run()
  const again = async (thrown: unknown, round: number): Promise<T> => {
    if (round === suppliesMax && thrown instanceof NotHeldError) throw lacksTooMuch()
    const supplied = caller.isGone ? undefined : supply(views, thrown, caller, round === 0 ? call : undefined)
    if (supplied === undefined) throw thrown
    await supplied
    try {
      return await run()
    } catch (next) {
      return again(next, round + 1)
    }
  }
  try {
    const result = run()
    return result instanceof Promise ? result.catch((thrown) => again(thrown, 0)) : result
  } catch (thrown) {
    if (!(thrown instanceof NotHeldError)) throw thrown
    return again(thrown, 0)
  }
}
