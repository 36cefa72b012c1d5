/** What chains take in the store: the scenario `store`. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SpecialScenario } from '../scenarios/specialScenario.js'
import type { StoreFigures } from './storeSpeed.js'
import { storeTable } from './storeTable.js'

/** Slots of *wide*, accounts, slots and blocks of *busy*, and changes of one of its blocks, in a whole run. */
const wholeSize = { wide: 10_000_000, accounts: 1_000_000, slots: 3_000_000, blocks: 5_000, changes: 5_000 }
/** Blocks whose past is kept where little is. */
const keptBlocks = 100
const figuresBytesMax = 2 ** 20

export const store: SpecialScenario = {
  name: 'store',
  title: 'what chains take in the store',
  async run({ storeShare }) {
    const of = (count: number) => String(Math.max(1, Math.round(count * storeShare)))
    const { accounts, slots, blocks } = wholeSize
    // A block of fewer changes than are usual finds fewer neighbours, so a smaller state has fewer blocks first.
    const changes = String(storeShare >= 0.1 ? wholeSize.changes : 500)
    const wide = ['wide', '--slots', of(wholeSize.wide)]
    const busy = ['busy', '--accounts', of(accounts), '--slots', of(slots), '--blocks', of(blocks)]
    const cut = ['--history', String(keptBlocks)]
    const runs = [
      wide,
      [...wide, '--history', '1'],
      [...busy, '--changes', changes],
      [...busy, '--changes', changes, ...cut],
    ]
    const figures = runs.map(measure)
    console.error(storeTable(figures))
    const last = figures[2] as StoreFigures
    return {
      unit: 'blocks of random changes',
      own: { rate: 1_000 / (last.busy?.writeWallMs ?? Number.NaN), rateSpread: 0 },
      rivals: {},
      ratios: {},
      note: storeTable(figures).split('\n').slice(2).join('; '),
    }
  },
}

function measure(args: readonly string[]): StoreFigures {
  const program = fileURLToPath(new URL('./storeSpeed.js', import.meta.url))
  const text = execFileSync(process.execPath, [program, ...args], {
    encoding: 'utf8',
    maxBuffer: figuresBytesMax,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(text) as StoreFigures
}
