/**
 * Running methods on a network that does not hold everything: what a reader lacked is got, and the method runs again.
 * Owns how often; getting it is the network's.
 */
import { NotHeldError } from '../primitives/notHeld.js'
import type { Caller } from './caller.js'
import type { NetworkViews, RpcNetwork } from './method.js'

/**
 * How often data is got for one call, one thing after the other, before it is given up: the keys of the longest proof,
 * and some. A call that goes on asking has its deadline besides.
 */
export const suppliesMax = 2_000

/** Gets what was not held; undefined where that is not what was thrown, or nobody can get it. */
export function supply(
  { supply }: NetworkViews<RpcNetwork>,
  thrown: unknown,
  caller: Caller,
): Promise<void> | undefined {
  return thrown instanceof NotHeldError ? supply?.(thrown.wanted, caller) : undefined
}

/** Runs `run`, and again each time the network has got what was not held. Throws, or rejects with, what it throws last. */
export function runSupplied<T>(
  views: NetworkViews<RpcNetwork>,
  caller: Caller,
  run: () => T | Promise<T>,
): T | Promise<T> {
  if (views.supply === undefined) return run()
  const again = async (thrown: unknown, round: number): Promise<T> => {
    const supplied = round < suppliesMax && !caller.isGone ? supply(views, thrown, caller) : undefined
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
