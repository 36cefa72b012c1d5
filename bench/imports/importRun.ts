/** Import speed. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ImportChainKind } from '../data/importChains.js'
import { findNetwork, importPlan } from '../data/networks.js'
import { sideOf } from '../report/outcome.js'
import type { SpecialScenario } from '../scenarios/specialScenario.js'
import { onAllCores } from '../servers/serverProcess.js'
import type { ImportRates } from './importSpeed.js'

/** Import of the demo chain, or of a generated one. */
function importScenario(title: string, kind?: ImportChainKind): SpecialScenario {
  return {
    name: kind === undefined ? 'import' : `import-${kind}`,
    title,
    // Three unmeasured imports come first, with the EVM beside each.
    seconds: ({ isQuick, rounds }) =>
      kind === undefined ? 8 + (isQuick ? 4 : 3 + rounds) * 2 : isQuick ? 16 : 25 + (3 + rounds) * 9,
    async run({ settings: { isQuick, rounds } }) {
      const plan = kind === undefined ? ({ kind: 'demo' } as const) : importPlan(kind, isQuick)
      const { folder } = await findNetwork('imported', plan)
      const program = fileURLToPath(new URL('./importSpeed.js', import.meta.url))
      const words = [process.execPath, program, folder, String(isQuick ? 1 : rounds)]
      const [file = '', ...args] = onAllCores(words)
      const rates = JSON.parse(execFileSync(file, args, { encoding: 'utf8' })) as ImportRates
      const own = sideOf(rates.import)
      const evm = sideOf(rates.evm)
      const ratios = { evm: { value: own.rate / evm.rate, by: 'rate' } } as const
      return { unit: 'gas', own, rivals: { evm }, ratios }
    },
  }
}

export const importScenarios: readonly SpecialScenario[] = [
  importScenario('import, beside the EVM alone'),
  importScenario('import of plain transfers', 'transfers'),
  importScenario('import of token transfers', 'tokens'),
  importScenario('import of transfers and swaps', 'mixed'),
]
