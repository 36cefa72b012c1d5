/**
 * Talking to a sequencer over HTTP, in either of its forms: JSON-RPC (`PREFIX_addInvokeTransaction`) or a gateway
 * (`POST …/gateway/add_transaction`, whose transactions are written a little differently). Owns what is sent and how an
 * answer is understood, together with `sequencerErrors.ts`; when to send is decided in `forwarder.ts`.
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
  /** Of the JSON-RPC endpoint; of a gateway, up to `/gateway`. */
  readonly url: string
  readonly form: 'rpc' | 'gateway'
  /** Of the methods, with form `rpc`. */
  readonly prefix: string
  /** From the first byte sent to the last one received. */
  readonly timeoutMs: number
}

/** What came of handing over a transaction. */
export type Delivery =
  /** Taken, under the hash that it has here. */
  | { readonly kind: 'accepted' }
  /** Taken, the sequencer says, as `hash`, which is another transaction's. */
  | { readonly kind: 'mistaken'; readonly hash: Felt }
  | Exclude<Meaning, { readonly kind: 'transient' }>
  | Unanswered

/** Whether the sequencer has a transaction and did not reject it. Unanswered: it does not say. */
export type Presence = { readonly kind: 'there' } | { readonly kind: 'absent' } | Unanswered

export interface SequencerClient {
  /** Hands a transaction over. `body` is its canonical JSON. Never rejects. */
  submit(hash: Felt, body: string): Promise<Delivery>
  /** Never rejects. */
  find(hash: Felt): Promise<Presence>
  /** Ends all requests under way. */
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
  const request = (method: string, params: string) =>
    exchange(url, `{"jsonrpc":"2.0","id":1,"method":"${prefix}_${method}","params":${params}}`)
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
  const base = url.replace(/\/+$/, '')
  const feeder = base.replace(/\/gateway$/, '/feeder_gateway')
  return {
    async submit(hash, body) {
      const transaction = toGatewayForm(JSON.parse(body) as InvokeTransaction)
      const answer = await exchange(`${base}/add_transaction`, JSON.stringify(transaction))
      if (answer.kind === 'unanswered') return answer
      const { code, message, transaction_hash: taken } = members(answer.json)
      if (code === 'TRANSACTION_RECEIVED') return readAcceptance(taken, hash, answer)
      if (typeof code !== 'string') return readAcceptance(undefined, hash, answer)
      return toDelivery(nameToMeaning(code, text(message) ?? ''), answer)
    },
    async find(hash) {
      const answer = await exchange(`${feeder}/get_transaction_status?transactionHash=${hash}`)
      if (answer.kind === 'unanswered') return answer
      return readPresence(members(answer.json).tx_status, answer)
    },
  }
}

/** An answer that holds no error. Only with our hash, and under a status of success, is it an acceptance. */
function readAcceptance(taken: unknown, hash: Felt, answer: Answer): Delivery {
  const { status } = answer
  // Of the request alone, and in no words of the interface.
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

/** Finality statuses by which a sequencer has a transaction, and by which it does not, in either form. */
const thereStatuses: ReadonlySet<unknown> = new Set([
  'RECEIVED',
  'CANDIDATE',
  'PENDING',
  'PRE_CONFIRMED',
  'ACCEPTED_ON_L2',
  'ACCEPTED_ON_L1',
  // The gateway's word for executed and reverted: its nonce is used and its fee paid.
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

/** The gateway's way of writing a transaction (names of starkware's `DeprecatedGatewayInvokeTransactionV3`). */
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

/** The members of an object; none for anything else. */
function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** JSON-RPC 1.0 writes null for the member that is not there. */
function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
