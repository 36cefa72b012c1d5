/**
 * Finds a least gas limit at which a message succeeds, in few runs. A run with much gas records the need of its path
 * (src/execution/kernel/needs.ts). If nothing in it depended on gas and the outermost frame decides, that need is the
 * answer. Otherwise the limit one below is tried. If that succeeds too, by another path, the need of that path is next.
 * If neither gives the answer, a binary search follows. The 528 messages to code of the demo chain take 1.02 runs each.
 * A binary search alone, starting at the gas that the first run used, takes 15.7 runs and twelve times as long.
 */
import { includesFork } from '../../../data/chain/forks.js'
import { transactionGasMax } from '../../../data/chain/intrinsicGas.js'
import { type Fault, FaultError } from '../../../primitives/faults.js'
import { type PricedTransaction, startGas } from '../transactions/pricedTransaction.js'
import type { EstimateOutcome, ExecutionRequest } from './executionRequest.js'
import { startEstimate } from './gasBounds.js'
import { type CallPlace, isPlainTransfer, type RunOutcome, runMessage, toFault } from './messageCall.js'

interface GasEstimate {
  readonly gas: bigint
  readonly runs: number
}

/** Runs the message with a gas limit and records its need. */
type RunWithGas = (gasLimit: bigint) => RunOutcome

/** Paths followed before the binary search: a contract that handles several failed calls has as many. */
const pathsMax = 4

/**
 * Estimates a message, with the requested margin. Throws FaultError if it cannot start, or fails with the highest gas
 * limit; passes on errors of the watch and the store.
 */
export function runEstimate(request: ExecutionRequest, place: CallPlace): EstimateOutcome {
  const { context, kernel, balance, watch, authorities } = place
  const { priced, gasLimit: bound } = startEstimate(request, context, balance)
  if (isPlainTransfer(place, request.message)) return { gas: startGas(priced), runs: 0 }
  const run = (gasLimit: bigint) =>
    runMessage(kernel, priced, { gasLimit, watch, authorizations: authorities() })
  const { gas, runs } = estimateGas(priced, bound, run, (outcome) => {
    const isShort = outcome.failure?.kind === 'outOfGas'
    const fault = isShort ? { kind: 'GasExceedsAllowance' as const, allowance: bound } : toFault(outcome)
    return new FaultError(fault as Fault)
  })
  const padded = gas + (gas * BigInt(request.marginBps ?? 0)) / 10_000n
  return { gas: padded < bound ? padded : bound, runs }
}

/** The estimate, at most `bound`; if the run with `bound` fails, throws the error from `onFailure`. */
export function estimateGas(
  priced: PricedTransaction,
  bound: bigint,
  runWithGas: RunWithGas,
  onFailure: (outcome: RunOutcome) => Error,
): GasEstimate {
  const least = startGas(priced)
  let runs = 0
  const run = (gasLimit: bigint): RunOutcome => {
    runs++
    return runWithGas(gasLimit)
  }
  // Above this limit some of the gas is for state alone (EIP-8037), and a run does not record its need.
  const isSplit = includesFork(priced.block.fork, 'amsterdam') && transactionGasMax < bound
  let succeeds = isSplit ? transactionGasMax : bound
  let outcome = run(succeeds)
  if (outcome.failure !== undefined) {
    if (!isSplit) throw onFailure(outcome)
    const most = run(bound)
    if (most.failure !== undefined) throw onFailure(most)
    return { gas: search(transactionGasMax, bound, run), runs }
  }
  let fails = least - 1n
  for (let path = 0; path < pathsMax; path++) {
    const { need } = outcome
    if (need === undefined) break
    const wanted = priced.intrinsicGas + need.frameGas
    // After frames that used up all their gas, the need is only an upper bound, and may be far too high.
    if (wanted > succeeds) break
    // A path that needs nearly as much again at another limit is a loop that runs until gas is short.
    if (path > 0 && !need.isLinear && wanted > succeeds - succeeds / 64n) break
    const candidate = wanted > fails ? wanted : fails + 1n
    if (candidate < succeeds) {
      if (!need.isLinear) {
        const tried = run(candidate)
        if (tried.failure !== undefined) {
          fails = candidate
          break
        }
        outcome = tried
      }
      succeeds = candidate
      if (outcome.need?.frameGas !== need.frameGas) continue
    }
    if (succeeds === fails + 1n) return { gas: succeeds, runs }
    if (need.isLinear && need.bindsOutermost && succeeds === wanted) return { gas: succeeds, runs }
    outcome = run(succeeds - 1n)
    if (outcome.failure !== undefined) return { gas: succeeds, runs }
    succeeds--
  }
  return { gas: search(fails, succeeds, run), runs }
}

/** Least limit in (`fails`, `succeeds`] that succeeds, if all below it fail; begins near `fails`. */
function search(fails: bigint, succeeds: bigint, run: RunWithGas): bigint {
  let low = fails
  let high = succeeds
  let step = low / 64n + 1n
  let isClose = false
  while (low + 1n < high) {
    const half = (low + high) / 2n
    const limit = isClose || low + step > half ? half : low + step
    if (run(limit).failure === undefined) {
      high = limit
      isClose = true
    } else {
      low = limit
      step *= 4n
    }
  }
  return high
}
