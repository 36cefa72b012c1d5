/**
 * Asks upstreams until one gives right answers. Owns which node is next, and the consequences for one that lied. All
 * requests about one thing go to one node. Of two nodes one may be behind the other; then their answers contradict each
 * other, though neither lied.
 */
import { BlockJsonError } from '../../../data/chain/blockFromJson.js'
import { UnknownForkError } from '../../../data/chain/header.js'
import { FaultError, InvalidBlockError } from '../../../primitives/faults.js'
import { RlpError } from '../../../primitives/rlp.js'
import { Retry } from '../../upstream/retry.js'
import { NodeError, type Upstream } from '../../upstream/upstream.js'
import { type AskOptions, NoAnswerError, type Upstreams } from '../../upstream/upstreams.js'
import { LackError, LieError, MalformedError, MovedError, NotProvedError } from './lie.js'

export type Asking = Pick<Upstreams, 'ask' | 'candidates' | 'count' | 'quorum'>

/** Least number of nodes that must deny a block or transaction; all nodes, if there are fewer. */
const denialsMin = 2

/**
 * How long other nodes may take to send a claimed block after its claimer denied it. Mostly no node has it then, and a
 * silent node must not delay the others.
 */
const deniedMs = 1_000

export interface ProvingOptions {
  /** Longest time for one proof, with all repetitions. */
  readonly fetchMsMax: number
}

export interface ProveOptions {
  /** Asked before all others, if it may be asked. */
  readonly first?: Upstream | undefined
  /** Nodes that have none of these methods are skipped; if absent, all nodes may be asked. */
  readonly methods?: readonly string[]
  /** Longest time; if absent, {@link ProvingOptions.fetchMsMax}. */
  readonly msMax?: number
}

export interface Question {
  readonly method: string
  readonly params: readonly unknown[]
  /** Whether it is repeated if there is no answer, because the alternative takes many requests. */
  readonly isPatient?: boolean
  /** Recognises an answer that means "absent"; default: null, and no bytes. */
  readonly isNone?: (result: unknown) => unknown
}

/** Requests to one node: the one that answered the first of them. */
export interface Attempt {
  /** The node that answered; undefined before. */
  readonly node?: Upstream | undefined
  /** Whether that node, or before an answer the one that is asked first, may have a method. */
  mayHave(method: string): boolean
  /** Records a member that an answer lacks. A contradiction that it causes is not a lie. */
  noteAbsent(member: string): void
  /** Rejects with NodeError or NoAnswerError. */
  ask(method: string, params: readonly unknown[]): Promise<unknown>
  /**
   * The first usable answer to one of these requests, which are alternatives. Not every node supports those before the
   * last. Rejects as {@link ask} does if the last one fails.
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
  /** Why nothing is found; absent if the node denies that the thing exists. */
  readonly reason: string | undefined
  /** Whether the reason is that its answer cannot be proved. */
  readonly isUnproved: boolean
}

export class Proving {
  readonly #upstreams: Asking
  readonly #options: ProvingOptions

  constructor(upstreams: Asking, options: ProvingOptions) {
    this.#upstreams = upstreams
    this.#options = options
  }

  /** An answer that nothing proves; undefined if no node gives one. */
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
   * The result of `prove` for the first node with right answers. Returns undefined if fewer than a quorum of nodes can
   * still have it, or if all answering nodes deny it. Rejects with FaultError if no node gives a right answer.
   *
   * `prove` makes requests. It returns undefined if the node lacks the thing, which is no lie: the node may be behind.
   * It throws
   *
   * - {@link LieError} for an answer that contradicts a root or another answer,
   * - {@link MalformedError} or RlpError for an answer of another form,
   * - {@link NotProvedError} for a part that nothing proves.
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
   * The result of `read` for the first node with right answers; undefined if no node has it. Each node is asked once.
   * After a `claimer` denied its own claim, the others get little time. Rejects with NoAnswerError.
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
        if (isLie(error, attempt)) {
          attempt.node?.policy.accuse(error.message)
          continue
        }
        if (error instanceof NoAnswerError && attempt.node === undefined) {
          if (passed.length > 0) return undefined
          throw error
        }
        if (!isUnusable(error)) throw error
      }
      if (attempt.node !== undefined) passed.push(attempt.node)
    }
    return undefined
  }

  /**
   * The answer that a quorum of nodes agrees on; undefined if fewer agree. Two answers are equal if `keyOf` is. Rejects
   * as {@link prove}.
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

  /** The best node that may have one of these methods; undefined if there is none. */
  bestWith(methods: readonly string[]): Upstream | undefined {
    return this.#upstreams.candidates.find(
      (upstream) => upstream.policy.isAnswering !== false && hasOneOf(upstream, methods),
    )
  }

  /**
   * Runs `prove` with node after node, best first, and again with those that failed until the time is over. Nodes that
   * lie are accused.
   */
  async *#tries<T>(
    prove: (attempt: Attempt) => Promise<T | undefined>,
    { first, methods = [], msMax = this.#options.fetchMsMax }: ProveOptions = {},
  ): AsyncGenerator<Tried<T>> {
    const deadline = performance.now() + msMax
    const passed = new Set<Upstream>()
    const failed = new Set<Upstream>()
    let isDenied = false
    const retry = new Retry(deadline)
    for (;;) {
      // Since the last node, another request may have shown that a node lacks the methods.
      const left = this.#upstreams.candidates.filter(
        (upstream) => !passed.has(upstream) && (methods.length === 0 || hasOneOf(upstream, methods)),
      )
      if (left.length === 0) {
        // A silent node is not waited for if others deny that the thing exists.
        const again = [...failed].filter(({ policy }) => !isDenied || policy.isAnswering !== false)
        if (again.length === 0 || !(await retry.wait())) return
        for (const upstream of again) passed.delete(upstream)
        failed.clear()
        continue
      }
      const once = isDenied && left.every(({ policy }) => policy.isAnswering === false)
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
        if (isLie(error, attempt)) attempt.node?.policy.accuse(error.message)
        else if (!isUnusable(error)) throw error
        if (error instanceof LackError) for (const method of error.methods) attempt.node?.policy.lack(method)
        if (error instanceof NoAnswerError && attempt.node !== undefined) failed.add(attempt.node)
        isUnproved = error instanceof NotProvedError
        reason = error.message
      }
      const { node } = attempt
      if (node === undefined) throw new Error('no node was asked')
      passed.add(node)
      isDenied ||= found === undefined && reason === undefined
      yield { node, found, reason, isUnproved }
    }
  }
}

function hasOneOf(upstream: Upstream, methods: readonly string[]): boolean {
  return methods.some((method) => upstream.policy.mayHave(method))
}

interface OneNodeOptions {
  readonly deadline: number
  readonly first: Upstream | undefined
  /** Whether a failed request is not repeated. */
  readonly once: boolean
}

class OneNode implements Attempt {
  /** Undefined before the first answer. */
  node: Upstream | undefined
  /** A member that an answer lacks. */
  absent: string | undefined
  readonly #upstreams: Asking
  readonly #not: readonly Upstream[]
  readonly #options: OneNodeOptions

  /** `not` are nodes that are not asked. */
  constructor(upstreams: Asking, not: readonly Upstream[], options: OneNodeOptions) {
    this.#upstreams = upstreams
    this.#not = not
    this.#options = options
  }

  mayHave(method: string): boolean {
    const [next] = this.#upstreams.candidates.filter((upstream) => !this.#not.includes(upstream))
    return (this.node ?? this.#options.first ?? next)?.policy.mayHave(method) !== false
  }

  noteAbsent(member: string): void {
    this.absent ??= member
  }

  async ask(
    method: string,
    params: readonly unknown[],
    not = this.#not,
    once = this.#options.once,
  ): Promise<unknown> {
    const { deadline, first } = this.#options
    // If there are other nodes it is asked only once, so that they get their turn.
    const isOnly = this.node !== undefined && this.#upstreams.count > 1
    const to: Omit<AskOptions, 'deadline'> = isOnly ? { only: this.node as Upstream } : { not, first, once }
    try {
      const { result, upstream } = await this.#upstreams.ask(method, params, { deadline, ...to })
      this.node ??= upstream
      return result
    } catch (error) {
      if (error instanceof NodeError) this.node ??= error.upstream
      throw error
    }
  }

  async askOneOf(questions: readonly Question[]): Promise<MethodAnswer> {
    const inVain: string[] = []
    for (const question of questions.slice(0, -1)) {
      const { method, isNone = isNull } = question
      const result = await this.#askIfKnown(question)
      if (result !== undefined && !(await isNone(result))) return { method, result }
      if (result !== undefined || this.node?.policy.mayHave(method)) inVain.push(method)
    }
    const { method, params } = questions.at(-1) as Question
    const result = await this.ask(method, params)
    // The node has the requested data, so it lacks these methods.
    if (result !== null) for (const other of inVain) this.node?.policy.methodFailed(other)
    return { method, result }
  }

  /** The answer; undefined if this node gives none, or none of the permitted nodes does. */
  async #askIfKnown({ method, params, isPatient = false }: Question): Promise<unknown> {
    const retry = new Retry(this.#options.deadline)
    for (;;) {
      const candidates = this.node === undefined ? this.#upstreams.candidates : [this.node]
      const not = [...this.#not, ...candidates.filter((upstream) => !upstream.policy.mayHave(method))]
      if (candidates.every((upstream) => not.includes(upstream))) return undefined
      try {
        return await this.ask(method, params, not, true)
      } catch (error) {
        if (!(error instanceof NodeError || error instanceof NoAnswerError)) throw error
        if (!isPatient || error instanceof NodeError || !(await retry.wait())) return undefined
      }
    }
  }
}

/** Some nodes return this instead of null for a raw block that they lack. */
function isNull(result: unknown): unknown {
  return result === null || result === '0x'
}

/** Errors of a node without a usable answer: it does not answer, lacks something, or writes it in another form. */
const failures = [
  NodeError,
  NoAnswerError,
  MovedError,
  LackError,
  MalformedError,
  NotProvedError,
  UnknownForkError,
  RlpError,
  BlockJsonError,
]
/** Errors of answers that contradict a root, or each other. */
const contradictions = [LieError, InvalidBlockError]

function isUnusable(error: unknown): error is Error {
  return [...failures, ...contradictions].some((kind) => error instanceof kind)
}

/** Whether an answer contradicts a root, and no absent member explains that. */
function isLie(error: unknown, { absent }: OneNode): error is Error {
  return absent === undefined && contradictions.some((kind) => error instanceof kind)
}

/** `why` is for callers, and names no upstream; `whole` is for the operator. */
export function unavailable(why: string, whole = why): FaultError {
  return new FaultError({ kind: 'UpstreamsFailed', why }, whole)
}
