/** Entry of pool threads for calls, estimates and access lists. */
import { Execution } from '../src/execution/evm/messages/execution.js'
import type { ExecutionRequest, FillRequest } from '../src/execution/evm/messages/executionRequest.js'
import { type JobContext, jobHandler } from './jobThread.js'
import { perStore } from './perStore.js'

/** Keeps kernels and recently read state. */
const executionOn = perStore((store, { execution }) => new Execution(store, execution))

export const executions = {
  call: (request: ExecutionRequest, context: JobContext) =>
    executionOn(context).call(request, context.shouldStop),
  estimate: (request: ExecutionRequest, context: JobContext) =>
    executionOn(context).estimate(request, context.shouldStop),
  accessList: (request: ExecutionRequest, context: JobContext) =>
    executionOn(context).accessList(request, context.shouldStop),
  fill: (request: FillRequest, context: JobContext) => executionOn(context).fill(request, context.shouldStop),
}
export const call = jobHandler(executions.call)
export const estimate = jobHandler(executions.estimate)
export const fill = jobHandler(executions.fill)
export const accessList = jobHandler(executions.accessList)
