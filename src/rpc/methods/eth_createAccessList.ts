import type { AccessListOutcome } from '../../evm/executionRequest.js'
import { bytesToHex, toQuantity } from '../../primitives/bytes.js'
import { callObject, stateOverrides } from '../callParams.js'
import { executionRequest, runAfterWaiting } from '../executionJob.js'
import { defineMethod } from '../method.js'
import type { JobNetwork } from '../network.js'
import { optional, stateBlockId } from '../params.js'
import { accessListSchema, objectSchema, quantitySchema, textSchema } from '../schema.js'
import { faultToWireError } from '../wireErrors.js'

/**
 * The addresses and slots that a message accesses, without those that are always warm (EIP-2930), and the gas that it
 * uses with that list. A failing execution also has a list; `error` then gives the reason.
 *
 * Parameters and rules are go-ethereum's, with one exception: a message without fees is free here, as in a call.
 * go-ethereum uses current fees, so a sender who cannot pay the gas cap at that price gets no list.
 */
export const eth_createAccessList = defineMethod({
  name: 'eth_createAccessList',
  summary: 'Addresses and slots that a message touches, and the gas it uses with that list',
  params: [callObject, stateBlockId, optional(stateOverrides, undefined)],
  paramNames: ['call', 'block', 'stateOverrides'],
  cost: 'job',
  jobClass: 'execute',
  price: 100,
  memo: 'head',
  result: objectSchema(
    'AccessList',
    { accessList: accessListSchema, gasUsed: quantitySchema },
    { error: textSchema },
  ),
  run(network: JobNetwork, [call, block, stateOverrides], caller) {
    const request = executionRequest(network, { call, block, stateOverrides })
    const run = (each: typeof request) => network.jobs.run('accessList', each, caller).then(resultOf)
    return runAfterWaiting(network, request, run) ?? run(request)
  },
})

function resultOf({ accessList, gasUsed, failure }: AccessListOutcome): string {
  return JSON.stringify({
    accessList: accessList.map(({ address, storageKeys }) => ({
      address: bytesToHex(address),
      storageKeys: storageKeys.map(bytesToHex),
    })),
    ...(failure === undefined ? {} : { error: failureText(failure) }),
    gasUsed: toQuantity(gasUsed),
  })
}

/** go-ethereum reports a revert without its reason here. */
function failureText(failure: Parameters<typeof faultToWireError>[0]): string {
  return failure.kind === 'ExecutionReverted' ? 'execution reverted' : faultToWireError(failure).message
}
