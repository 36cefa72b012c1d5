/** Entry of pool threads for calls, estimates and access lists. */
import { Execution } from '../src/evm/execution.js'
import type { ExecutionRequest } from '../src/evm/executionRequest.js'
import type { JobSettings } from '../src/pool/jobPool.js'
import type { ChainReader } from '../src/store/chainReader.js'
import { type JobContext, jobHandler } from './jobThread.js'

const executions = new WeakMap<ChainReader, Execution>()

/** One per store, because it keeps kernels and recently read state between jobs. */
function executionOn({ store, settings }: JobContext): Execution {
  let execution = executions.get(store)
  if (execution === undefined) {
    execution = new Execution(store, (settings as JobSettings).execution)
    executions.set(store, execution)
  }
  return execution
}

export const call = jobHandler((request: ExecutionRequest, context) =>
  executionOn(context).call(request, context.shouldStop),
)
export const estimate = jobHandler((request: ExecutionRequest, context) =>
  executionOn(context).estimate(request, context.shouldStop),
)
export const accessList = jobHandler((request: ExecutionRequest, context) =>
  executionOn(context).accessList(request, context.shouldStop),
)
