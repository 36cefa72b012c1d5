/**
 * Methods of a rollup network, under the neutral prefix `rollupx`: invoke transactions that are submitted here, and
 * reads that the sequencer answers.
 */

import { randomBytes } from 'node:crypto'
import { whenKnown } from '../../../primitives/deferred.js'
import { FaultError, type InvokeErrorCode } from '../../../primitives/faults.js'
import { typeName } from '../../../primitives/jsonType.js'
import { type Felt, hexToFelt } from '../../rollup/felt.js'
import {
  FieldError,
  type InvokeLimits,
  type InvokeTransaction,
  parseInvokeTransaction,
  VersionError,
} from '../../rollup/invokeTransaction.js'
import type { SequencerReader } from '../../rollup/sequencerReader.js'
import {
  idText,
  type Rejection,
  type SubmissionRow,
  type SubmissionService,
  statusRow,
  waitForVerdict,
} from '../../rollup/submissionService.js'
import type { OwnedSubscription, Subscriber } from '../../streams/subscriber.js'
import { subscriptionBytes } from '../../streams/subscriberPool.js'
import { defineMethod, type Method, type MethodDefinition, type Param, type RpcNetwork } from '../method.js'
import { invalidArgument, list, objectOf, required, text } from '../params/params.js'
import { booleanSchema, feltSchema, listSchema, objectSchema, textSchema } from '../params/schema.js'
import { readAcceptedStatus, renderStatus } from '../rollup/transactionStatus.js'

/** A network of kind `rollup`, as methods use it. */
export interface RollupNetwork extends RpcNetwork {
  readonly chainId: Felt
  /** Prefix of the network's methods; in a call, the prefix that the caller used. */
  readonly prefix: string
  readonly queue: SubmissionService
  readonly invokeLimits: InvokeLimits
  /** Undefined if the sequencer has no endpoint for reads. */
  readonly reader: SequencerReader | undefined
  /** Maximum wait of a submission's answer for the sequencer's verdict; if undefined, it does not wait. */
  readonly verdictMsMax: number | undefined
}

/**
 * A connection's subscription to the status of one transaction. When there is room it sends the current status, if it
 * differs from the last one sent. A slow reader may miss intermediate statuses, never the last one.
 */
class StatusSubscription implements OwnedSubscription {
  /** 16 random bytes, as for other subscriptions. */
  readonly id = `0x${randomBytes(16).toString('hex')}`
  readonly bytes = subscriptionBytes
  readonly #unlisten: () => void
  /** Submissions with the hash, by their id. */
  readonly #rows = new Map<string, SubmissionRow>()
  #lastStatus: string | undefined
  #isStarted = false
  #isEnded = false
  readonly #subscriber: Subscriber
  readonly #prefix: string
  readonly #of: { readonly hash: Felt; readonly key: string }

  /** `prefix` is that of the method that subscribed, `key` the caller's. */
  constructor(
    subscriber: Subscriber,
    queue: SubmissionService,
    prefix: string,
    of: { readonly hash: Felt; readonly key: string },
  ) {
    this.#subscriber = subscriber
    this.#prefix = prefix
    this.#of = of
    this.#unlisten = queue.onStatusOf(of.hash, (row) => {
      this.#note(row)
      this.resume()
    })
  }

  /** Takes rows that were read after the subscription was created; rows received meanwhile are newer and stay. */
  take(rows: readonly SubmissionRow[]): void {
    for (const row of rows) if (!this.#rows.has(idText(row))) this.#rows.set(idText(row), row)
  }

  /** Submissions by other keys count only until the caller's key submits the hash. */
  #note(row: SubmissionRow): void {
    if (row.key === this.#of.key) {
      for (const [name, { key }] of this.#rows) if (key !== row.key) this.#rows.delete(name)
    } else if ([...this.#rows.values()].some(({ key }) => key === this.#of.key)) return
    if (row.state === 'RECEIVED') {
      // As in the queue, a new submission replaces rejected ones.
      for (const [name, { key, state }] of this.#rows) {
        if (key === row.key && state === 'REJECTED') this.#rows.delete(name)
      }
    }
    this.#rows.set(idText(row), row)
  }

  /** Begins to send; call it once the client knows the id. */
  start(): void {
    this.#isStarted = true
    this.resume()
  }

  resume(): void {
    if (!this.#isStarted || this.#isEnded) return
    const row = statusRow(this.#rows.values(), this.#of.key)
    const status = row && renderStatus(this.#prefix, row.state, row.rejection)
    if (status === undefined || status === this.#lastStatus) return
    if (!this.#subscriber.hasRoom) return this.#subscriber.resumeLater(this)
    this.#lastStatus = status
    const result = `{"transaction_hash":"${this.#of.hash}","status":${status}}`
    this.#subscriber.sink.send(
      Buffer.from(
        `{"jsonrpc":"2.0","method":"${this.#prefix}_subscriptionTransactionStatus","params":{"subscription_id":"${this.id}","result":${result}}}`,
      ),
    )
  }

  end(): void {
    this.#isEnded = true
    this.#unlisten()
  }
}

/* Parameters of the methods of a rollup network. */

/** A transaction as written; it is decoded later, with the network's limits. */
const writtenTransaction: Param<unknown> = required((value) => value, {
  type: 'object',
  title: 'invoke transaction',
})

/** Decodes a transaction. Throws FaultError that names the invalid field; `index` is the argument's index. */
function decodeTransaction(value: unknown, limits: InvokeLimits, index: number): InvokeTransaction {
  try {
    return parseInvokeTransaction(value, limits)
  } catch (error) {
    if (error instanceof FieldError) throw invalidArgument(index, error.message)
    if (!(error instanceof VersionError)) throw error
    throw new FaultError({ kind: 'InvokeRefused', code: 61, text: undefined })
  }
}

/** A felt, called `what` in error messages. */
function felt(what: string): Param<Felt> {
  return required(
    (value, index) => {
      if (typeof value !== 'string') throw invalidArgument(index, `want ${what}, got ${typeName(value)}`)
      const decoded = hexToFelt(value)
      if (decoded === undefined) throw invalidArgument(index, `want ${what} of 1 to 64 hex digits`)
      return decoded
    },
    { type: 'string', title: 'felt', pattern: '^0[xX][0-9a-fA-F]{1,64}$' },
  )
}

const transactionHash = felt('a transaction hash')

const contractAddress = felt('a contract address')

/** A block of the rollup by tag, hash or number; the sequencer decides whether it exists. */
const blockName: Param<unknown> = required(
  (value, index) => {
    if (typeof value === 'string') return value
    return objectOf(value, index, 'a block tag, or an object with block_hash or block_number')
  },
  { oneOf: [{ type: 'string' }, { type: 'object' }] },
)

/** All methods also take parameters by name, and no answer is cached. */
function rollupMethod<const P extends readonly Param<unknown>[]>(
  definition: Omit<MethodDefinition<RollupNetwork, P>, 'byName' | 'memo'>,
): Method<RollupNetwork> {
  return defineMethod({ ...definition, byName: true } as MethodDefinition<RollupNetwork, P>)
}

const byHash = { params: [transactionHash.as('transaction_hash')] } as const
const relayed = { cost: 'job', price: 50 } as const

/** The version of the rollup's JSON-RPC specification for the shapes of these methods; the first with `proof_facts`. */
const specVersion = '0.10.2'

export const rollupMethodFamily = {
  /**
   * The answer comes when the transaction is on disk; it stays there until the sequencer has accepted or rejected it.
   * If the network waits for the verdict, a rejection in time is the answer.
   *
   * The pool computes the hash: 0.14 ms for an ordinary transaction, 30 ms for the largest. A recently hashed
   * transaction is not hashed again.
   *
   * @example
   * rollupx_addInvokeTransaction({"invoke_transaction": {"type": "INVOKE", "version": "0x3", "nonce": "0x7", …}})
   */
  rollupx_addInvokeTransaction: rollupMethod({
    summary: 'Hash of an invoke transaction, which is stored and sent to the sequencer',
    params: [writtenTransaction.as('invoke_transaction')],
    cost: 'job',
    effect: true,
    price: 200,
    result: objectSchema('Submitted', { transaction_hash: feltSchema }),
    async run({ queue, invokeLimits, verdictMsMax }, [written], context) {
      const transaction = decodeTransaction(written, invokeLimits, 0)
      queue.assertAcceptable(transaction)
      const id = await queue.submit(transaction, context)
      if (verdictMsMax !== undefined) {
        const verdict = await waitForVerdict(queue, id, verdictMsMax, context)
        if (verdict?.rejection !== undefined) throw rejectionToFault(verdict.rejection)
      }
      return `{"transaction_hash":"${id.hash}"}`
    },
  }),
  rollupx_blockNumber: rollupMethod({
    ...relayed,
    summary: 'Number of the newest block of the rollup, as the sequencer answers it',
    result: { type: 'integer', minimum: 0 },
    run: (network) => readSequencer(network, 'blockNumber', []),
  }),
  rollupx_chainId: rollupMethod({
    summary: 'Chain id of the rollup, a part of every transaction hash',
    price: 1,
    result: feltSchema,
    run: ({ chainId }) => `"${chainId}"`,
  }),
  /** Clients call this before a submission for which they have no bounds. */
  rollupx_estimateFee: rollupMethod({
    ...relayed,
    summary: 'Fees of transactions that are not submitted yet, as the sequencer answers them',
    params: [
      list('transactions').as('request'),
      list('simulation flags').as('simulation_flags'),
      blockName.as('block_id'),
    ],
    result: listSchema({ type: 'object', title: 'fee estimate' }),
    run: (network, [request, simulation_flags, block_id]) =>
      readSequencer(network, 'estimateFee', { request, simulation_flags, block_id }),
  }),
  rollupx_getBlockWithTxs: rollupMethod({
    ...relayed,
    summary: 'Block of the rollup with its transactions, as the sequencer answers it',
    params: [blockName.as('block_id')],
    result: { type: 'object', title: 'rollup block' },
    run: (network, [block_id]) => readSequencer(network, 'getBlockWithTxs', { block_id }),
  }),
  rollupx_getClassAt: rollupMethod({
    ...relayed,
    summary: 'Class of a contract, as the sequencer answers it',
    params: [blockName.as('block_id'), contractAddress.as('contract_address')],
    result: { type: 'object', title: 'contract class' },
    run: (network, [block_id, contract_address]) =>
      readSequencer(network, 'getClassAt', { block_id, contract_address }),
  }),
  rollupx_getNonce: rollupMethod({
    ...relayed,
    summary: 'Nonce of an account contract, as the sequencer answers it',
    params: [blockName.as('block_id'), contractAddress.as('contract_address')],
    result: feltSchema,
    run: (network, [block_id, contract_address]) =>
      readSequencer(network, 'getNonce', { block_id, contract_address }),
  }),
  /** In the official shape, with its hash. */
  rollupx_getTransactionByHash: rollupMethod({
    ...byHash,
    summary: 'Transaction that was submitted here',
    price: 5,
    result: { type: 'object', title: 'InvokeTransaction', required: ['transaction_hash'] },
    run: ({ queue }, [hash], { keyId }) =>
      whenKnown(queue.readTransaction(hash, keyId), (transaction) => {
        if (transaction === undefined) throw new FaultError({ kind: 'TransactionHashNotFound' })
        return JSON.stringify({ transaction_hash: hash, ...transaction })
      }),
  }),
  rollupx_getTransactionReceipt: rollupMethod({
    ...byHash,
    ...relayed,
    summary: 'Receipt of a transaction, as the sequencer answers it',
    result: { type: 'object', title: 'rollup receipt' },
    run: (network, [transaction_hash]) =>
      readSequencer(network, 'getTransactionReceipt', { transaction_hash }),
  }),
  /**
   * `finality_status` is a value that clients of the rollup know: `RECEIVED`, or `REJECTED` with the reason. Once the
   * sequencer has accepted the transaction it is the sequencer's own value, if that can be read. `queue_status` is more
   * precise about the delivery: `RECEIVED`, `SENT`, `ACCEPTED` or `REJECTED`; absent under the prefix `starknet`.
   *
   * @example
   * rollupx_getTransactionStatus("0x76b52e17bc09064bd986ead34263e6305ef3cecfb3ae9e19b86bf4f1a1a20ea")
   */
  rollupx_getTransactionStatus: rollupMethod({
    ...byHash,
    ...relayed,
    summary: 'Status of a transaction that was submitted here',
    result: objectSchema(
      'TransactionStatus',
      { finality_status: textSchema },
      { execution_status: textSchema, failure_reason: textSchema, queue_status: textSchema },
    ),
    run: ({ queue, reader, prefix }, [hash], { keyId }) =>
      whenKnown(queue.readRow(hash, keyId), (row) => {
        if (row === undefined) throw new FaultError({ kind: 'TransactionHashNotFound' })
        if (row.state === 'ACCEPTED' && reader !== undefined) return readAcceptedStatus(prefix, reader, hash)
        return renderStatus(prefix, row.state, row.rejection)
      }),
  }),
  rollupx_specVersion: rollupMethod({
    summary: "Version of the rollup's specification",
    price: 1,
    result: textSchema,
    run: () => `"${specVersion}"`,
  }),
  /**
   * `rollupx_subscriptionTransactionStatus` events over the caller's connection give the current status of the
   * transaction, if known, and each later one.
   *
   * @example
   * rollupx_subscribeTransactionStatus("0x76b52e17bc09064bd986ead34263e6305ef3cecfb3ae9e19b86bf4f1a1a20ea")
   */
  rollupx_subscribeTransactionStatus: rollupMethod({
    ...byHash,
    summary: 'Id of a subscription to the status of a transaction, over a WebSocket',
    price: 10,
    effect: true,
    result: textSchema,
    run({ queue, prefix }, [hash], context) {
      const { subscriber } = context
      if (subscriber === undefined) throw new FaultError({ kind: 'NotificationsNotSupported' })
      const subscription = new StatusSubscription(subscriber, queue, prefix, { hash, key: context.keyId })
      try {
        subscriber.add(subscription)
      } catch (error) {
        subscription.end()
        throw error
      }
      context.onFinished(() => subscription.start())
      const rows = queue.readRows(hash, context.keyId)
      if (rows instanceof Promise) rows.catch(() => subscriber.unsubscribe(subscription.id))
      return whenKnown(rows, (known) => {
        subscription.take(known)
        return `"${subscription.id}"`
      })
    },
  }),
  /** False if the connection has no subscription with this id. */
  rollupx_unsubscribe: rollupMethod({
    summary: 'Ends a subscription of this connection',
    params: [text('a subscription id').as('subscription_id')],
    price: 1,
    effect: true,
    result: booleanSchema,
    run(_network, [id], { subscriber }) {
      if (subscriber === undefined) throw new FaultError({ kind: 'NotificationsNotSupported' })
      return String(subscriber.unsubscribe(id))
    },
  }),
}

function rejectionToFault({ code, text }: Rejection): FaultError {
  return new FaultError({ kind: 'InvokeRefused', code: (code ?? 63) as InvokeErrorCode, text })
}

/** Relays a read to the sequencer with its prefix. Rejects with FaultError; see {@link RollupNetwork.reader}. */
async function readSequencer({ reader }: RollupNetwork, method: string, params: object): Promise<string> {
  if (reader === undefined) throw new FaultError({ kind: 'NoSequencerToRead' })
  return reader.read(method, params)
}
