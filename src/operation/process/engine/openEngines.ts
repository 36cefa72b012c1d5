/** The listeners for consensus clients of `serve`, one for each network under one. */
import type { Logger } from 'pino'
import { engineRequestMethod } from '../../../primitives/upstreamCalls.js'
import type { Config } from '../../config/config.js'
import type { Edge } from '../../edge/edge.js'
import type { NetworkSource } from '../networkSource.js'
import { EngineListener } from './engineListener.js'
import { readOwnSecret, readSecret } from './engineToken.js'

/** Resolves once all listen. Rejects with OperatorError for a wrong secret or an occupied port, and none listens. */
export async function openEngines(
  config: Config,
  {
    edge,
    sources,
    log,
  }: { readonly edge: Edge; readonly sources: readonly NetworkSource[]; readonly log: Logger },
): Promise<EngineListener[]> {
  const listeners: EngineListener[] = []
  const { limits } = config
  try {
    for (const { name, source } of config.networks) {
      if (source?.type !== 'consensus') continue
      const running = sources.find((candidate) => candidate.name === name)
      const endpoint = edge.endpoints.get(name)
      if (running === undefined || endpoint === undefined) throw new Error(`network ${name} has no source`)
      const { host, port, jwtSecret } = source
      const listener = new EngineListener({
        host,
        port,
        secret: jwtSecret === undefined ? readOwnSecret(config.node.jwtSecret) : readSecret(jwtSecret),
        limits: {
          bodyBytesMax: limits.engineBodyBytesMax,
          connectionsMax: limits.engineConnectionsMax,
          bodyMsMax: limits.bodyMsMax,
          batchCallsMax: limits.batchCallsMax,
        },
        endpoint,
        call: (method, params) => running.calls.relay(method, params),
        callWhole: (request) => running.calls.relay(engineRequestMethod, request),
        logDefect: (error) => log.error({ network: name, stack: (error as Error).stack }, 'internal error'),
      })
      await listener.listen()
      listeners.push(listener)
      log.info({ network: name }, `the consensus client of this network may call ${listener.url}`)
    }
    return listeners
  } catch (error) {
    await Promise.all(listeners.map((listener) => listener.close()))
    throw error
  }
}
