import { getHeapStatistics } from 'node:v8'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { setInterval } from '../../../primitives/timers.js'
import type { Upstreams } from '../../upstream/upstreams.js'
import type { SignedHead } from '../beacon/signedHead.js'
import type { ChainImporter } from '../blocks/importer.js'
import type { BeaconBlocks } from '../engine/beaconBlocks.js'
import type { EngineFigures } from '../engine/engineFigures.js'
import type { ProofFetcher } from '../gateway/proofFetcher.js'
import type { WorkingSet } from '../gateway/workingSet.js'
import type { IngestFigures, IngestMessage } from './messages.js'

/** Equal to the interval of the figures of edges. */
const publishMs = 1_000

/** Parts of a source that have figures; missing parts are absent. */
interface FigureSources {
  readonly store: ChainWriter
  readonly importer?: ChainImporter
  readonly upstreams?: Upstreams
  readonly fetcher?: ProofFetcher
  readonly signed?: SignedHead | undefined
  readonly beacon?: BeaconBlocks | undefined
  readonly workingSet?: WorkingSet
  readonly engine?: () => EngineFigures
}

/**
 * Reports the figures of this thread at once and each second. Returns a function that stops this after a last report.
 */
export function publishFigures(report: (message: IngestMessage) => void, sources: FigureSources): () => void {
  const publish = () => report({ type: 'figures', figures: readFigures(sources) })
  publish()
  const timer = setInterval(publish, publishMs).unref()
  return () => {
    clearInterval(timer)
    publish()
  }
}

function readFigures({
  store,
  importer,
  upstreams,
  fetcher,
  signed,
  beacon,
  workingSet,
  engine,
}: FigureSources): IngestFigures {
  return {
    heapBytes: getHeapStatistics().used_heap_size,
    commits: { ...store.commits },
    phases: { ...importer?.seconds },
    upstreams: [upstreams, signed, beacon].flatMap((nodes) => nodes?.figures() ?? []),
    kept: { ...fetcher?.kept },
    signed: signed?.state,
    heads: workingSet && { ...workingSet.heads },
    workingSet: workingSet?.state,
    engine: engine?.(),
  }
}
