import { getHeapStatistics } from 'node:v8'
import type { CacheUse } from '../../data/chain/answerCache.js'
import type { EdgeFigures } from '../../serving/metrics/edgeCounts.js'
import type { HttpServer } from '../../serving/transport/http.js'
import { threadCpuSeconds } from './loopWatch.js'
import type { OpenNetwork } from './openNetwork.js'

export function readEdgeFigures(networks: readonly OpenNetwork[], server: HttpServer): EdgeFigures {
  const blocks = sumUses(networks.map(({ blockAnswers }) => blockAnswers))
  const open = networks.filter(({ opening }) => opening === undefined)
  const proofs = sumUses(open.map(({ current }) => current.proofs.use))
  return {
    atMs: Date.now(),
    cpuSeconds: threadCpuSeconds(),
    heapBytes: getHeapStatistics().used_heap_size,
    connections: server.connections,
    subscriptions: server.subscribers.open,
    skippedEvents: server.subscribers.skippedEvents,
    blockHits: blocks.hits,
    blockMisses: blocks.misses,
    blockBytes: blocks.bytes,
    proofHits: proofs.hits,
    proofMisses: proofs.misses,
    proofBytes: proofs.bytes,
    copyBytes: server.copyBytes,
  }
}

function sumUses(uses: readonly CacheUse[]): CacheUse {
  const sum = (name: keyof CacheUse) => uses.reduce((total, use) => total + use[name], 0)
  return { hits: sum('hits'), misses: sum('misses'), bytes: sum('bytes') }
}
