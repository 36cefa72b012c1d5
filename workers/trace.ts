/** Entry of pool threads for traces, and for parts of states. */
import { StateParts, type StatePartsRequest } from '../src/execution/evm/blocks/stateParts.js'
import type { TraceRequest } from '../src/execution/evm/tracers/traceRequest.js'
import { Tracing } from '../src/execution/evm/tracers/tracing.js'
import { jobHandler, perStore } from './jobThread.js'

const tracingOn = perStore((store, { trace }) => new Tracing(store, trace))
const statePartsOn = perStore((store, { trace }) => new StateParts(store, trace))

/**
 * Number of calls of `shouldStop` for a trace on trial, one each 512 steps; some milliseconds in all. A transfer or a
 * swap in a stored block makes fewer than ten. One with twenty transactions before it makes some thirty.
 */
const trialLooksMax = 64

/** All tracers but those in JavaScript, whose engine is not loaded here; see script.ts. */
export const trace = jobHandler(
  (request: TraceRequest, context) => tracingOn(context).trace(request, context.shouldStop, context.put),
  trialLooksMax,
)
export const stateParts = jobHandler((request: StatePartsRequest, context) =>
  statePartsOn(context).buildJson(request, context.shouldStop),
)
