/** Import of an archive of history, on one core. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { median, spread } from '../report/statistics.js'
import type { SpecialScenario } from '../scenarios/specialScenario.js'
import { isPinned } from '../servers/serverProcess.js'
import type { EraFigures } from './eraSpeed.js'

export const era: SpecialScenario = {
  name: 'era',
  title: 'import of an era1 archive, on one core',
  async run({ isQuick, settings }) {
    const program = fileURLToPath(new URL('./eraSpeed.js', import.meta.url))
    const words = [process.execPath, program, String(isQuick ? 1 : settings.rounds)]
    const [file = '', ...args] = isPinned ? ['taskset', '-c', '0', ...words] : words
    const figures = JSON.parse(execFileSync(file, args, { encoding: 'utf8' })) as EraFigures
    const { rates, archive, blocks, peakResidentBytes, firstProofMs, nextProofMicros } = figures
    const own = { rate: median(rates) ?? 0, rateSpread: spread(rates), peakResidentBytes }
    const peak = Math.round(peakResidentBytes / 1e6)
    const note =
      `${blocks} blocks of ${archive}; at most ${peak} MB; first proof of the epoch ` +
      `${(median(firstProofMs) ?? 0).toFixed(1)} ms, others ${nextProofMicros.toFixed(0)} µs`
    return { unit: 'blocks', own, rivals: {}, ratios: {}, note }
  },
}
