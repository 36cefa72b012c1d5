/**
 * Asks upstreams until one's answers are right. Owns who is asked next, and what happens to one that lied. All questions
 * about one thing go to one node: of two nodes one may be behind the other, so that their answers fit badly though
 * neither lied.
 */
import { BlockJsonError } from '../../chain/blockFromJson.js'
import { UnknownForkError } from '../../chain/header.js'
import { InvalidBlockError } from '../../evm/blocks/invalidBlock.js'
import { bytesToHex, type Hash32, toQuantity } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { RlpError } from '../../primitives/rlp.js'
import { NodeError, type Upstream } from '../../upstream/upstream.js'
import { NoAnswerError, type Upstreams } from '../../upstream/upstreams.js'
import { LackError, LieError, MovedError } from './lie.js'

export type Asking = Pick<Upstreams, 'ask' | 'answering' | 'count' | 'quorum'>

/** Least nodes that have to say that there is no such block or transaction, where there are so many. */
const denialsMin = 2

/** JSON-RPC codes of nodes that do not have a method. */
export const unknownMethodCodes: ReadonlySet<number> = new Set([-32601, -32600, -32004, -32604])

export interface ProvingOptions {
  /** Longest time for one thing that is proved, with all repetitions. */
  readonly fetchMsMax: number
}

export interface ProveOptions {
  /** Asked before all others, if it may be. */
  readonly first?: Upstream | undefined
  /** Nodes that have none of these methods are not asked; absent: all may be. */
  readonly methods?: readonly string[]
  /** Longest time; absent: {@link ProvingOptions.fetchMsMax}. */
  readonly msMax?: number
}

/** Questions to one node: the one that answered the first of them. */
export interface Attempt {
  /** Rejects with NodeError or NoAnswerError. */
  ask(method: string, params: readonly unknown[]): Promise<unknown>
  /** The answer of a method that not every node has; undefined where this node has no such method, or no such block. */
  askRaw(method: string, block: Hash32 | number): Promise<unknown>
  /** The answer of the first of these methods that the node has, with its name. Rejects as {@link ask} does. */
  askOneOf(methods: readonly string[], params: readonly unknown[]): Promise<MethodAnswer>
}

interface MethodAnswer {
  readonly method: string
  readonly result: unknown
}

export class Proving {
  readonly #upstreams: Asking
  readonly #options: ProvingOptions
  readonly #lacks = new LackedMethods()

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

  /**
   * What `prove` returns for the first node whose answers are right; undefined where so many know nothing of it that
   * fewer than a quorum are left to have it, or all that answer. `prove` asks, throws {@link LieError} or RlpError for
   * what is wrong, and returns undefined for what the node does not have, which is no lie: it may be behind. Rejects
   * with FaultError where nobody gives a right answer.
   */
  async prove<T>(
    what: string,
    prove: (attempt: Attempt) => Promise<T | undefined>,
    options: ProveOptions = {},
  ): Promise<T | undefined> {
    const { count, quorum } = this.#upstreams
    const denialsMax = Math.max(denialsMin, count - quorum + 1)
    let denials = 0
    const reasons: string[] = []
    for await (const tried of this.#tries(prove, options)) {
      if (tried.found !== undefined) return tried.found
      if (tried.reason === undefined && ++denials >= denialsMax) return undefined
      if (tried.reason !== undefined) reasons.push(tried.reason)
    }
    if (denials > 0 && reasons.length === 0) return undefined
    throw unavailable(`no upstream gave ${what} (${reasons.join('; ') || 'none answers'})`)
  }

  /** What so many nodes say as the quorum is; undefined where fewer agree. `keyOf` tells whether two say the same. */
  async agree<T>(
    read: (attempt: Attempt) => Promise<T | undefined>,
    keyOf: (answer: T) => string,
  ): Promise<T | undefined> {
    const votes = new Map<string, number>()
    for await (const { found } of this.#tries(read)) {
      if (found === undefined) continue
      const key = keyOf(found)
      const count = (votes.get(key) ?? 0) + 1
      if (count >= this.#upstreams.quorum) return found
      votes.set(key, count)
    }
    return undefined
  }

  /** The best node that may have one of these methods; undefined where none may. */
  bestWith(methods: readonly string[]): Upstream | undefined {
    return this.#upstreams.answering.find((upstream) => this.#lacks.mayHave(upstream, methods))
  }

  /** Runs `prove` with node after node, best first; whoever lies is accused. `reason`: why there is nothing found. */
  async *#tries<T>(
    prove: (attempt: Attempt) => Promise<T | undefined>,
    { first, methods = [], msMax = this.#options.fetchMsMax }: ProveOptions = {},
  ): AsyncGenerator<{ readonly found: T | undefined; readonly reason: string | undefined }> {
    const deadline = performance.now() + msMax
    const without = (upstream: Upstream) => methods.length > 0 && !this.#lacks.mayHave(upstream, methods)
    const passed = new Set<Upstream>()
    for (;;) {
      // Another question may have shown since the last node that one lacks the methods.
      for (const upstream of this.#upstreams.answering) if (without(upstream)) passed.add(upstream)
      if (this.#upstreams.answering.every((upstream) => passed.has(upstream))) return
      const attempt = new OneNode(this.#upstreams, this.#lacks, passed, deadline, first)
      let found: T | undefined
      let reason: string | undefined
      try {
        found = await prove(attempt)
      } catch (error) {
        if (error instanceof NoAnswerError && attempt.node === undefined) throw unavailable(error.message)
        if (isLie(error)) attempt.node?.accuse(error.message)
        else if (!isFailure(error)) throw error
        if (error instanceof LackError && attempt.node) this.#lacks.note(attempt.node, error.method)
        reason = `${attempt.node?.name}: ${error.message}`
      }
      if (attempt.node === undefined) throw new Error('nobody was asked')
      passed.add(attempt.node)
      yield { found, reason }
    }
  }
}

/** How long a node that has no such method is not asked for it; then its operator may have upgraded it. */
const lackedMs = 600_000

/** Which methods nodes lack, as their answers said. */
class LackedMethods {
  /** Node → method → until when that is believed, in the time of `performance.now()`. */
  readonly #until = new Map<Upstream, Map<string, number>>()

  has(upstream: Upstream, method: string): boolean {
    return performance.now() >= (this.#until.get(upstream)?.get(method) ?? 0)
  }

  mayHave(upstream: Upstream, methods: readonly string[]): boolean {
    return methods.some((method) => this.has(upstream, method))
  }

  note(upstream: Upstream, method: string): void {
    const known = this.#until.get(upstream) ?? new Map<string, number>()
    known.set(method, performance.now() + lackedMs)
    this.#until.set(upstream, known)
  }
}

/** Stands for all `debug_getRaw…` methods of blocks, which nodes have together. */
const rawMethods = 'debug_getRaw'

class OneNode implements Attempt {
  /** Undefined before the first answer. */
  node: Upstream | undefined
  readonly #upstreams: Asking
  readonly #lacks: LackedMethods
  readonly #passed: ReadonlySet<Upstream>
  readonly #deadline: number
  readonly #first: Upstream | undefined

  constructor(
    upstreams: Asking,
    lacks: LackedMethods,
    passed: ReadonlySet<Upstream>,
    deadline: number,
    first: Upstream | undefined,
  ) {
    this.#upstreams = upstreams
    this.#lacks = lacks
    this.#passed = passed
    this.#deadline = deadline
    this.#first = first
  }

  async ask(method: string, params: readonly unknown[]): Promise<unknown> {
    const deadline = this.#deadline
    try {
      // Where there are others it is asked once, so that they get their turn.
      const isFirst = this.node === undefined || this.#upstreams.count === 1
      const to = isFirst ? { not: [...this.#passed], first: this.#first } : { only: this.node as Upstream }
      const { result, upstream } = await this.#upstreams.ask(method, params, { deadline, ...to })
      this.node ??= upstream
      return result
    } catch (error) {
      if (error instanceof NodeError) this.node ??= error.upstream
      throw error
    }
  }

  async askRaw(method: string, block: Hash32 | number): Promise<unknown> {
    const next = this.#next
    if (next === undefined || !this.#lacks.has(next, rawMethods)) return undefined
    try {
      const param = typeof block === 'number' ? toQuantity(block) : bytesToHex(block)
      return (await this.ask(method, [param])) ?? undefined
    } catch (error) {
      if (!(error instanceof NodeError)) throw error
      // Of an unknown block some nodes answer with an error: the JSON method tells.
      if (unknownMethodCodes.has(error.code)) this.#lacks.note(error.upstream, rawMethods)
      return undefined
    }
  }

  async askOneOf(methods: readonly string[], params: readonly unknown[]): Promise<MethodAnswer> {
    const next = this.#next
    const had = methods.filter((method) => next === undefined || this.#lacks.has(next, method))
    for (const [at, method] of had.entries()) {
      try {
        return { method, result: await this.ask(method, params) }
      } catch (error) {
        if (!(error instanceof NodeError)) throw error
        if (unknownMethodCodes.has(error.code)) this.#lacks.note(error.upstream, method)
        if (at === had.length - 1) throw error
      }
    }
    throw new Error('a node without any of the methods was asked')
  }

  /** Who is asked next, as long as it answers. */
  get #next(): Upstream | undefined {
    const { answering } = this.#upstreams
    const first = answering.find((upstream) => upstream === this.#first)
    return this.node ?? [first, ...answering].find((each) => each && !this.#passed.has(each))
  }
}

/** Whether a node gave no answer that can be used, and did not lie. */
function isFailure(error: unknown): error is Error {
  const kinds = [NodeError, NoAnswerError, MovedError, LackError, UnknownForkError]
  return kinds.some((kind) => error instanceof kind)
}

/** Whether an answer was wrong, rather than absent. */
function isLie(error: unknown): error is Error {
  const kinds = [LieError, RlpError, BlockJsonError, InvalidBlockError]
  return kinds.some((kind) => error instanceof kind)
}

/** `why` is the whole text. */
export function unavailable(why: string): FaultError {
  return new FaultError({ kind: 'UpstreamsFailed', why }, why)
}
