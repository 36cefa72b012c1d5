/**
 * Calls that a pool thread answers completely, from their text to their JSON, with the same parameters, price and
 * `run` as elsewhere: long calls, which would delay the edge. Owns which methods these are.
 */

import { FaultError } from '../../../primitives/faults.js'
import type { OffloadedAnswer } from '../../pool/jobs.js'
import { priceOf, unitsMin } from '../contexts/price.js'
import type { RequestContext } from '../contexts/requestContext.js'
import { decodeParams, type Json, type Method, nameMethods, readOnce } from '../method.js'
import { callMethods } from '../methods/calls.js'
import { mappingMethods } from '../methods/mappings.js'
import { stateProofMethods } from '../methods/proofs.js'
import type { JobNetwork } from '../network.js'
import { parseCallText } from '../reading/envelope.js'

/** Every method with a `jobClass`. */
export const offloadedMethods: ReadonlyMap<string, Method<JobNetwork>> = new Map(
  Object.entries<Method<JobNetwork>>(
    nameMethods({ ...callMethods, ...stateProofMethods, ...mappingMethods }),
  ).filter(([, { jobClass }]) => jobClass !== undefined),
)

/** Answers a call by its JSON. Faults are part of the answer; rejects for a defect and a ParseError. */
export async function answerOffloaded(
  name: string,
  text: Uint8Array,
  network: JobNetwork,
  context: RequestContext,
): Promise<OffloadedAnswer> {
  const method = offloadedMethods.get(name)
  if (method === undefined) throw new RangeError(`no thread answers ${name}`)
  const params = parseCallText(text)
  let price = unitsMin
  try {
    const args = decodeParams(method, params)
    price = priceOf(method.price, args)
    // No method with a `jobClass` makes streams.
    const json = (await method.run(network, args, context, Number.POSITIVE_INFINITY, readOnce)) as Json
    return { price, json: typeof json === 'string' ? Buffer.from(json) : json }
  } catch (thrown) {
    if (!(thrown instanceof FaultError)) throw thrown
    const { fault } = thrown
    if (fault.kind === 'RequestTimedOut' || fault.kind === 'ExecutionTimedOut') throw thrown
    return { price, fault }
  }
}
