/**
 * Methods of a rollup network, under the neutral prefix `rollupx`: invoke transactions that are submitted here, and reads
 * that the sequencer answers.
 */
import { whenKnown } from '../../../primitives/awaitable.js'
import { FaultError, type InvokeErrorCode } from '../../../primitives/faults.js'
import type { Rejection } from '../../rollup/submissionService.js'
import { waitForVerdict } from '../../rollup/verdict.js'
import { defineMethod, type Method, type MethodDefinition, type Param } from '../method.js'
import { text } from '../params/params.js'
import { booleanSchema, feltSchema, objectSchema, textSchema } from '../params/schema.js'
import type { RollupNetwork } from '../rollup/rollupNetwork.js'
import {
  blockName,
  contractAddress,
  decodeTransaction,
  transactionHash,
  writtenTransaction,
} from '../rollup/rollupParams.js'
import { StatusSubscription } from '../rollup/statusSubscription.js'
import { readAcceptedStatus, renderStatus } from '../rollup/transactionStatus.js'

/** All take their parameters by name too, and none is answered from memory. */
function rollupMethod<const P extends readonly Param<unknown>[]>(
  definition: Omit<MethodDefinition<RollupNetwork, P>, 'byName' | 'memo'>,
): Method<RollupNetwork> {
  return defineMethod({ ...definition, byName: true } as MethodDefinition<RollupNetwork, P>)
}

const byHash = { params: [transactionHash], paramNames: ['transaction_hash'] } as const
const relayed = { cost: 'job', price: 50 } as const

/** The version of the rollup's JSON-RPC specification whose shapes these methods follow; the first with `proof_facts`. */
const specVersion = '0.10.2'

export const rollupMethodFamily = {
  /**
   * The transaction is on disk then and stays there until the sequencer has accepted or rejected it. Where the network
   * waits for the verdict, a rejection in time is the answer.
   *
   * The hash is computed by the pool: 0.14 ms for an ordinary transaction, 30 ms for the largest. A recently hashed
   * transaction is not hashed again.
   *
   * @example
   * rollupx_addInvokeTransaction({"invoke_transaction": {"type": "INVOKE", "version": "0x3", "nonce": "0x7", …}})
   */
  rollupx_addInvokeTransaction: rollupMethod({
    summary: 'Hash of an invoke transaction, which is stored and sent to the sequencer',
    params: [writtenTransaction],
    paramNames: ['invoke_transaction'],
    cost: 'job',
    effect: true,
    price: 200,
    result: objectSchema('Submitted', { transaction_hash: feltSchema }),
    async run({ queue, invokeLimits, verdictMsMax }, [written], context) {
      const transaction = decodeTransaction(written, invokeLimits, 0)
      queue.assertAcceptable(transaction)
      const hash = await queue.submit(transaction, context)
      if (verdictMsMax !== undefined) {
        const verdict = await waitForVerdict(queue, hash, verdictMsMax, context)
        if (verdict?.rejection !== undefined) throw rejectionToFault(verdict.rejection)
      }
      return `{"transaction_hash":"${hash}"}`
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
  rollupx_getBlockWithTxs: rollupMethod({
    ...relayed,
    summary: 'Block of the rollup with its transactions, as the sequencer answers it',
    params: [blockName],
    paramNames: ['block_id'],
    result: { type: 'object', title: 'rollup block' },
    run: (network, [block_id]) => readSequencer(network, 'getBlockWithTxs', { block_id }),
  }),
  rollupx_getNonce: rollupMethod({
    ...relayed,
    summary: 'Nonce of an account contract, as the sequencer answers it',
    params: [blockName, contractAddress],
    paramNames: ['block_id', 'contract_address'],
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
    run: ({ queue }, [hash]) =>
      whenKnown(queue.readTransaction(hash), (transaction) => {
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
   * precise about the delivery: `RECEIVED`, `SENT`, `ACCEPTED` or `REJECTED`.
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
      { finality_status: textSchema, queue_status: textSchema },
      { execution_status: textSchema, failure_reason: textSchema },
    ),
    run: ({ queue, reader }, [hash]) =>
      whenKnown(queue.readRow(hash), (row) => {
        if (row === undefined) throw new FaultError({ kind: 'TransactionHashNotFound' })
        if (row.state === 'ACCEPTED' && reader !== undefined) return readAcceptedStatus(reader, hash)
        return renderStatus(row.state, row.rejection)
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
      const subscription = new StatusSubscription(subscriber, queue, prefix, hash)
      try {
        subscriber.add(subscription)
      } catch (error) {
        subscription.end()
        throw error
      }
      context.onFinished(() => subscription.start())
      const row = queue.readRow(hash)
      if (row instanceof Promise) row.catch(() => subscriber.unsubscribe(subscription.id))
      return whenKnown(row, (known) => {
        subscription.take(known)
        return `"${subscription.id}"`
      })
    },
  }),
  /** False where the connection has none with this id. */
  rollupx_unsubscribe: rollupMethod({
    summary: 'Ends a subscription of this connection',
    params: [text('a subscription id')],
    paramNames: ['subscription_id'],
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

/** Relays a read to the sequencer, with the sequencer's prefix. Rejects with FaultError; see {@link RollupNetwork.reader}. */
async function readSequencer({ reader }: RollupNetwork, method: string, params: object): Promise<string> {
  if (reader === undefined) throw new FaultError({ kind: 'NoSequencerToRead' })
  return reader.read(method, params)
}
