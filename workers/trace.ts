/** Entry of pool threads for traces. */
import type { TraceRequest } from '../src/evm/tracers/traceRequest.js'
import { Tracing } from '../src/evm/tracers/tracing.js'
import type { JobSettings } from '../src/pool/jobPool.js'
import type { ChainReader } from '../src/store/chainReader.js'
import { jobHandler } from './jobThread.js'

const made = new WeakMap<ChainReader, Tracing>()

export const trace = jobHandler((request: TraceRequest, { store, settings, shouldStop, put }) => {
  let tracing = made.get(store)
  if (tracing === undefined) {
    tracing = new Tracing(store, (settings as JobSettings).trace)
    made.set(store, tracing)
  }
  return tracing.trace(request, shouldStop, put)
})
