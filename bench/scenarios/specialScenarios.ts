/** All scenarios that are more than requests over HTTP, in the order in which they run. */

import { gas } from '../gas/gas.js'
import { era } from '../imports/eraRun.js'
import { importScenarios, readsWhileImporting } from '../imports/importRun.js'
import { listedImports } from '../imports/listedRun.js'
import { kernel } from '../kernel/kernel.js'
import { neighbours } from '../neighbours/neighbours.js'
import { store } from '../store/storeRun.js'
import { readsUnderProofs } from './disturbedReads.js'
import { newHeads } from './fanOut.js'
import { gatewayCached, gatewayMiss } from './gatewayRun.js'
import { gatewaySearch } from './gatewaySearch.js'
import { fewLogs, manyLogs } from './logRun.js'
import { memory } from './memoryRun.js'
import { prices } from './prices.js'
import { replicaReads } from './replicaReads.js'
import { replicas } from './replicasRun.js'
import type { SpecialScenario } from './specialScenario.js'
import { sharedSubmissions, submissions } from './submissionRun.js'
import { traceStream } from './traceRun.js'
import { workingSet } from './workingSet.js'
import { workingSetBlocks } from './workingSetBlocks.js'

/** `gasFolder`: where the benchmarks of gas are; undefined: they are left out. */
export const specialScenarios = (gasFolder: string | undefined): readonly SpecialScenario[] => [
  ...scenarios,
  workingSetBlocks(gasFolder),
  ...(gasFolder === undefined ? [] : [gas(gasFolder)]),
]

const scenarios: readonly SpecialScenario[] = [
  readsUnderProofs,
  readsWhileImporting,
  ...importScenarios,
  ...listedImports,
  era,
  store,
  gatewayCached,
  gatewayMiss,
  gatewaySearch,
  workingSet,
  memory,
  traceStream,
  newHeads(1_000),
  newHeads(5_000),
  submissions,
  sharedSubmissions,
  replicas,
  replicaReads,
  neighbours,
  prices,
  kernel,
  fewLogs,
  manyLogs,
]
