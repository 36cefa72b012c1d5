import { Execution } from '../evm/execution.js'
import type { JobName, Jobs } from '../pool/jobs.js'
import type { NetworkJobs } from '../rpc/network.js'
import type { ChainReader } from '../store/chainReader.js'

type Limits = ConstructorParameters<typeof Execution>[1]

/** Executes messages of a network on the calling thread, for tests and where no pool runs. */
export function createInlineExecution(store: ChainReader, limits: Limits): NetworkJobs {
  const execution = new Execution(store, limits)
  const goOn = (): boolean => false
  return {
    async run<N extends JobName>(name: N, args: Jobs[N]['args']): Promise<Jobs[N]['result']> {
      const request = args as Jobs['call']['args']
      if (name === 'call') return execution.call(request, goOn)
      if (name === 'estimate') return execution.estimate(request, goOn)
      if (name === 'accessList') return execution.accessList(request, goOn)
      throw new Error(`no thread runs ${name} jobs`)
    },
  }
}
