/**
 * Talking to a sequencer over HTTP, in either of its forms: JSON-RPC (`PREFIX_addInvokeTransaction`) or a gateway
 * (`POST …/gateway/add_transaction`, whose transactions are written a little differently). Owns what is sent and how an
 * answer is understood; when to send is decided in `forwarder.ts`.
 */
import type { Rejection } from '../store/submissions.js'
import type { Felt } from './felt.js'
import type { AvailabilityMode, InvokeTransaction } from './invokeTransaction.js'
import { codeToRejection, isKnownName, nameToRejection } from './sequencerErrors.js'

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
  /** Taken, now or before. `hash` is the sequencer's, where it says one. */
  | { readonly kind: 'accepted'; readonly hash: string | undefined }
  | { readonly kind: 'rejected'; readonly rejection: Rejection }
  /** No word. `isUndelivered`: the sequencer cannot have got it. */
  | { readonly kind: 'unanswered'; readonly why: string; readonly isUndelivered: boolean }

export interface SequencerClient {
  /** Hands a transaction over. `body` is its canonical JSON. Never rejects. */
  submit(body: string): Promise<Delivery>
  /** Whether the sequencer has a transaction and did not reject it; undefined where it cannot be asked. Never rejects. */
  hasTransaction(hash: Felt): Promise<boolean | undefined>
  /** Ends all requests under way. */
  close(): void
}

/** Longest answer that is read: an error with the trace of a validation; anything longer is no sequencer's. */
const answerBytesMax = 2 ** 20

export function createSequencerClient(options: SequencerOptions): SequencerClient {
  const closing = new AbortController()
  const exchange = (url: string, body?: string) => askOnce(url, body, options.timeoutMs, closing.signal)
  const form = options.form === 'rpc' ? rpcForm(options, exchange) : gatewayForm(options, exchange)
  return { ...form, close: () => closing.abort() }
}

interface Exchanged {
  readonly status: number
  /** Undefined where the answer is not JSON. */
  readonly json: unknown
}

/** Resolves to an answer, or to why there is none. */
type Exchange = (url: string, body?: string) => Promise<Exchanged | Unanswered>
type Unanswered = Extract<Delivery, { readonly kind: 'unanswered' }>
type Form = Omit<SequencerClient, 'close'>

function rpcForm({ url, prefix }: SequencerOptions, exchange: Exchange): Form {
  const request = (method: string, params: string) =>
    exchange(url, `{"jsonrpc":"2.0","id":1,"method":"${prefix}_${method}","params":${params}}`)
  return {
    async submit(body) {
      const answer = await request('addInvokeTransaction', `{"invoke_transaction":${body}}`)
      if ('kind' in answer) return answer
      const { result, error } = members(answer.json)
      if (result !== undefined) return { kind: 'accepted', hash: text(members(result).transaction_hash) }
      const { code, message, data } = members(error)
      if (code === 59) return { kind: 'accepted', hash: undefined }
      const rejection =
        codeToRejection(code, text(message) ?? '', data) ??
        // Parameters that this service has checked and the sequencer does not take: trying again would not help.
        (code === -32602 ? { code: 63, text: text(message) } : undefined)
      if (rejection !== undefined) return { kind: 'rejected', rejection }
      return unanswered(error === undefined ? `HTTP status ${answer.status}` : `${code} ${message}`)
    },
    async hasTransaction(hash) {
      const answer = await request('getTransactionStatus', `{"transaction_hash":"${hash}"}`)
      if ('kind' in answer) return undefined
      const { result, error } = members(answer.json)
      if (result !== undefined) return members(result).finality_status !== 'REJECTED'
      return error === undefined ? undefined : false
    },
  }
}

function gatewayForm({ url }: SequencerOptions, exchange: Exchange): Form {
  const base = url.replace(/\/+$/, '')
  const feeder = base.replace(/\/gateway$/, '/feeder_gateway')
  return {
    async submit(body) {
      const transaction = toGatewayForm(JSON.parse(body) as InvokeTransaction)
      const answer = await exchange(`${base}/add_transaction`, JSON.stringify(transaction))
      if ('kind' in answer) return answer
      const { status, json } = answer
      const { code, message = '', transaction_hash: hash } = members(json)
      if (status === 200 && code === 'TRANSACTION_RECEIVED') return { kind: 'accepted', hash: text(hash) }
      // Only names are a word on the transaction; a server in trouble answers 5xx with anything.
      if (typeof code !== 'string' || (!isKnownName(code) && (status === 429 || status >= 500))) {
        return unanswered(`HTTP status ${status}`)
      }
      const rejection = nameToRejection(code, String(message))
      return rejection.code === 59 ? { kind: 'accepted', hash: undefined } : { kind: 'rejected', rejection }
    },
    async hasTransaction(hash) {
      const answer = await exchange(`${feeder}/get_transaction_status?transactionHash=${hash}`)
      if ('kind' in answer || answer.status >= 500) return undefined
      const { tx_status: status } = members(answer.json)
      return typeof status === 'string' && status !== 'NOT_RECEIVED' && status !== 'REJECTED'
    },
  }
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

async function askOnce(
  url: string,
  body: string | undefined,
  timeoutMs: number,
  closing: AbortSignal,
): Promise<Exchanged | Unanswered> {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)])
  try {
    const response = await fetch(url, {
      ...(body !== undefined && { method: 'POST', body }),
      headers: { 'content-type': 'application/json' },
      redirect: 'manual',
      signal,
    })
    return { status: response.status, json: await readJson(response) }
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error)
    const { code } = cause as NodeJS.ErrnoException
    if (signal.aborted && !closing.aborted) return unanswered(`no answer within ${timeoutMs} ms`)
    return unanswered(code ?? cause.message, undelivered.has(code ?? ''))
  }
}

/** Failures before a connection stood. */
const undelivered: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

function unanswered(why: string, isUndelivered = false): Unanswered {
  return { kind: 'unanswered', why, isUndelivered }
}

async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  if (response.body === null) return undefined
  for await (const chunk of response.body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > answerBytesMax) return undefined
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return undefined
  }
}

/** The members of an object; none for anything else. */
function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
