/**
 * The client of a sequencer over HTTP, in either form: JSON-RPC (`PREFIX_addInvokeTransaction`) or a gateway (`POST
 * …/gateway/add_transaction`, with slightly different transactions). Owns requests and, with `sequencerErrors.ts`, the
 * meaning of answers. `forwarder.ts` decides when to send.
 */
import { type Felt, hexToFelt } from './felt.js'
import type { AvailabilityMode, InvokeTransaction } from './invokeTransaction.js'
import { codeToMeaning, type Meaning, nameToMeaning, unknownAnswer } from './sequencerErrors.js'
import {
  type Answer,
  createExchange,
  type Exchange,
  type Unanswered,
  unanswered,
} from './sequencerExchange.js'

export interface SequencerOptions {
  /** URL of the JSON-RPC endpoint, or of a gateway up to `/gateway`; a query is kept. */
  readonly url: string
  readonly form: 'rpc' | 'gateway'
  /** Prefix of the methods, for form `rpc`. */
  readonly prefix: string
  /** Time limit of one exchange, connecting included. */
  readonly timeoutMs: number
}

export type Delivery =
  /** Accepted, under the hash computed here. */
  | { readonly kind: 'accepted' }
  /** Accepted, but under another hash. */
  | { readonly kind: 'mistaken'; readonly hash: Felt }
  | Exclude<Meaning, { readonly kind: 'transient' }>
  | Unanswered

/** Whether the sequencer has a transaction that it did not reject. `Unanswered`: its answer does not show it. */
type Presence = { readonly kind: 'there' } | { readonly kind: 'absent' } | Unanswered

export interface SequencerClient {
  /** Sends a transaction; `body` is its canonical JSON. Never rejects. */
  submit(hash: Felt, body: string): Promise<Delivery>
  /** Asks whether the sequencer has a transaction. Never rejects. */
  find(hash: Felt): Promise<Presence>
  close(): void
}

export function createSequencerClient(options: SequencerOptions): SequencerClient {
  const closing = new AbortController()
  const exchange = createExchange(options.timeoutMs, closing.signal)
  const form = options.form === 'rpc' ? rpcForm(options, exchange) : gatewayForm(options, exchange)
  return { ...form, close: () => closing.abort() }
}

type Form = Omit<SequencerClient, 'close'>

function rpcForm({ url, prefix }: SequencerOptions, exchange: Exchange): Form {
  const endpoint = new URL(url)
  const request = (method: string, params: string) =>
    exchange(endpoint, `{"jsonrpc":"2.0","id":1,"method":"${prefix}_${method}","params":${params}}`)
  return {
    async submit(hash, body) {
      const answer = await request('addInvokeTransaction', `{"invoke_transaction":${body}}`)
      if (answer.kind === 'unanswered') return answer
      const { result, error } = members(answer.json)
      if (!isPresent(error)) return readAcceptance(members(result).transaction_hash, hash, answer)
      if (isPresent(result)) return unknownAnswer('both a result and an error')
      const { code, message, data } = members(error)
      return toDelivery(codeToMeaning(code, text(message) ?? '', data), answer)
    },
    async find(hash) {
      const answer = await request('getTransactionStatus', `{"transaction_hash":"${hash}"}`)
      if (answer.kind === 'unanswered') return answer
      const { result, error } = members(answer.json)
      if (!isPresent(error)) return readPresence(members(result).finality_status, answer)
      const { code, message } = members(error)
      if (code === 29 && !isPresent(result)) return { kind: 'absent' }
      return withoutWord(answer, `${code}: ${text(message)}`)
    },
  }
}

function gatewayForm({ url }: SequencerOptions, exchange: Exchange): Form {
  const submissions = new URL(url)
  const gateway = submissions.pathname.replace(/\/+$/, '')
  submissions.pathname = `${gateway}/add_transaction`
  const statuses = new URL(url)
  statuses.pathname = `${gateway.replace(/\/gateway$/, '/feeder_gateway')}/get_transaction_status`
  return {
    async submit(hash, body) {
      const transaction = toGatewayForm(JSON.parse(body) as InvokeTransaction)
      const answer = await exchange(submissions, JSON.stringify(transaction))
      if (answer.kind === 'unanswered') return answer
      const { code, message, transaction_hash: taken } = members(answer.json)
      if (code === 'TRANSACTION_RECEIVED') return readAcceptance(taken, hash, answer)
      if (typeof code !== 'string') return readAcceptance(undefined, hash, answer)
      return toDelivery(nameToMeaning(code, text(message) ?? ''), answer)
    },
    async find(hash) {
      const status = new URL(statuses)
      status.searchParams.append('transactionHash', hash)
      const answer = await exchange(status)
      if (answer.kind === 'unanswered') return answer
      return readPresence(members(answer.json).tx_status, answer)
    },
  }
}

/** Reads an answer without an error. It is an acceptance only with the hash computed here and a 2xx status. */
function readAcceptance(taken: unknown, hash: Felt, answer: Answer): Delivery {
  const { status } = answer
  // The status is about this request, but the body has no known meaning.
  if (status >= 400 && status < 500) return unknownAnswer(`HTTP status ${status}`)
  const known = hexToFelt(text(taken) ?? '')
  if (status >= 300 || known === undefined) return withoutWord(answer, 'neither hash nor error')
  return known === hash ? { kind: 'accepted' } : { kind: 'mistaken', hash: known }
}

function toDelivery(meaning: Meaning, answer: Answer): Delivery {
  return meaning.kind === 'transient' ? withoutWord(answer, meaning.text) : meaning
}

function withoutWord({ status, retryAfterMs }: Answer, what: string): Unanswered {
  return { ...unanswered(`HTTP status ${status}, ${what}`), retryAfterMs }
}

/** Finality statuses of a transaction that a sequencer has, and of one that it does not have, in either form. */
const thereStatuses: ReadonlySet<unknown> = new Set([
  'RECEIVED',
  'CANDIDATE',
  'PENDING',
  'PRE_CONFIRMED',
  'ACCEPTED_ON_L2',
  'ACCEPTED_ON_L1',
  // The gateway's status for executed and reverted: the nonce is used and the fee paid.
  'REVERTED',
])
const absentStatuses: ReadonlySet<unknown> = new Set(['NOT_RECEIVED', 'REJECTED'])

function readPresence(finality: unknown, answer: Answer): Presence {
  if (answer.status < 300) {
    if (thereStatuses.has(finality)) return { kind: 'there' }
    if (absentStatuses.has(finality)) return { kind: 'absent' }
  }
  return withoutWord(answer, `transaction status ${text(finality) ?? 'missing'}`)
}

/** A transaction in the gateway's form (names of StarkWare's `DeprecatedGatewayInvokeTransactionV3`). */
function toGatewayForm(transaction: InvokeTransaction): Record<string, unknown> {
  const { resource_bounds: bounds } = transaction
  const modeNumber = (mode: AvailabilityMode) => (mode === 'L1' ? 0 : 1)
  return {
    ...transaction,
    type: 'INVOKE_FUNCTION',
    resource_bounds: Object.fromEntries(
      Object.entries(bounds).map(([name, bound]) => [name.toUpperCase(), bound]),
    ),
    nonce_data_availability_mode: modeNumber(transaction.nonce_data_availability_mode),
    fee_data_availability_mode: modeNumber(transaction.fee_data_availability_mode),
  }
}

/** `value` if it is an object, otherwise an empty object. */
function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** JSON-RPC 1.0 writes null for an absent member. */
function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
