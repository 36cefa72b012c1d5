import { putNewest } from '../../primitives/putNewest.js'

/** How long a method that a node refused is not asked for where there is another way; then its operator may have upgraded it. */
const lackedMs = 600_000
/** The same of a method that it answered before: one of several nodes behind a front may lack it, or a firewall err. */
const brieflyMs = 2_000
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
  /** Whether it was answered, and did not count as refused since. */
  readonly isAnswered: boolean
}

/** Which methods a node lacks, as its answers said. */
export class LackedMethods {
  readonly #known = new Map<string, Known>()

  has(method: string): boolean {
    return performance.now() < (this.#known.get(method)?.lackedUntil ?? 0)
  }

  /** It was refused. */
  note(method: string): void {
    const ms = this.#known.get(method)?.isAnswered ? brieflyMs : lackedMs
    this.#set(method, { failures: 0, lackedUntil: performance.now() + ms, isAnswered: false })
  }

  /** It failed, and others did not. */
  failed(method: string): void {
    const { failures = 0, isAnswered = false } = this.#known.get(method) ?? {}
    if (failures + 1 >= failuresMax) this.note(method)
    else this.#set(method, { failures: failures + 1, lackedUntil: 0, isAnswered })
  }

  answered(method: string): void {
    const known = this.#known.get(method)
    if (known?.isAnswered && known.failures === 0) return
    this.#set(method, { failures: 0, lackedUntil: 0, isAnswered: true })
  }

  #set(method: string, known: Known): void {
    putNewest(this.#known, method, known, methodsMax)
  }
}
