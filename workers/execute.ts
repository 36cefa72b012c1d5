/** Entry of pool threads for calls, estimates and access lists. */
import { Execution } from '../src/evm/messages/execution.js'
import type { ExecutionRequest } from '../src/evm/messages/executionRequest.js'
import type { JobSettings } from '../src/pool/jobPool.js'
import type { ChainReader } from '../src/store/chainReader.js'
import { type JobContext, jobHandler } from './jobThread.js'

const engines = new WeakMap<ChainReader, Execution>()

/** One per store, because it keeps kernels and recently read state between jobs. */
function executionOn({ store, settings }: JobContext): Execution {
  let execution = engines.get(store)
  if (execution === undefined) {
    execution = new Execution(store, (settings as JobSettings).execution)
    engines.set(store, execution)
  }
  return execution
}

export const executions = {
  call: (request: ExecutionRequest, context: JobContext) =>
    executionOn(context).call(request, context.shouldStop),
  estimate: (request: ExecutionRequest, context: JobContext) =>
    executionOn(context).estimate(request, context.shouldStop),
  accessList: (request: ExecutionRequest, context: JobContext) =>
    executionOn(context).accessList(request, context.shouldStop),
}
export const call = jobHandler(executions.call)
export const estimate = jobHandler(executions.estimate)
export const accessList = jobHandler(executions.accessList)
