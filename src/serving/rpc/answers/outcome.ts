/** Outcomes of calls and their rendering: results, failures, the members around them, the HTTP status. */
import type { Fault } from '../../../primitives/faults.js'
import { unitsMin } from '../contexts/price.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { Json } from '../method.js'
import type { Answer, AnswerBody } from './answer.js'
import { JsonStream } from './jsonStream.js'
import { faultToHttpStatus, faultToWireError, renderError, type WireError } from './wireErrors.js'

export class Failure {
  constructor(
    readonly error: WireError,
    /** Undefined for a defect. */
    readonly fault: Fault | undefined,
  ) {}

  static of(fault: Fault): Failure {
    return new Failure(faultToWireError(fault), fault)
  }

  /** Charges the minimum for a call that is refused; returns this failure, or that of a caller who cannot pay. */
  chargedTo(context: RequestContext): Failure {
    const unpaid = context.pay(unitsMin)
    return unpaid === undefined ? this : Failure.of(unpaid)
  }
}

export type Outcome = Json | Failure
export type Streamed = Outcome | JsonStream

/** `at` is the hash of the block that the call itself was pinned to; undefined if the call has no `at`. */
export function renderOutcome(id: string, at: string | undefined, outcome: Outcome): AnswerBody {
  if (outcome instanceof Failure) return renderError(id, outcome.error, at)
  const pin = pinOf(at)
  return typeof outcome === 'string'
    ? `{"jsonrpc":"2.0","id":${id},${pin}"result":${outcome}}`
    : ['{"jsonrpc":"2.0","id":', id, `,${pin}"result":`, outcome, '}']
}

function pinOf(at: string | undefined): string {
  return at === undefined ? '' : `"at":"${at}",`
}

const tailHead = Buffer.from(',"result":')
const tailEnd = Buffer.from('}')

/** The part of an answer with this result that follows the id, as UTF-8 bytes. */
export function resultTail(json: Json): Uint8Array {
  const result = typeof json === 'string' ? Buffer.from(json) : json
  const tail = new Uint8Array(tailHead.length + result.length + tailEnd.length)
  tail.set(tailHead)
  tail.set(result, tailHead.length)
  tail.set(tailEnd, tailHead.length + result.length)
  return tail
}

export function resultInTail(tail: Uint8Array): Uint8Array {
  return tail.subarray(tailHead.length, -tailEnd.length)
}

/** Like {@link singleAnswer}, but for a result whose {@link resultTail} is stored. */
export function repeatedAnswer(
  id: string,
  result: Json,
  tail: Uint8Array,
  block: string | undefined,
): Answer {
  const body = ['{"jsonrpc":"2.0","id":', id, tail]
  return { status: 200, body, retryAfterMs: undefined, block, result, isKept: true }
}

/** The answer to a single call, made from the block that `block` names; empty for a notification. */
export function singleAnswer(
  id: string | undefined,
  at: string | undefined,
  outcome: Streamed,
  block: string | undefined,
): Answer {
  if (id === undefined) {
    if (outcome instanceof JsonStream) outcome.cancel()
    return { status: 200, body: '', retryAfterMs: undefined, block }
  }
  if (outcome instanceof JsonStream) {
    const body = `{"jsonrpc":"2.0","id":${id},${pinOf(at)}"result":`
    return { status: 200, body, rest: { stream: outcome, end: '}' }, retryAfterMs: undefined, block }
  }
  const body = renderOutcome(id, at, outcome)
  if (outcome instanceof Failure && outcome.fault !== undefined) {
    return { ...faultToHttpStatus(outcome.fault), body, block, fault: outcome.fault }
  }
  const result = outcome instanceof Failure ? undefined : outcome
  return { status: 200, body, retryAfterMs: undefined, block, result }
}

export function isNull(result: Json): boolean {
  if (result.length !== 4) return false
  return typeof result === 'string' ? result === 'null' : result[0] === 0x6e
}
