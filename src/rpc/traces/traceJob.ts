/** From the arguments of a trace method to a trace job, and the schemas of its results. */
import type { BlockId } from '../../chain/blockId.js'
import type { TraceSubject } from '../../evm/tracers/traceRequest.js'
import { bytesToHex, type Hash32 } from '../../primitives/bytes.js'
import { type FaultError, messageRefused } from '../../primitives/faults.js'
import { type JsonStream, runInParts } from '../answers/jsonStream.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { JobNetwork } from '../network.js'
import { hashSchema, listSchema, objectSchema, type Schema } from '../params/schema.js'
import type { TraceConfig } from './traceParams.js'

type TracedBlock = TraceSubject & { readonly kind: 'block' }

/** Runs a trace; its JSON, whole or as a stream. */
export function traceJson(
  { jobs }: JobNetwork,
  subject: TraceSubject,
  { tracer, timeMs }: TraceConfig,
  context: RequestContext,
): Promise<Uint8Array | JsonStream> {
  const request = { subject, tracer, ...(timeMs === undefined ? {} : { timeMs }) }
  return runInParts((owner) => jobs.run('trace', request, owner), context)
}

/** As {@link traceJson}, of a transaction by its hash; null where the chain has none of this hash. */
export function traceOfHashJson(
  network: JobNetwork,
  hash: Hash32,
  config: TraceConfig,
  context: RequestContext,
): string | Promise<Uint8Array | JsonStream> {
  const location = network.chain.findTransaction(hash)
  if (location === undefined) return 'null'
  return traceJson(network, { kind: 'transaction', ...location }, config, context)
}

/** go-ethereum's fault for a block that is not known. */
export function blockNotFound(block: string): FaultError {
  return messageRefused(`block ${block} not found`)
}

/** The transaction as a subject. Throws FaultError where the chain has none of this hash. */
export function tracedTransaction({ chain }: JobNetwork, hash: Hash32): TraceSubject {
  const location = chain.findTransaction(hash)
  if (location === undefined) {
    throw messageRefused('transaction not found')
  }
  return { kind: 'transaction', ...location }
}

/** The block as a subject, by its hash. Throws FaultError where it is not known. */
export function tracedBlock({ chain }: JobNetwork, hash: Hash32): TracedBlock {
  const block = chain.resolve({ kind: 'hash', hash, requireCanonical: false }, 0)
  if (block === undefined) throw blockNotFound(bytesToHex(hash))
  return { kind: 'block', blockHash: block.hash }
}

/** As {@link tracedBlock}, for any way to name it. */
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

/** What the tracer makes; an object but for flatCallTracer. */
export const traceSchema: Schema = {
  title: 'trace',
  anyOf: [{ type: 'object' }, listSchema({ type: 'object' })],
}

export const blockTraceSchema: Schema = listSchema(
  objectSchema('TransactionTrace', { txHash: hashSchema, result: traceSchema }),
)
