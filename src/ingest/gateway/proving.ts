/**
 * Asks upstreams until one's answers are right. Owns who is asked next, and what happens to one that lied.
 */
import { BlockJsonError } from '../../chain/blockFromJson.js'
import { UnknownForkError } from '../../chain/header.js'
import { bytesToHex, type Hash32, toQuantity } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { RlpError } from '../../primitives/rlp.js'
import { NodeError, type Upstream } from '../../upstream/upstream.js'
import { NoAnswerError, type Upstreams } from '../../upstream/upstreams.js'
import { LieError } from './lie.js'

/** What is needed of {@link Upstreams}. */
export type Asking = Pick<Upstreams, 'ask' | 'answering' | 'quorum'>

/** Asks one question of a node that has not failed yet at what is to be proved; `not` excludes further ones. */
export type Ask = (method: string, params: readonly unknown[], not?: Iterable<Upstream>) => Promise<unknown>

/** Nodes that have to say that there is no such block or transaction, where there are so many: that cannot be proved. */
const denialsMin = 2

/** JSON-RPC codes of nodes that do not have a method. */
const unknownMethodCodes: ReadonlySet<number> = new Set([-32601, -32600, -32004])

export interface ProvingOptions {
  /** Longest time for one thing that is proved, with all repetitions. */
  readonly fetchMsMax: number
}

export class Proving {
  readonly #upstreams: Asking
  readonly #options: ProvingOptions
  /** By `debug_getRaw…` method: nodes without it. */
  readonly #lacking = new Map<string, Set<Upstream>>()

  constructor(upstreams: Asking, options: ProvingOptions) {
    this.#upstreams = upstreams
    this.#options = options
  }

  /** An answer that nothing proves; undefined where no node gives one. */
  async guess(method: string, params: readonly unknown[]): Promise<unknown> {
    const deadline = performance.now() + this.#options.fetchMsMax
    try {
      return (await this.#upstreams.ask(method, params, { deadline })).result
    } catch (error) {
      if (error instanceof NodeError || error instanceof NoAnswerError) return undefined
      throw error
    }
  }

  /** The answer of a method that not every node has; undefined where none has it, or none knows such a block. */
  async raw(method: string, block: Hash32 | number, ask: Ask): Promise<unknown> {
    const lacking = this.#lacking.get(method) ?? new Set<Upstream>()
    this.#lacking.set(method, lacking)
    const params = [typeof block === 'number' ? toQuantity(block) : bytesToHex(block)]
    while (this.#upstreams.answering.some((upstream) => !lacking.has(upstream))) {
      try {
        return (await ask(method, params, lacking)) ?? undefined
      } catch (error) {
        if (!(error instanceof NodeError)) throw error
        // Of an unknown block some nodes answer with an error: the JSON method tells.
        if (!unknownMethodCodes.has(error.code)) return undefined
        lacking.add(error.upstream)
      }
    }
    return undefined
  }

  /**
   * What `prove` returns for the first node whose answers are right; undefined where those that answer know nothing of
   * it. `prove` asks, throws {@link LieError} or RlpError for what is wrong, and returns undefined for null. Rejects
   * with FaultError where nobody gives a right answer.
   */
  async prove<T>(what: string, prove: (ask: Ask) => Promise<T | undefined>): Promise<T | undefined> {
    const deadline = performance.now() + this.#options.fetchMsMax
    const passed = new Set<Upstream>()
    const reasons: string[] = []
    let denials = 0
    while (denials < denialsMin && this.#upstreams.answering.some((upstream) => !passed.has(upstream))) {
      let last: Upstream | undefined
      const ask: Ask = async (method, params, not = []) => {
        const asked = await this.#upstreams.ask(method, params, { deadline, not: [...passed, ...not] })
        last = asked.upstream
        return asked.result
      }
      try {
        const proved = await prove(ask)
        if (proved !== undefined) return proved
        denials++
      } catch (error) {
        if (error instanceof NoAnswerError) throw unavailable(error.message)
        if (error instanceof NodeError) last = error.upstream
        else if (isLie(error)) last?.accuse(error.message)
        else if (!(error instanceof UnknownForkError)) throw error
        reasons.push(`${last?.name}: ${(error as Error).message}`)
      }
      if (last === undefined) throw new Error(`nobody was asked for ${what}`)
      passed.add(last)
    }
    if (denials > 0) return undefined
    throw unavailable(`no upstream gave ${what} (${reasons.join('; ') || 'none answers'})`)
  }
}

/** Whether an answer was wrong, rather than absent. */
function isLie(error: unknown): error is Error {
  return error instanceof LieError || error instanceof RlpError || error instanceof BlockJsonError
}

/** `why` is the whole text. */
export function unavailable(why: string): FaultError {
  return new FaultError({ kind: 'UpstreamsFailed', why })
}
