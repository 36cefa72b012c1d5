/** Converts the arguments of a trace method to a trace job. Owns the schemas of its results. */

import type { BlockId } from '../../../data/chain/chainBlocks.js'
import { messageGasMax } from '../../../data/chain/intrinsicGas.js'
import { findKeptTransaction } from '../../../data/chain/removedHistory.js'
import type { AccountOverride, BlockOverrides } from '../../../execution/evm/messages/executionRequest.js'
import type { TracedCalls, TraceSubject } from '../../../execution/evm/tracers/traceRequest.js'
import type { TracerOptions } from '../../../execution/evm/tracers/tracerOptions.js'
import { bytesToHex, type Hash32 } from '../../../primitives/bytes.js'
import { type FaultError, messageRefused } from '../../../primitives/faults.js'
import { type JsonStream, runInParts } from '../answers/jsonStream.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { JobNetwork } from '../network.js'
import type { CallObject } from '../params/callParams.js'
import { checkChainId } from '../params/executionJob.js'
import { hashSchema, listSchema, objectSchema, type Schema } from '../params/schema.js'
import { stateBlock } from '../params/stateBlock.js'
import { isOwnCode } from './javaScriptTracers.js'
import { type TraceConfig, tracerNames } from './traceParams.js'

type TracedBlock = TraceSubject & { readonly kind: 'block' }

/**
 * Runs a trace and returns its JSON, whole or as a stream. Throws FaultError MessageRefused for a caller's JavaScript
 * tracer if the network runs none.
 */
export function traceJson(
  { jobs, execution, trials }: JobNetwork,
  subject: TraceSubject,
  { tracer, timeMs }: TraceConfig,
  context: RequestContext,
): Promise<Uint8Array | JsonStream> {
  const request = { subject, tracer, ...(timeMs === undefined ? {} : { timeMs }) }
  const isScript = tracer.tracer === 'javascript'
  if (isScript && !execution.javascriptTracers && !isOwnCode(tracer.code)) {
    throw messageRefused(
      `this network runs no tracer that a caller writes in JavaScript: choose one of ${tracerNames.join(', ')}`,
    )
  }
  if (!isScript) return runInParts((owner) => jobs.run('trace', request, owner), context)
  const run = () => runInParts((owner) => jobs.run('script', request, owner), context)
  if (trials !== undefined) return run()
  // The first run fetches all data that the execution reads: a JavaScript tracer would need a new thread after each
  // fetch.
  return jobs.run('trace', { ...request, tracer: { tracer: 'noopTracer' } }, context).then(run)
}

/** Messages to be traced on the state after a block. */
interface AskedCalls extends Pick<TracedCalls, 'form'> {
  readonly block: BlockId
  /** Index of the argument with the block. */
  readonly argument: number
  readonly index?: number | undefined
  readonly stateOverrides?: readonly AccountOverride[] | undefined
  readonly bundles: readonly {
    readonly calls: readonly { readonly call: CallObject; readonly tracer?: TracerOptions }[]
    readonly blockOverrides?: BlockOverrides | undefined
  }[]
}

/** The messages as a subject. Throws FaultError for an unknown block, or the id of another chain. */
export function tracedCalls(
  { chain, limits }: JobNetwork,
  { block, argument, index, stateOverrides, bundles, form }: AskedCalls,
): TracedCalls {
  const { number, hash, isPending } = stateBlock(chain, block, argument)
  return {
    kind: 'calls',
    block: { number, hash, isPending },
    ...(index === undefined ? {} : { index }),
    ...(stateOverrides === undefined ? {} : { stateOverrides }),
    bundles: bundles.map(({ calls, blockOverrides }) => ({
      ...(blockOverrides === undefined ? {} : { blockOverrides }),
      calls: calls.map(({ call, ...rest }) => {
        checkChainId(call.chainId, BigInt(chain.identity.chainId))
        return { message: call.message, ...rest }
      }),
    })),
    // The cap follows the current block's gas limit.
    gasMax: messageGasMax(chain.head.header.gasLimit, limits.executionGasBlocks),
    form,
  }
}

/** Like {@link traceJson}, but for a transaction by its hash; null if the chain has no such transaction. */
export function traceOfHashJson(
  network: JobNetwork,
  hash: Hash32,
  config: TraceConfig,
  context: RequestContext,
): string | Promise<Uint8Array | JsonStream> {
  const location = findKeptTransaction(network.chain, hash)
  if (location === undefined) return 'null'
  return traceJson(network, { kind: 'transaction', ...location }, config, context)
}

/** go-ethereum's fault for an unknown block. */
export function blockNotFound(block: string): FaultError {
  return messageRefused(`block ${block} not found`)
}

/** The transaction as a subject. Throws FaultError if the chain has no such transaction. */
export function tracedTransaction({ chain }: JobNetwork, hash: Hash32): TraceSubject {
  const location = findKeptTransaction(chain, hash)
  if (location === undefined) {
    throw messageRefused('transaction not found')
  }
  return { kind: 'transaction', ...location }
}

/** The block as a subject, by its hash. Throws FaultError for an unknown block. */
export function tracedBlock({ chain }: JobNetwork, hash: Hash32): TracedBlock {
  const block = chain.resolve({ kind: 'hash', hash, requireCanonical: false }, 0)
  if (block === undefined) throw blockNotFound(bytesToHex(hash))
  return { kind: 'block', blockHash: block.hash }
}

/** Like {@link tracedBlock}, but for any block id. */
export function tracedBlockAt({ chain }: JobNetwork, id: BlockId): TracedBlock {
  const block = chain.resolve(id, 0)
  if (block === undefined) {
    throw blockNotFound(id.kind === 'number' ? `#${id.number}` : 'of this name')
  }
  if (block.isPending) throw pendingRefused()
  return { kind: 'block', blockHash: block.hash }
}

/** go-ethereum's fault for a trace in the pending block. */
export function pendingRefused(): FaultError {
  return messageRefused('tracing on top of pending is not supported')
}

/** Returns `calls`. Throws FaultError if they would run in the pending block. */
export function minedOnly(calls: TracedCalls): TracedCalls {
  if (calls.block.isPending) throw pendingRefused()
  return calls
}

/** A tracer's result: an object or a list; a JavaScript tracer may return any value. */
export const traceSchema: Schema = { title: 'trace' }

export const blockTraceSchema: Schema = listSchema(
  objectSchema('TransactionTrace', { txHash: hashSchema, result: traceSchema }),
)
