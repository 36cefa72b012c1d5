/** What gas costs in the worst case: the scenario `gas`. */

import type { SpecialScenario } from '../scenarios/specialScenario.js'
import { measureGas, medianShare, mgas, shortfalls } from './gasSpeed.js'
import { measureServed } from './servedGas.js'

const rounds = 3

/** `folder` is that of the recordings, ../shared/gas-benchmarks unless the command line names another one. */
export function gas(folder: string): SpecialScenario {
  return {
    name: 'gas',
    title: 'the slowest gas',
    async run(context) {
      const inProcess = await measureGas(folder, context.folder, context.isQuick ? 1 : rounds)
      const served = await measureServed(folder, inProcess.speeds, context)
      const figures = {
        ...inProcess,
        speeds: [...inProcess.speeds, ...served.speeds],
        problems: [...inProcess.problems, ...served.problems],
      }
      const rate = Math.min(...figures.speeds.map(mgas))
      const missed = shortfalls(figures)
      const share = medianShare(figures.speeds)
      const note = `precompiled contracts ${share?.toFixed(2)} × go-ethereum in the median`
      return {
        unit: 'Mgas of the slowest',
        own: { rate, rateSpread: 0 },
        rivals: {},
        ratios: {},
        note,
        gas: figures,
        missed,
      }
    },
  }
}
