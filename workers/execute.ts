/** Entry of pool threads for calls, estimates and access lists. */
import { Execution } from '../src/execution/evm/messages/execution.js'
import type { ExecutionRequest, FillRequest } from '../src/execution/evm/messages/executionRequest.js'
import { listedAccesses, returnedJson, withTexts } from '../src/execution/evm/messages/outcomeJson.js'
import { jobHandler, perStore } from './jobThread.js'

/** Caches kernels and recently read state. */
const executionOn = perStore((store, { execution }) => new Execution(store, execution))

export const call = jobHandler((request: ExecutionRequest, context) =>
  withTexts(executionOn(context).call(request, context.shouldStop).then(returnedJson)),
)
export const estimate = jobHandler((request: ExecutionRequest, context) =>
  withTexts(executionOn(context).estimate(request, context.shouldStop)),
)
export const fill = jobHandler((request: FillRequest, context) =>
  withTexts(executionOn(context).fill(request, context.shouldStop)),
)
export const accessList = jobHandler((request: ExecutionRequest, context) =>
  withTexts(executionOn(context).accessList(request, context.shouldStop).then(listedAccesses)),
)
