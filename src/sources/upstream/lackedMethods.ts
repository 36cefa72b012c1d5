/** How long a method that a node refused is not asked for where there is another way; then its operator may have upgraded it. */
const lackedMs = 600_000
/** Failures in a row of one method, of a node that answers others, after which it counts as refused. */
const failuresMax = 3
/** Methods of which something is remembered: more than are asked for here, and what callers name is bounded. */
const methodsMax = 256

/** JSON-RPC codes of nodes that do not have a method. */
const unknownMethodCodes: ReadonlySet<number> = new Set([-32601, -32600, -32004, -32604])
/** Words with which they say so under other codes. */
const refusal =
  /\bmethod\b.*\b(not|isn't|unknown|un\w+|no longer|restricted|disabled|denied|blocked|forbidden)\b|\b(unknown|unsupported|invalid|no such|disabled|restricted|forbidden) (\w+ )?method\b|\bnot (supported|allowed|enabled|permitted|whitelisted|authorized|implemented)\b|\b(unsupported|unauthori[sz]ed|forbidden)\b|\bupgrade\b/i

/** Whether an error says that a node does not have a method, or does not let it be called. */
export function refusesMethod(code: number, message: string): boolean {
  return unknownMethodCodes.has(code) || (refusal.test(message) && !/revert/i.test(message))
}

interface Known {
  readonly failures: number
  /** Until when it counts as refused, in the time of `performance.now()`. */
  readonly lackedUntil: number
}

/** Which methods a node lacks, as its answers said. */
export class LackedMethods {
  readonly #known = new Map<string, Known>()

  has(method: string): boolean {
    return performance.now() < (this.#known.get(method)?.lackedUntil ?? 0)
  }

  /** It was refused. */
  note(method: string): void {
    this.#set(method, { failures: 0, lackedUntil: performance.now() + lackedMs })
  }

  /** It failed, and others did not. */
  failed(method: string): void {
    const failures = (this.#known.get(method)?.failures ?? 0) + 1
    if (failures >= failuresMax) this.note(method)
    else this.#set(method, { failures, lackedUntil: 0 })
  }

  answered(method: string): void {
    this.#known.delete(method)
  }

  #set(method: string, known: Known): void {
    this.#known.delete(method)
    this.#known.set(method, known)
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= methodsMax) break
      this.#known.delete(oldest)
    }
  }
}
