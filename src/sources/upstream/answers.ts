/** Reads answers of nodes and their fronts to one call, or to a batch. */
import { textOf } from '../../primitives/jsonType.js'
import { type Call, UpstreamFailure } from './line.js'

/** JSON-RPC codes for "too many requests": EIP-1474's, and Alchemy's, which equals the HTTP status. */
const busyCodes: ReadonlySet<unknown> = new Set([-32005, 429])

/** JSON-RPC's code for invalid JSON. */
const parseErrorCode = -32_700
/** Words in refusals of fronts that use codes of their own. */
const busyWords = /\b(rate[- ]?limit|too many requests|throttled)/i

/** JSON-RPC codes of nodes that do not have a method. */
const unknownMethodCodes: ReadonlySet<number> = new Set([-32601, -32600, -32004, -32604])
/** Words of these refusals under other codes. */
const refusal =
  /\bmethod\b.*\b(not|isn't|unknown|un\w+|no longer|restricted|disabled|denied|blocked|forbidden)\b|\b(unknown|unsupported|invalid|no such|disabled|restricted|forbidden) (\w+ )?method\b|\bnot (supported|allowed|enabled|permitted|whitelisted|authorized|implemented)\b|\b(unsupported|unauthori[sz]ed|forbidden)\b|\bupgrade\b/i

/** A node's answer to a call; `result` or `error` is present. */
export interface Answer {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

export interface RpcError {
  readonly code?: unknown
  readonly message?: unknown
  readonly data?: unknown
}

/** The answers of one exchange. */
export interface Answers {
  /** Ids of the calls, as text → answers. */
  readonly byId: ReadonlyMap<string, Answer>
  /** Whether one id has several answers. */
  readonly isRepeated: boolean
}

/**
 * The answers to calls by their ids, which some nodes send as texts; in any order, and possibly incomplete. Of several
 * answers to one call, the first one with a result that is not null counts, otherwise the first. Throws
 * {@link UpstreamFailure} if there is no answer, for example because a batch is refused. Nodes refuse by one error or a
 * list of one, as go-ethereum and Erigon do, or by one error for each call.
 */
export function readAnswers(calls: readonly Call[], given: unknown): Answers {
  const answers = [given].flat().filter(isAnswer)
  const [first] = answers
  const found = firstUsable(answers)
  if (calls.length === 1) {
    const id = String(calls[0]?.id)
    // A single answer belongs to the call, whatever its id is.
    const answer = answers.length === 1 ? first : found.byId.get(id)
    // Calls are valid JSON: a parse error means that other bytes came before the call, or that this is no node.
    if (answer === undefined || codeOf(answer) === parseErrorCode)
      throw new UpstreamFailure('unreadable', 'an answer with neither result nor error')
    return { byId: new Map([[id, answer]]), isRepeated: found.isRepeated }
  }
  if (first !== undefined && answers.every(isBusy))
    throw new UpstreamFailure('busy', 'it asks for fewer calls')
  const isRefused = answers.every(
    ({ error }) => error && (answers.length === 1 || /batch/i.test(wordsOf(error))),
  )
  if (isRefused || !Array.isArray(given) || !calls.some(({ id }) => found.byId.has(String(id))))
    throw new UpstreamFailure('batchRefused', 'a batch is refused')
  return found
}

function firstUsable(answers: readonly Answer[]): Answers {
  const byId = new Map<string, Answer>()
  for (const answer of answers) {
    const id = String(answer.id)
    const earlier = byId.get(id)
    if (earlier === undefined || (hasResult(answer) && !hasResult(earlier))) byId.set(id, answer)
  }
  return { byId, isRepeated: byId.size < answers.length }
}

function hasResult({ result, error }: Answer): boolean {
  return (error ?? null) === null && (result ?? null) !== null
}

function isAnswer(value: unknown): value is Answer {
  if (typeof value !== 'object' || value === null) return false
  const { result, error } = value as Answer
  return result !== undefined || (error !== undefined && error !== null)
}

function wordsOf(error: unknown): string {
  return typeof error === 'object' ? textOf((error as RpcError | null)?.message) : textOf(error)
}

/** Whether a JSON-RPC answer asks for fewer requests. */
export function isBusy(answer: Answer): boolean {
  const words = wordsOf(answer.error)
  // A contract's revert reason may contain these words, too.
  return busyCodes.has(codeOf(answer)) || (busyWords.test(words) && !/revert/i.test(words))
}

/** Whether an error means that a node lacks a method, or forbids it. */
export function refusesMethod(code: number, message: string): boolean {
  return unknownMethodCodes.has(code) || (refusal.test(message) && !/revert/i.test(message))
}

function codeOf({ error }: Answer): unknown {
  return typeof error === 'object' ? (error as RpcError | null)?.code : undefined
}
