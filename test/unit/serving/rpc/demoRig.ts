/** The demo network with the service's own pool, opened for one test file and closed with it. */
import t from 'tap'
import { mapBytesDefault } from '../../../../src/data/store/lmdb/environment.js'
import { resolveServeConfig } from '../../../../src/operation/config/config.js'
import { openNetwork } from '../../../../src/operation/edge/openNetwork.js'
import { readNetworkLayouts } from '../../../../src/operation/edge/storageLayouts.js'
import { jobsOfNetwork, openJobPool } from '../../../../src/serving/pool/jobPool.js'
import { createDispatcher } from '../../../../src/serving/rpc/dispatch/dispatch.js'
import type { DispatchLimits, Endpoint } from '../../../../src/serving/rpc/dispatch/endpoint.js'
import { PolledFilters } from '../../../../src/serving/rpc/logs/polledFilters.js'
import type { NetworkViews } from '../../../../src/serving/rpc/method.js'
import type { Network } from '../../../../src/serving/rpc/network.js'
import { methods } from '../../../../src/serving/rpc/registry.js'
import { fixtureConfig } from '../../../service/fixtures.js'
import { demoStorePath } from '../../../store/storedMessages.js'
import { wideDispatchLimits, wideFilterLimits } from '../../../transport/serverLimits.js'
import type { NodeAnswer, NodeCall } from '../../../upstream/weatherNode.js'

const config = resolveServeConfig({ config: fixtureConfig }).networks.find(({ name }) => name === 'demo')
if (config === undefined) throw new Error('the fixture has no demo network')

export const pool = openJobPool({
  limits: {
    threads: 2,
    niceness: 0,
    waitingMax: { proof: 100, execute: 100, slots: 100, hash: 1, logs: 1, trace: 100, script: 100 },
    scriptsMax: 2,
    deadlineMsMax: 200_000,
    execution: { timeMsMax: 200_000, memoryBytesMax: 2 ** 28 },
    trace: { timeMsMax: 200_000, memoryBytesMax: 2 ** 28, answerBytesMax: 2 ** 30 },
  },
  stores: [{ network: 'demo', path: demoStorePath, mapBytes: mapBytesDefault }],
  onThreadLost: ({ error }) => t.fail(String(error)),
})
export const opened = openNetwork(config, {
  mapBytes: mapBytesDefault,
  answerCacheBytes: 2 ** 20,
  proofCacheBytes: 2 ** 20,
  limits: {
    requestMsMax: 30_000,
    logsMax: 10_000,
    logBytesMax: 2 ** 24,
    proofKeysMax: 1_024,
    typedDataCharsMax: 131_072,
    replayBlocksMax: 1,
    executionGasBlocks: 10,
    simulationGasMax: 50_000_000,
  },
  filters: (current) => new PolledFilters(current, wideFilterLimits),
  clientVersion: 'test',
  openRpc: new Uint8Array(0),
  jobs: jobsOfNetwork(pool, 'demo'),
  layouts: readNetworkLayouts(config),
  feed: undefined,
  reportDefect: (error) => t.fail(String(error)),
})
t.teardown(async () => {
  await pool.close(0)
  await opened.close()
})

/** Every method over `views`. */
export function demoEndpoint(views: NetworkViews<Network>, limits: Partial<DispatchLimits> = {}): Endpoint {
  return createDispatcher<Network>({
    methods: Object.values(methods),
    limits: { ...wideDispatchLimits, requestMsMax: 200_000, ...limits },
    log: ({ error }) => t.fail(String(error)),
  }).endpoint(views)
}

/** The answers of a node with the data of `endpoint`. */
export function answersOf(endpoint: Endpoint): (call: NodeCall) => Promise<NodeAnswer> {
  return async (call) => {
    const { body } = await endpoint.handle(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...call })))
    const pieces = typeof body === 'string' ? [body] : body
    const { jsonrpc, id, ...answer } = JSON.parse(
      Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString(),
    )
    return answer
  }
}
