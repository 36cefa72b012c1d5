/** Import speed, and reads while an import goes on. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { devnetFolder } from '../data/benchData.js'
import { type ImportChainKind, importChainBlocks, importChainBlocksQuick } from '../data/importChainSizes.js'
import type { ImportChain } from '../data/importChains.js'
import type { LoadResult } from '../load/httpLoader.js'
import { median, spread } from '../report/statistics.js'
import { latencyComparison, readAtRate } from '../scenarios/disturbedReads.js'
import type { RunContext, SpecialScenario } from '../scenarios/specialScenario.js'
import { onAllCores } from '../servers/serverProcess.js'
import { startTidegate } from '../servers/tidegateServer.js'

/** A scenario of importing the chain that `chain` has. */
function importScenario(
  name: string,
  title: string,
  chain: (context: RunContext) => Promise<ImportChain>,
): SpecialScenario {
  return {
    name,
    title,
    async run(context) {
      const { folder, genesisPath, chainPath } = await chain(context)
      const program = fileURLToPath(new URL('./importSpeed.js', import.meta.url))
      const rounds = context.isQuick ? 1 : context.settings.rounds
      const input = [join(folder, 'chain.mdb'), genesisPath, chainPath, String(rounds)]
      const [file = '', ...args] = onAllCores([process.execPath, program, ...input])
      const { importRates, evmRates } = JSON.parse(execFileSync(file, args, { encoding: 'utf8' })) as {
        importRates: number[]
        evmRates: number[]
      }
      const own = { rate: median(importRates) ?? 0, rateSpread: spread(importRates) }
      const evm = { rate: median(evmRates) ?? 0, rateSpread: spread(evmRates) }
      const ratios = { evm: { value: own.rate / evm.rate, by: 'rate' } } as const
      return { unit: 'gas', own, rivals: { evm }, ratios }
    },
  }
}

/** Loaded only when needed, because it needs a compiler and @ethereumjs. */
async function madeChain(kind: ImportChainKind, { isQuick }: RunContext): Promise<ImportChain> {
  const { importChain } = await import('../data/importChains.js')
  return importChain(kind, isQuick ? importChainBlocksQuick : importChainBlocks[kind])
}

export const importScenarios: readonly SpecialScenario[] = [
  importScenario('import', 'import, beside the EVM alone', async ({ network }) => ({
    ...(await network('demo')),
    chainPath: join(devnetFolder, 'chain.rlp'),
  })),
  importScenario('import-transfers', 'import of plain transfers', (context) =>
    madeChain('transfers', context),
  ),
  importScenario('import-tokens', 'import of token transfers', (context) => madeChain('tokens', context)),
  importScenario('import-mixed', 'import of transfers and swaps', (context) => madeChain('mixed', context)),
]

export const readsWhileImporting: SpecialScenario = {
  name: 'reads-while-importing',
  title: 'reads while another network is imported',
  async run({ folder, settings, server: options, network }) {
    const demo = await network('demo')
    const incoming = {
      name: 'incoming',
      genesis: demo.genesisPath,
      source: { type: 'file', path: join(devnetFolder, 'chain.rlp') },
    }
    const server = await startTidegate(folder, [demo], { ...options, moreNetworks: [incoming] })
    try {
      const isImporting = async () => {
        const health = (await (await fetch(new URL('/health', server.said))).json()) as {
          networks: Record<string, { syncing: boolean }>
        }
        return health.networks.incoming?.syncing === true
      }
      const busy: LoadResult[] = []
      // Repeats a round if the import ended before it.
      for (;;) {
        const reads = await readAtRate(server, settings.seconds)
        if (!(await isImporting())) break
        busy.push(reads)
      }
      if (busy.length === 0) throw new Error('the import was over before a round was; shorten --seconds')
      const idle: LoadResult[] = []
      for (let round = 0; round < settings.rounds; round++)
        idle.push(await readAtRate(server, settings.seconds))
      return latencyComparison(server, busy, { idle })
    } finally {
      await server.stop()
    }
  },
}
