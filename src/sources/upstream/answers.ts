/** What nodes and their fronts make of the answer to one call, or to a batch. */
import { textOf } from '../../primitives/excerpt.js'
import { type Call, UpstreamFailure } from './line.js'

/** JSON-RPC codes for "too many questions": EIP-1474's, and Alchemy's, which is the HTTP status. */
const busyCodes: ReadonlySet<unknown> = new Set([-32005, 429])

/** JSON-RPC's for what is no JSON. */
const parseErrorCode = -32_700
/** Words with which fronts say the same under codes of their own. */
const busyWords = /\b(rate[- ]?limit|too many requests|throttled)/i

/** What a node says to a call; one of the two is there. */
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

/**
 * The answers to calls by the texts of their ids, which some nodes send as texts; in whatever order, and not necessarily
 * all. Throws {@link UpstreamFailure} where there is none, as where a batch is refused: by one error, or a list of one,
 * as go-ethereum and Erigon do, or one for each call.
 */
export function readAnswers(calls: readonly Call[], given: unknown): ReadonlyMap<string, Answer> {
  const answers = [given].flat().filter(isAnswer)
  const [first] = answers
  if (calls.length === 1) {
    // Calls are JSON: whoever cannot parse them had something else before it, or is no node.
    if (first === undefined || answers.length > 1 || codeOf(first) === parseErrorCode)
      throw new UpstreamFailure('unreadable', 'an answer with neither result nor error')
    return new Map([[String(calls[0]?.id), first]])
  }
  if (first !== undefined && answers.every(isBusy))
    throw new UpstreamFailure('busy', 'it asks for fewer calls')
  const isRefused = answers.every(
    ({ error }) => error && (answers.length === 1 || /batch/i.test(wordsOf(error))),
  )
  const byId = new Map(answers.map((answer) => [String(answer.id), answer]))
  if (isRefused || !Array.isArray(given) || !calls.some(({ id }) => byId.has(String(id))))
    throw new UpstreamFailure('batchRefused', 'a batch is refused')
  return byId
}

function isAnswer(value: unknown): value is Answer {
  if (typeof value !== 'object' || value === null) return false
  const { result, error } = value as Answer
  return result !== undefined || (error !== undefined && error !== null)
}

function wordsOf(error: unknown): string {
  return typeof error === 'object' ? textOf((error as RpcError | null)?.message) : textOf(error)
}

/** Whether a JSON-RPC answer asks for fewer questions. */
export function isBusy(answer: Answer): boolean {
  const words = wordsOf(answer.error)
  // A contract may say so, too.
  return busyCodes.has(codeOf(answer)) || (busyWords.test(words) && !/revert/i.test(words))
}

function codeOf({ error }: Answer): unknown {
  return typeof error === 'object' ? (error as RpcError | null)?.code : undefined
}
