/** A connection to a rollup network's methods, inside the test's process, without a socket. */
import type { Test } from 'tap'
import type { SubmissionService } from '../../src/serving/rollup/submissionService.js'
import { createDispatcher } from '../../src/serving/rpc/dispatch/dispatch.js'
import type { RollupNetwork } from '../../src/serving/rpc/methods/rollup.js'
import { prefixRollupMethods } from '../../src/serving/rpc/rollup/rollupRegistry.js'
import { wideDispatchLimits } from '../transport/serverLimits.js'
import { limits, TestClient } from '../unit/serving/streams/testClient.js'
import { chainId } from './queues.js'

export function connect(
  t: Test,
  queue: SubmissionService,
  prefixes = ['rollupx'],
  subscriptionsMax = 1_024,
): TestClient {
  const network: RollupNetwork = {
    name: 'roll',
    head: { number: 0, hash: undefined, generation: 0 },
    chainId,
    prefix: prefixes[0] ?? '',
    queue,
    reader: undefined,
    invokeLimits: { calldataMax: 1, signatureMax: 1 },
    verdictMsMax: undefined,
  }
  const dispatcher = createDispatcher<RollupNetwork>({
    methods: prefixRollupMethods(prefixes),
    limits: wideDispatchLimits,
    log: ({ error }) => t.fail(String(error)),
  })
  return new TestClient(dispatcher.endpoint({ current: network, pinned: () => undefined }), {
    ...limits,
    subscriptionsMax,
  })
}
