/** Imports of blocks that come with their access lists, on all cores and on one, in turns. */
import { type ListedKind, listedKinds } from '../data/listedKinds.js'
import { median, spread } from '../report/statistics.js'
import type { SpecialScenario } from '../scenarios/specialScenario.js'
import { Program } from '../servers/program.js'
import { onServerCore } from '../servers/serverProcess.js'
import type { Imported } from './importAgain.js'

/** A round takes half a minute on both sides. */
const roundsMax = 3
/** As long as chains are, code is compiled soon. */
const roundsBefore = 1

function listedScenario(kind: ListedKind): SpecialScenario {
  return {
    name: `import-listed-${kind.replaceAll(' ', '-')}`,
    title: `import of blocks with access lists: ${kind}`,
    async run({ isQuick, settings }) {
      // Loaded only when needed, because it makes chains.
      const { listedChain } = await import('../data/listedChains.js')
      const { genesisPath, chainPath } = await listedChain(kind)
      const all = new Program<Imported>('importAgain', [genesisPath, chainPath])
      const one = new Program<Imported>('importAgain', [genesisPath, chainPath], onServerCore)
      const rates: Record<'all' | 'one', number[]> = { all: [], one: [] }
      const cpu: number[] = []
      const rounds = (isQuick ? 1 : Math.min(settings.rounds, roundsMax)) + roundsBefore
      for (let round = 0; round < rounds; round++) {
        const [onAll, onOne] = [await all.next(), await one.next()]
        if (round < roundsBefore) continue
        rates.all.push(onAll.gas / onAll.seconds)
        rates.one.push(onOne.gas / onOne.seconds)
        cpu.push(onAll.cpuSeconds / onOne.cpuSeconds)
      }
      await Promise.all([all.end(), one.end()])
      const sideOf = (values: number[]) => ({ rate: median(values) ?? 0, rateSpread: spread(values) })
      const [own, rival] = [sideOf(rates.all), sideOf(rates.one)]
      return {
        unit: 'gas',
        own,
        rivals: { 'one core': rival },
        ratios: { 'one core': { value: own.rate / rival.rate, by: 'rate' } },
        note: `${(median(cpu) ?? 0).toFixed(2)} × the CPU time of one core`,
      }
    },
  }
}

export const listedImports: readonly SpecialScenario[] = listedKinds.map(listedScenario)
