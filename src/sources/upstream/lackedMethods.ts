import { putNewest } from '../../primitives/putNewest.js'

/**
 * Time for which a refused method is avoided if another node or method can serve; its operator may then have upgraded
 * it.
 */
const lackedMs = 600_000
/**
 * The same for a method that was answered before: one of several nodes behind a front may lack it, or a firewall err.
 */
const brieflyMs = 2_000
/** Failures in a row of one method, while the node answers others, after which the method counts as refused. */
const failuresMax = 3
/** Maximum methods in the record: more than this program uses, and a bound for methods that callers name. */
const methodsMax = 256

/** JSON-RPC codes of nodes that do not have a method. */
const unknownMethodCodes: ReadonlySet<number> = new Set([-32601, -32600, -32004, -32604])
/** Words of these refusals with other codes. */
const refusal =
  /\bmethod\b.*\b(not|isn't|unknown|un\w+|no longer|restricted|disabled|denied|blocked|forbidden)\b|\b(unknown|unsupported|invalid|no such|disabled|restricted|forbidden) (\w+ )?method\b|\bnot (supported|allowed|enabled|permitted|whitelisted|authorized|implemented)\b|\b(unsupported|unauthori[sz]ed|forbidden)\b|\bupgrade\b/i

/** Whether an error means that a node lacks a method, or forbids it. */
export function refusesMethod(code: number, message: string): boolean {
  return unknownMethodCodes.has(code) || (refusal.test(message) && !/revert/i.test(message))
}

interface Known {
  readonly failures: number
  /** The method counts as refused until then, in the time of `performance.now()`. */
  readonly lackedUntil: number
  /** Whether it was answered, and was not refused since. */
  readonly isAnswered: boolean
}

/** The methods that a node lacks, learned from its answers. */
export class LackedMethods {
  readonly #known = new Map<string, Known>()

  has(method: string): boolean {
    return performance.now() < (this.#known.get(method)?.lackedUntil ?? 0)
  }

  /** Records a refusal. */
  note(method: string): void {
    const ms = this.#known.get(method)?.isAnswered ? brieflyMs : lackedMs
    this.#set(method, { failures: 0, lackedUntil: performance.now() + ms, isAnswered: false })
  }

  /** Records a failure of this method while others were answered. */
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
