/**
 * Runs methods on a network that does not store everything: fetches missing data and runs the method again. Owns the
 * number of repetitions; the network fetches.
 */
import { type FaultError, messageRefused } from '../../../primitives/faults.js'
import { NotHeldError, type WantingCall } from '../../../primitives/notHeld.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { NetworkViews, RpcNetwork } from '../method.js'

/** Maximum fetches for one call before it fails: the number of keys of the longest proof, and some more. */
export const fetchesMax = 2_000

/** The fault of a call that needs more than {@link fetchesMax} fetches. */
function lacksTooMuch(): FaultError {
  const why = `this network fetches at most ${fetchesMax} accounts, slots and the like for one call, and this one needs more; ask for less at once`
  return messageRefused(why)
}

/** Fetches missing data; undefined if `thrown` is another error, or the network cannot fetch. */
export function fetchMissing(
  { fetchMissing }: NetworkViews<RpcNetwork>,
  thrown: unknown,
  context: RequestContext,
  call?: WantingCall,
): Promise<void> | undefined {
  return thrown instanceof NotHeldError ? fetchMissing?.(thrown.wanted, context, call) : undefined
}

/** Runs `run`, and again each time the network has fetched missing data; throws the last error of `run`. */
export function retryAfterFetch<T>(
  views: NetworkViews<RpcNetwork>,
  context: RequestContext,
  call: WantingCall,
  run: () => T | Promise<T>,
): T | Promise<T> {
  if (views.fetchMissing === undefined) return run()
  const again = async (thrown: unknown, round: number): Promise<T> => {
    if (round === fetchesMax && thrown instanceof NotHeldError) throw lacksTooMuch()
    const supplied = context.isFinished
      ? undefined
      : fetchMissing(views, thrown, context, round === 0 ? call : undefined)
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
