/**
 * Decides which calls may be tried, from a bounded memory of trials that ended without an outcome. It counts calls, not
 * time, so that failed trials take at most a fixed share of the work of all calls, at any rate.
 */
import { latin1Key } from '../../../primitives/bytes.js'
import { putNewest } from '../../../primitives/putNewest.js'
import type { CallMessage } from './executionRequest.js'

/** Calls of a key that pay for one failed trial, which takes 0.4 ms at most. */
const callsPerFailure = 100

/** Failed trials of a key that may be unpaid: enough for a page with several long calls. */
const unpaidFailuresMax = 8

/** Calls of a long function that go to the pool untried: a later call may be short again. */
const untriedCalls = 100

/** Number of keys in debt and of long functions that are remembered. Beyond it, the oldest are forgotten. */
const rememberedMax = 1_024

export class TrialRecord {
  /** Key id → calls that it still has to make before a trial. */
  readonly #debts = new Map<string, number>()
  /** Contract and selector → calls that go to the pool untried. */
  readonly #long = new Map<string, number>()
  /** Contract and selector → number of the head at which a call was not short. */
  readonly #longAt = new Map<string, number>()

  /** Counts a call, and returns whether to try it. */
  admit(keyId: string, message: CallMessage): boolean {
    const isTrusted = this.#debts.size === 0 || this.#paysOff(keyId)
    return (this.#long.size === 0 || !this.#isLong(message)) && isTrusted
  }

  #paysOff(keyId: string): boolean {
    const debt = this.#debts.get(keyId)
    if (debt === undefined) return true
    if (debt === 1) this.#debts.delete(keyId)
    else this.#debts.set(keyId, debt - 1)
    return debt <= (unpaidFailuresMax - 1) * callsPerFailure
  }

  #isLong(message: CallMessage): boolean {
    const name = nameOf(message)
    const left = this.#long.get(name)
    if (left === undefined) return false
    if (left === 1) this.#long.delete(name)
    else this.#long.set(name, left - 1)
    return true
  }

  /** Records that a trial of this call ended without an outcome. */
  fail(keyId: string, message: CallMessage): void {
    const debt = this.#debts.get(keyId) ?? 0
    putNewest(this.#debts, keyId, debt + callsPerFailure, rememberedMax)
    putNewest(this.#long, nameOf(message), untriedCalls, rememberedMax)
  }

  /**
   * Notes that a trial of this call had an outcome but was not short. After the first one at a head (its number), the
   * rows are in memory the next time. After the second, the next calls of this function go to the pool untried.
   */
  tookLong(message: CallMessage, head: number): void {
    const name = nameOf(message)
    if (this.#longAt.get(name) === head) putNewest(this.#long, name, untriedCalls, rememberedMax)
    else putNewest(this.#longAt, name, head, rememberedMax)
  }

  /** Forgets calls noted by {@link tookLong}: the rows are no longer in memory, so the next calls are long again. */
  forgetLong(): void {
    this.#longAt.clear()
  }
}

/** The contract and the selector: the first four bytes of the data. */
function nameOf({ to, data }: CallMessage): string {
  return latin1Key(to ?? new Uint8Array(0)) + latin1Key(data.subarray(0, 4))
}
