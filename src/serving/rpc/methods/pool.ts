/**
 * Waiting transactions that this node sent (`txpool_…`, as in execution-apis). If the configuration names these methods
 * in `passThrough`, they return the upstream's own pool instead.
 */
import type { Address } from '../../../primitives/bytes.js'
import type { PoolQuestion } from '../../../primitives/upstreamCalls.js'
import { UncacheableResult } from '../method.js'
import { chainMethod, type Network } from '../network.js'
import { address } from '../params/params.js'
import {
  mapSchema,
  objectSchema,
  quantitySchema,
  type Schema,
  sentTransactionSchema,
  textSchema,
} from '../params/schema.js'

const nonceSchema: Schema = { type: 'string', title: 'decimal number', pattern: '^[0-9]+$' }
const byNonce = (each: Schema) => mapSchema('transactions by nonce', nonceSchema, each)
const parts = (each: Schema) => objectSchema('Pool', { pending: each, queued: each })
const bySender = (each: Schema) => parts(mapSchema('transactions by sender', textSchema, byNonce(each)))

const pool = { cost: 'job', price: 50, isRelayed: true } as const

/** `pending` transactions can run; `queued` ones wait for a transaction with a lower nonce. */
export const poolMethods = {
  txpool_content: chainMethod({
    ...pool,
    price: 500,
    summary: 'Transactions sent from here that wait for a block, by sender and nonce',
    result: bySender(sentTransactionSchema),
    run: (network) => poolJson(network, 'content', { pending: {}, queued: {} }),
  }),
  txpool_contentFrom: chainMethod({
    ...pool,
    summary: 'Transactions of one account sent from here that wait for a block, by nonce',
    params: [address.as('address')],
    result: parts(byNonce(sentTransactionSchema)),
    run: (network, [sender]) => poolJson(network, 'content', { pending: {}, queued: {} }, sender),
  }),
  txpool_inspect: chainMethod({
    ...pool,
    price: 500,
    summary: 'A sentence about each transaction sent from here that waits for a block, by sender and nonce',
    result: bySender(textSchema),
    run: (network) => poolJson(network, 'inspect', { pending: {}, queued: {} }),
  }),
  txpool_status: chainMethod({
    ...pool,
    summary: 'Number of transactions sent from here that wait for a block',
    result: parts(quantitySchema),
    run: (network) => poolJson(network, 'status', { pending: '0x0', queued: '0x0' }),
  }),
}

function poolJson(
  { upstreamCalls }: Network,
  question: PoolQuestion,
  empty: object,
  sender?: Address,
): string | Promise<UncacheableResult> {
  if (upstreamCalls === undefined) return JSON.stringify(empty)
  return upstreamCalls.pool(question, sender).then((json) => new UncacheableResult(json))
}
