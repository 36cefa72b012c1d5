/** All scenarios that are more than requests over HTTP, in the order in which they run. */
import { gas } from '../gas/gas.js'
import { importScenarios } from '../imports/importRun.js'
import { neighbours } from '../neighbours/neighbours.js'

import { readsUnderProofs } from './disturbedReads.js'
import { gatewayCached } from './gatewayRun.js'
import { fewLogs, manyLogs } from './logRun.js'
import { memory } from './memoryRun.js'
import { prices } from './prices.js'
import type { SpecialScenario } from './specialScenario.js'
import { stateSize } from './stateSize.js'
import { traceStream } from './traceRun.js'

/** `gasFolder`: where the benchmarks of gas are; undefined: they are left out. */
export const specialScenarios = (gasFolder: string | undefined): readonly SpecialScenario[] => [
  readsUnderProofs,
  ...importScenarios,
  stateSize,
  gatewayCached,
  memory,
  traceStream,
  neighbours,
  prices,
  fewLogs,
  manyLogs,
  ...(gasFolder === undefined ? [] : [gas(gasFolder)]),
]
