/** Log methods over a chain that a test extends and forks. Jobs run at once, on the test's own thread. */
import type { Test } from 'tap'
import { ChainView } from '../../src/data/chain/chain.js'
import type { LogBounds } from '../../src/data/chain/logSearch.js'
import type { Jobs } from '../../src/serving/pool/jobs.js'
import { RequestContext } from '../../src/serving/rpc/contexts/requestContext.js'
import { createDispatcher } from '../../src/serving/rpc/dispatch/dispatch.js'
import { type FilterLimits, PolledFilters } from '../../src/serving/rpc/logs/polledFilters.js'
import type { Network } from '../../src/serving/rpc/network.js'
import { methods } from '../../src/serving/rpc/registry.js'
import type { RpcAnswer } from '../service/service.js'
import { wideDispatchLimits, wideFilterLimits } from '../transport/serverLimits.js'
import { ForkingChain } from '../unit/serving/streams/forkingChain.js'

export interface ForkingEndpoint {
  readonly forks: ForkingChain
  /** The result of a call; `keyId` is the caller's key. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape.
  ask(method: string, params: readonly unknown[], keyId?: string): Promise<any>
  /** The whole answer. */
  answer(method: string, params: readonly unknown[], keyId?: string): Promise<RpcAnswer>
}

interface Options {
  readonly bounds?: LogBounds
  readonly filterLimits?: FilterLimits
  readonly clockMs?: () => number
}

/** In a folder of `t`, or in another one that the caller closes. */
export function openForkingEndpoint(
  t: Test,
  { bounds, filterLimits, clockMs }: Options = {},
  forks = ForkingChain.open(t),
): ForkingEndpoint {
  const { chain } = forks
  const run = async (_name: string, { search, bounds }: Jobs['searchLogs']['args']) =>
    chain.searchLogs(search, bounds, () => false)
  const filters = new PolledFilters(() => views.current, filterLimits ?? wideFilterLimits, clockMs)
  const views = {
    get current(): Network {
      return {
        name: 'forks',
        head: chain.head,
        chain: new ChainView(chain, chain.head, false),
        jobs: { run },
        limits: bounds ?? { logsMax: 10_000, logBytesMax: 2 ** 24 },
        filters,
      } as unknown as Network
    },
    pinned: () => undefined,
  }
  const endpoint = createDispatcher<Network>({
    methods: Object.values(methods),
    limits: wideDispatchLimits,
    log: ({ error }) => t.fail(String(error)),
  }).endpoint(views)
  const answer = async (method: string, params: readonly unknown[], keyId?: string): Promise<RpcAnswer> => {
    const caller = new RequestContext(undefined, keyId === undefined ? undefined : { key: { id: keyId } })
    const request = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const { body } = await endpoint.handle(request, caller)
    const pieces = typeof body === 'string' ? [body] : body
    return JSON.parse(Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))).toString())
  }
  return {
    forks,
    answer,
    async ask(method, params, keyId) {
      const { result, error } = await answer(method, params, keyId)
      if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
      return result
    },
  }
}
