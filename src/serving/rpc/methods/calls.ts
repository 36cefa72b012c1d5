/**
 * Executes messages on the state after a block, without adding them to the chain. Parameters and rules are
 * go-ethereum's. Specification, section 4.
 */

import type { CallOutcome } from '../../../execution/evm/messages/executionRequest.js'
import type { ListedAccesses } from '../../../execution/evm/messages/outcomeJson.js'
import { toQuantity } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { hexText } from '../../../primitives/jsonBytes.js'
import { faultToWireError } from '../answers/wireErrors.js'
import { defineMethod, type Json } from '../method.js'
import type { JobNetwork } from '../network.js'
import { bundles, bundlesPrice, callsPlace } from '../params/bundleParams.js'
import { blockOverrides, callObject, stateOverrides } from '../params/callParams.js'
import { executionRequest, runAfterWaiting } from '../params/executionJob.js'
import { integer, optional, stateBlockId } from '../params/params.js'
import {
  accessListSchema,
  bytesSchema,
  listSchema,
  objectSchema,
  quantitySchema,
  simulatedBlockSchema,
  textSchema,
} from '../params/schema.js'
import { simulation } from '../params/simulateParams.js'
import { stateBlock } from '../params/stateBlock.js'
import { tracedCalls, traceJson } from '../traces/traceJob.js'

const message = {
  params: [callObject.as('call'), stateBlockId.as('block'), optional(stateOverrides).as('stateOverrides')],
  cost: 'job',
  jobClass: 'execute',
  price: 100,
  memo: 'head',
} as const

/** Parameters of methods that also take block overrides. */
const inBlock = {
  params: [...message.params, optional(blockOverrides).as('blockOverrides')],
} as const

export const callMethods = {
  /** A revert is the fault ExecutionReverted, any other failure of the execution ExecutionFailed. */
  eth_call: defineMethod({
    ...message,
    summary: 'Data that a message returns when executed on the state after a block',
    ...inBlock,
    result: bytesSchema,
    run(network: JobNetwork, [call, block, stateOverrides, blockOverrides], context) {
      const request = executionRequest(network, { call, block, stateOverrides, blockOverrides })
      const run = (each: typeof request) => network.jobs.run('call', each, context)
      const later = runAfterWaiting(network, request, run)
      if (later !== undefined) return later
      const short = network.trials?.call(request, context)
      if (short !== undefined) return returnedJson(short)
      return run(request)
    },
  }),
  /**
   * Each call sees the effects of the calls before it. The first bundle runs in the block, and each further one in the
   * next block. `timeout` is in milliseconds.
   */
  eth_callMany: defineMethod({
    summary: 'Data that messages return one after the other, a list for each bundle',
    params: [
      bundles.as('bundles'),
      callsPlace.as('stateContext'),
      optional(stateOverrides).as('stateOverrides'),
      optional(integer('a time in milliseconds')).as('timeout'),
    ],
    cost: 'job',
    price: bundlesPrice,
    result: listSchema(listSchema(objectSchema('CallResult', {}, { value: bytesSchema, error: textSchema }))),
    run(network: JobNetwork, [bundles, { block, index }, stateOverrides, timeMs], context) {
      const asked = bundles.map(({ calls, blockOverrides }) => ({
        calls: calls.map((call) => ({ call })),
        blockOverrides,
      }))
      const rest = { block, argument: 1, index, stateOverrides, form: 'lists' } as const
      const subject = tracedCalls(network, { ...rest, bundles: asked })
      return traceJson(network, subject, { tracer: { tracer: 'callResult' }, timeMs }, context)
    },
  }),
  /**
   * The list omits addresses that are always warm (EIP-2930). A failing execution also has a list; `error` then gives
   * the reason. A message without fees is free here, as in a call. In go-ethereum it pays current fees, so a sender who
   * cannot pay the gas cap gets no list.
   */
  eth_createAccessList: defineMethod({
    ...message,
    summary: 'Addresses and slots that a message touches, and the gas it uses with that list',
    result: objectSchema(
      'AccessList',
      { accessList: accessListSchema, gasUsed: quantitySchema },
      { error: textSchema },
    ),
    run(network: JobNetwork, [call, block, stateOverrides], context) {
      const request = executionRequest(network, { call, block, stateOverrides })
      const run = (each: typeof request) => network.jobs.run('accessList', each, context).then(accessListJson)
      return runAfterWaiting(network, request, run) ?? run(request)
    },
  }),
  eth_estimateGas: defineMethod({
    ...message,
    summary: 'Least gas with which a message succeeds',
    ...inBlock,
    result: quantitySchema,
    run(network: JobNetwork, [call, block, stateOverrides, blockOverrides], context) {
      const { marginBps } = network.execution
      // On a developer chain the estimated transaction runs in the next block, whose time callers may have set.
      const isNext = network.chain.hasSetNext && block.kind === 'tag' && block.tag === 'latest'
      const place = isNext ? ({ kind: 'tag', tag: 'pending' } as const) : block
      const asked = { call, block: place, stateOverrides, blockOverrides, hasBlockGas: true, marginBps }
      const request = executionRequest(network, asked)
      const run = (each: typeof request) =>
        network.jobs.run('estimate', each, context).then(({ gas }) => `"${toQuantity(gas)}"`)
      const later = runAfterWaiting(network, request, run)
      if (later !== undefined) return later
      const gas = network.trials?.estimate(request, context)
      if (gas !== undefined) return `"${toQuantity(gas)}"`
      return run(request)
    },
  }),
  /**
   * As in go-ethereum: with overrides of blocks and states. If a message fails in its execution, the answer contains
   * the error; if it may not start, the whole call fails.
   */
  eth_simulateV1: defineMethod({
    summary: 'Blocks that would follow a block with given messages, and the result of each message',
    params: [simulation.as('simulation'), stateBlockId.as('block')],
    cost: 'job',
    jobClass: 'execute',
    price: ([{ blocks }]) => blocks.reduce((sum, { calls }) => sum + 20 * (1 + calls.length), 100),
    memo: 'head',
    result: listSchema(simulatedBlockSchema),
    run({ chain, jobs, limits }: JobNetwork, [simulation, id], context) {
      const { number, hash, isPending } = stateBlock(chain, id, 1)
      const gasMax = BigInt(limits.simulationGasMax)
      return jobs.run('simulate', { ...simulation, block: { number, hash, isPending }, gasMax }, context)
    },
  }),
}

/** The answer for a call that was executed on this thread; its data is never of megabytes. */
function returnedJson({ failure, returnData }: CallOutcome): Json {
  if (failure !== undefined) throw new FaultError(failure)
  return hexText(returnData)
}

function accessListJson({ accessList, gasUsed, failure }: ListedAccesses): Json {
  const error = failure === undefined ? '' : `"error":${JSON.stringify(failureText(failure))},`
  const parts = ['{"accessList":', accessList, `,${error}"gasUsed":"${toQuantity(gasUsed)}"}`]
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}

/** go-ethereum reports a revert without its reason here. */
function failureText(failure: Parameters<typeof faultToWireError>[0]): string {
  return failure.kind === 'ExecutionReverted' ? 'execution reverted' : faultToWireError(failure).message
}
