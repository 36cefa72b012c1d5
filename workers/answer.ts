/** Entry of pool threads for whole calls, from their JSON to that of their result. */
import { AnswerCache } from '../src/data/chain/answerCache.js'
import { Chain } from '../src/data/chain/chain.js'
import type { ChainOptions } from '../src/data/chain/chainBlocks.js'
import { ChainView } from '../src/data/chain/chainView.js'
import { RowStateReader } from '../src/data/state/stateReader.js'
import type { ChainReader } from '../src/data/store/chainReader.js'
import { toHash32 } from '../src/primitives/bytes.js'
import { FaultError } from '../src/primitives/faults.js'
import type { NetworkJobs, OffloadedCall } from '../src/serving/pool/jobs.js'
import { RequestContext } from '../src/serving/rpc/contexts/requestContext.js'
import { answerOffloaded } from '../src/serving/rpc/dispatch/offloadedCall.js'
import type { JobNetwork } from '../src/serving/rpc/network.js'
import { executions } from './execute.js'
import { type JobContext, jobHandler } from './jobThread.js'
import { perStore } from './perStore.js'
import { proofJson } from './prove.js'
import { simulationJson } from './simulate.js'

/** What calls of one store have in common. Answers are kept by the edge that asks. */
const sharedOf = perStore((store) => ({ state: new RowStateReader(store), proofs: new AnswerCache(0) }))
const chains = new WeakMap<ChainReader, Chain>()

function chainOf(store: ChainReader, options: ChainOptions): Chain {
  const chain = chains.get(store) ?? new Chain(store, options)
  chains.set(store, chain)
  return chain
}

/** Gone as soon as its job is to stop. */
class JobCaller extends RequestContext {
  readonly #shouldStop: () => boolean

  constructor(shouldStop: () => boolean) {
    super()
    this.#shouldStop = shouldStop
  }

  override get isFinished(): boolean {
    return this.#shouldStop()
  }
}

/** The jobs that a call consists of, done right here. */
function jobsHere(context: JobContext): NetworkJobs {
  const works: Readonly<Record<string, (args: never, context: JobContext) => unknown>> = {
    ...executions,
    prove: proofJson,
    simulate: simulationJson,
  }
  const run = async (name: string, args: unknown) => {
    const work = works[name]
    if (work === undefined) throw new Error(`no call has a job ${name} done on its thread`)
    return work(args as never, context)
  }
  return { run: run as NetworkJobs['run'], runsInline: true }
}

export const answer = jobHandler((call: OffloadedCall, context) => {
  const chain = chainOf(context.store, call.chain)
  const head = chain.readHeadAt(toHash32(call.head))
  if (head === undefined) throw new FaultError({ kind: 'HeaderForHashNotFound' })
  const network: JobNetwork = {
    ...sharedOf(context),
    name: '',
    chain: new ChainView(chain, head, call.isPinned),
    head,
    jobs: jobsHere(context),
    execution: call.execution,
    proofKeysMax: call.proofKeysMax,
  }
  return answerOffloaded(call.method, context.body, network, new JobCaller(context.shouldStop))
})
