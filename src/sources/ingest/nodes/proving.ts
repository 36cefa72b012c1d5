/**
 * Asks upstreams until one's answers are right. Owns who is asked next, and what happens to one that lied. All questions
 * about one thing go to one node: of two nodes one may be behind the other, so that their answers fit badly though
 * neither lied.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { BlockJsonError } from '../../../data/chain/blockFromJson.js'
import { UnknownForkError } from '../../../data/chain/header.js'
import { InvalidBlockError } from '../../../execution/evm/blocks/invalidBlock.js'
import { FaultError } from '../../../primitives/faults.js'
import { RlpError } from '../../../primitives/rlp.js'
import { NodeError, type Upstream } from '../../upstream/upstream.js'
import { type AskOptions, NoAnswerError, type Upstreams } from '../../upstream/upstreams.js'
import { LackError, LieError, MovedError, NotProvedError } from './lie.js'

export type Asking = Pick<Upstreams, 'ask' | 'candidates' | 'count' | 'quorum'>

/** Least nodes that have to say that there is no such block or transaction, where there are so many. */
const denialsMin = 2

/**
 * How long further nodes may take to send a claimed block once its claimer said that it does not have it: mostly it is
 * nowhere then, and a node that is silent must not hold up the others.
 */
const deniedMs = 1_000

/** Wait before nodes that all failed are asked again, at first and at most; doubled each time. */
const retryMs = 50
const retryMsMax = 2_000

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

export interface Question {
  readonly method: string
  readonly params: readonly unknown[]
  /** Whether it is asked again where there is no answer, because what comes after it takes many questions. */
  readonly isPatient?: boolean
  /** Tells an answer that is none; absent: null, and no bytes. */
  readonly isNone?: (result: unknown) => unknown
}

/** Questions to one node: the one that answered the first of them. */
export interface Attempt {
  /** The node that answered; undefined before. */
  readonly node?: Upstream | undefined
  /** Whether that node, or before an answer the one that is asked first, may have a method. */
  mayHave(method: string): boolean
  /** Rejects with NodeError or NoAnswerError. */
  ask(method: string, params: readonly unknown[]): Promise<unknown>
  /**
   * The answer to the first of these questions, all about the same, that the node answers; those before the last one not
   * every node has. Rejects as {@link ask} does where the last one fails.
   */
  askOneOf(questions: readonly Question[]): Promise<MethodAnswer>
}

interface MethodAnswer {
  readonly method: string
  readonly result: unknown
}

interface Tried<T> {
  readonly node: Upstream
  readonly found: T | undefined
  /** Why there is nothing found; absent where the node says that there is no such thing. */
  readonly reason: string | undefined
  /** Whether the reason is that what it answered cannot be proved. */
  readonly isUnproved: boolean
}

export class Proving {
  readonly #upstreams: Asking
  readonly #options: ProvingOptions

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
    const reasons = new Map<Upstream, string>()
    let unproved: string | undefined
    for await (const { node, found, reason, isUnproved } of this.#tries(prove, options)) {
      if (found !== undefined) return found
      if (isUnproved) unproved = reason
      if (reason !== undefined) reasons.set(node, `${node.name}: ${reason}`)
      else if (++denials >= denialsMax) return undefined
      else reasons.delete(node)
    }
    if (denials > 0 && reasons.size === 0) return undefined
    if (unproved !== undefined) throw new FaultError({ kind: 'NotProved', why: unproved }, unproved)
    const why = `no upstream gave ${what}`
    throw unavailable(why, `${why} (${[...reasons.values()].join('; ') || 'none answers'})`)
  }

  /**
   * What `read` returns for the first node whose answers are right; undefined where no node has it. Each is asked once; of
   * what a `claimer` said to have, others are not waited for long once it denied that. Rejects with NoAnswerError.
   */
  async find<T>(
    read: (attempt: Attempt) => Promise<T | undefined>,
    claimer?: Upstream,
  ): Promise<T | undefined> {
    const { fetchMsMax } = this.#options
    const passed: Upstream[] = []
    while (passed.length < this.#upstreams.count) {
      const isDenied = claimer !== undefined && passed.includes(claimer)
      const deadline = performance.now() + (isDenied ? Math.min(fetchMsMax, deniedMs) : fetchMsMax)
      const attempt = new OneNode(this.#upstreams, passed, { deadline, first: undefined, once: false })
      try {
        const found = await read(attempt)
        if (found !== undefined) return found
      } catch (error) {
        if (isLie(error)) {
          attempt.node?.accuse(error.message)
          continue
        }
        if (error instanceof NoAnswerError && attempt.node === undefined) {
          if (passed.length > 0) return undefined
          throw error
        }
        if (!isFailure(error)) throw error
      }
      if (attempt.node !== undefined) passed.push(attempt.node)
    }
    return undefined
  }

  /**
   * What so many nodes say as the quorum is; undefined where fewer agree. `keyOf` tells whether two say the same. Rejects as
   * {@link prove}.
   */
  async agree<T>(
    read: (attempt: Attempt) => Promise<T | undefined>,
    keyOf: (answer: T) => string,
    options?: ProveOptions,
  ): Promise<T | undefined> {
    const votes = new Map<string, number>()
    for await (const { found } of this.#tries(read, options)) {
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
    return this.#upstreams.candidates.find(
      (upstream) => upstream.isAnswering !== false && hasOneOf(upstream, methods),
    )
  }

  /**
   * Runs `prove` with node after node, best first, and again with those that failed until the time is over; whoever lies
   * is accused.
   */
  async *#tries<T>(
    prove: (attempt: Attempt) => Promise<T | undefined>,
    { first, methods = [], msMax = this.#options.fetchMsMax }: ProveOptions = {},
  ): AsyncGenerator<Tried<T>> {
    const deadline = performance.now() + msMax
    const passed = new Set<Upstream>()
    const failed = new Set<Upstream>()
    let isDenied = false
    let waitMs = retryMs
    for (;;) {
      // Another question may have shown since the last node that one lacks the methods.
      const left = this.#upstreams.candidates.filter(
        (upstream) => !passed.has(upstream) && (methods.length === 0 || hasOneOf(upstream, methods)),
      )
      if (left.length === 0) {
        // Whoever is silent is not waited for where others say that there is no such thing.
        const again = [...failed].filter(({ isAnswering }) => !isDenied || isAnswering !== false)
        if (again.length === 0 || performance.now() + waitMs >= deadline) return
        await sleep(waitMs)
        waitMs = Math.min(2 * waitMs, retryMsMax)
        for (const upstream of again) passed.delete(upstream)
        failed.clear()
        continue
      }
      const once = isDenied && left.every(({ isAnswering }) => isAnswering === false)
      const not = this.#upstreams.candidates.filter((upstream) => !left.includes(upstream))
      const attempt = new OneNode(this.#upstreams, not, { deadline, first, once })
      let found: T | undefined
      let reason: string | undefined
      let isUnproved = false
      try {
        found = await prove(attempt)
      } catch (error) {
        if (error instanceof NoAnswerError && attempt.node === undefined) {
          if (once) return
          throw unavailable(error.brief, error.message)
        }
        if (isLie(error)) attempt.node?.accuse(error.message)
        else if (!isFailure(error)) throw error
        if (error instanceof LackError) for (const method of error.methods) attempt.node?.lack(method)
        if (error instanceof NoAnswerError && attempt.node !== undefined) failed.add(attempt.node)
        isUnproved = error instanceof NotProvedError
        reason = error.message
      }
      const { node } = attempt
      if (node === undefined) throw new Error('nobody was asked')
      passed.add(node)
      isDenied ||= found === undefined && reason === undefined
      yield { node, found, reason, isUnproved }
    }
  }
}

function hasOneOf(upstream: Upstream, methods: readonly string[]): boolean {
  return methods.some((method) => upstream.mayHave(method))
}

interface OneNodeOptions {
  readonly deadline: number
  readonly first: Upstream | undefined
  /** Whether nobody is asked again. */
  readonly once: boolean
}

class OneNode implements Attempt {
  /** Undefined before the first answer. */
  node: Upstream | undefined
  readonly #upstreams: Asking
  readonly #not: readonly Upstream[]
  readonly #options: OneNodeOptions

  /** `not` are not asked. */
  constructor(upstreams: Asking, not: readonly Upstream[], options: OneNodeOptions) {
    this.#upstreams = upstreams
    this.#not = not
    this.#options = options
  }

  mayHave(method: string): boolean {
    const [next] = this.#upstreams.candidates.filter((upstream) => !this.#not.includes(upstream))
    return (this.node ?? this.#options.first ?? next)?.mayHave(method) !== false
  }

  async ask(method: string, params: readonly unknown[]): Promise<unknown> {
    const { first, once } = this.#options
    // Where there are others it is asked once, so that they get their turn.
    const isFirst = this.node === undefined || this.#upstreams.count === 1
    return this.#ask(
      method,
      params,
      isFirst ? { not: this.#not, first, once } : { only: this.node as Upstream },
    )
  }

  async askOneOf(questions: readonly Question[]): Promise<MethodAnswer> {
    const inVain: string[] = []
    for (const question of questions.slice(0, -1)) {
      const { method, isNone = isNull } = question
      const result = await this.#askIfKnown(question)
      if (result !== undefined && !(await isNone(result))) return { method, result }
      if (result !== undefined || this.node?.mayHave(method)) inVain.push(method)
    }
    const { method, params } = questions.at(-1) as Question
    const result = await this.ask(method, params)
    // It has what was asked for, so it does not have these.
    if (result !== null) for (const other of inVain) this.node?.noteLack(other)
    return { method, result }
  }

  /** Undefined where this node, or of those that may be asked none, gives an answer. */
  async #askIfKnown({ method, params, isPatient = false }: Question): Promise<unknown> {
    for (let waitMs = retryMs; ; waitMs = Math.min(2 * waitMs, retryMsMax)) {
      const candidates = this.node === undefined ? this.#upstreams.candidates : [this.node]
      const not = [...this.#not, ...candidates.filter((upstream) => !upstream.mayHave(method))]
      if (candidates.every((upstream) => not.includes(upstream))) return undefined
      const { first, deadline } = this.#options
      const to = this.node === undefined ? { not, first, once: true } : { only: this.node }
      try {
        return await this.#ask(method, params, to)
      } catch (error) {
        if (!(error instanceof NodeError || error instanceof NoAnswerError)) throw error
        const mayAnswer = error instanceof NoAnswerError && performance.now() + waitMs < deadline
        if (!isPatient || !mayAnswer) return undefined
        await sleep(waitMs)
      }
    }
  }

  async #ask(method: string, params: readonly unknown[], to: Omit<AskOptions, 'deadline'>): Promise<unknown> {
    try {
      const { deadline } = this.#options
      const { result, upstream } = await this.#upstreams.ask(method, params, { deadline, ...to })
      this.node ??= upstream
      return result
    } catch (error) {
      if (error instanceof NodeError) this.node ??= error.upstream
      throw error
    }
  }
}

/** Some nodes have no null for a raw block that they do not have. */
function isNull(result: unknown): unknown {
  return result === null || result === '0x'
}

/** Whether a node gave no answer that can be used, and did not lie. */
function isFailure(error: unknown): error is Error {
  const kinds = [NodeError, NoAnswerError, MovedError, LackError, NotProvedError, UnknownForkError]
  return kinds.some((kind) => error instanceof kind)
}

/** Whether an answer was wrong, rather than absent. */
function isLie(error: unknown): error is Error {
  const kinds = [LieError, RlpError, BlockJsonError, InvalidBlockError]
  return kinds.some((kind) => error instanceof kind)
}

/** `why` is for callers, and names no upstream; `whole` is for the operator. */
export function unavailable(why: string, whole = why): FaultError {
  return new FaultError({ kind: 'UpstreamsFailed', why }, whole)
}
