/** Import speed, and reads while an import goes on. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { devnetFolder } from './benchData.js'
import { latencyComparison, readAtRate } from './disturbedReads.js'
import type { LoadResult } from './httpLoader.js'
import { onAllCores } from './serverProcess.js'
import type { SpecialScenario } from './specialScenario.js'
import { median, spread } from './statistics.js'
import { startTidegate } from './tidegateServer.js'

export const importScenario: SpecialScenario = {
  name: 'import',
  title: 'import, beside the EVM alone',
  async run({ settings, isQuick, network }) {
    const { folder } = await network('demo')
    const program = fileURLToPath(new URL('./importSpeed.js', import.meta.url))
    const rounds = isQuick ? 1 : settings.rounds
    const command = [process.execPath, program, join(folder, 'chain.mdb'), String(rounds)]
    const [file = '', ...args] = onAllCores(command)
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
      // A round that the import did not outlast is not one of reads beside it.
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
