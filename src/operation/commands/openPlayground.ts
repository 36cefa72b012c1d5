import { UsageError } from '../../primitives/faults.js'
import { clientVersion } from '../../primitives/version.js'
import { RequestContext } from '../../serving/rpc/contexts/requestContext.js'
import { renderOpenRpc } from '../../serving/rpc/openRpc.js'
import { lastingPieces } from '../../serving/transport/answerBytes.js'
import type { ApiServices } from '../admin/routes.js'
import type { Config } from '../config/config.js'
import type { Edge } from '../edge/edge.js'
import { networkUrl } from './welcome.js'

/** Calls of the operator: they pass through the main thread's edge as those of clients do, but need no key. */
export function openPlayground(
  config: Config,
  { endpoints }: Edge,
  port: number,
): Pick<ApiServices, 'readPlayground' | 'callMethod'> {
  const key = config.auth ? 'YOUR_API_KEY' : undefined
  const networks = [...endpoints.keys()].map((name) => {
    const rollup = config.rollups.find((candidate) => candidate.name === name)
    const tag = rollup === undefined ? ('chain' as const) : ('rollup' as const)
    return { name, tag, prefix: rollup?.prefix ?? null, url: networkUrl(config, port, name, key) }
  })
  return {
    readPlayground: () => ({ networks, openRpc: JSON.parse(renderOpenRpc(clientVersion)) }),
    async callMethod(network, { method, params }) {
      const endpoint = endpoints.get(network)
      if (endpoint === undefined) throw new UsageError(`there is no network "${network}"`)
      const caller = new RequestContext()
      const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      const startedMs = performance.now()
      const answer = await endpoint.handle(body, caller)
      const seconds = (performance.now() - startedMs) / 1_000
      caller.finish()
      return { answer: Buffer.concat(lastingPieces(answer.body)).toString('utf8'), seconds }
    },
  }
}
