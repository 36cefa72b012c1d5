import type { Test } from 'tap'
import type { Chain } from '../../../../src/data/chain/chain.js'
import { createDispatcher } from '../../../../src/serving/rpc/dispatch/dispatch.js'
import type { Endpoint } from '../../../../src/serving/rpc/dispatch/endpoint.js'
import { nameMethods } from '../../../../src/serving/rpc/method.js'
import { subscriptionMethods } from '../../../../src/serving/rpc/methods/subscriptions.js'
import type { Network } from '../../../../src/serving/rpc/network.js'
import { NetworkStreams } from '../../../../src/serving/streams/networkStreams.js'
import { wideDispatchLimits } from '../../../transport/serverLimits.js'
import { ForkingChain } from './forkingChain.js'

export interface OpenStreams {
  readonly forks: ForkingChain
  readonly streams: NetworkStreams
  readonly endpoint: Endpoint
}

/** Streams over a chain that a test grows, with the two methods before them. */
export function openStreams(t: Test, replayBlocksMax = 10_000, finalizedLag = 0): OpenStreams {
  const forks = ForkingChain.open(t, finalizedLag)
  const streams = new NetworkStreams(forks.chain, { replayBlocksMax }, (error) => t.fail(String(error)))
  t.teardown(() => streams.close())
  return { forks, streams, endpoint: endpointOver(forks.chain, streams) }
}

/** An endpoint with the two methods of subscriptions, on a network that has nothing else. */
export function endpointOver(chain: Chain, streams: NetworkStreams): Endpoint {
  const views = {
    get current() {
      return { name: 'streams', streams, head: chain.head } as Network
    },
    pinned: () => undefined,
  }
  const dispatcher = createDispatcher<Network>({
    methods: Object.values(nameMethods(subscriptionMethods)),
    limits: wideDispatchLimits,
    log: ({ error }) => {
      throw error
    },
  })
  return dispatcher.endpoint(views)
}
