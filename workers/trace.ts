/** Entry of pool threads for traces. */
import type { TraceRequest } from '../src/evm/tracers/traceRequest.js'
import { Tracing } from '../src/evm/tracers/tracing.js'
import { jobHandler } from './jobThread.js'
import { perStore } from './perStore.js'

const tracingOn = perStore((store, { trace }) => new Tracing(store, trace))

export const trace = jobHandler((request: TraceRequest, context) =>
  tracingOn(context).trace(request, context.shouldStop, context.put),
)
