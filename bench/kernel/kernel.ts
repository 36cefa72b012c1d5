/** The EVM alone, in process: the scenario `kernel`. */
import { join } from 'node:path'
import type { SpecialScenario } from '../scenarios/specialScenario.js'
import { measureKernel } from './kernelSpeed.js'

export const kernel: SpecialScenario = {
  name: 'kernel',
  title: 'EVM in process, exchange swaps',
  async run({ isQuick, network }) {
    const { folder } = await network('demo')
    const figures = await measureKernel(join(folder, 'chain.mdb'), isQuick ? 40 : 200)
    const swap = figures.speeds.find(({ name }) => name === 'exchange swap')
    if (swap === undefined) throw new Error('no swap')
    const side = (micros: number) => ({ rate: 1e6 / micros, rateSpread: 0, cpuMicros: micros })
    return {
      unit: 'swaps/s',
      own: side(swap.micros),
      rivals: { ethereumjs: side(swap.libraryMicros) },
      ratios: { ethereumjs: { value: swap.libraryMicros / swap.micros, by: 'cpu' } },
      kernel: figures,
    }
  },
}
