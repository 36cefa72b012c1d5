/** Starts Tidegate on networks that were made before, each in a process of its own with a data folder of its own. */
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchNetwork, programPath } from './benchData.js'
import { type ServerProcess, startServer } from './serverProcess.js'

export interface TidegateOptions {
  /** Members of the configuration's `limits`. */
  readonly limits?: Readonly<Record<string, number>>
  /** Entries of the configuration's `networks` beside those that are ready. */
  readonly moreNetworks?: readonly object[]
  /** Flags of Node.js itself. */
  readonly nodeFlags?: readonly string[]
}

/** Every answer made anew: nothing rendered, proven or asked before is remembered. */
export const withoutCaches = { answerCacheBytes: 0, proofCacheBytes: 0, memoBytes: 0 } as const

/** `folder` is the run's own; the server's data lies below it. The server says its URL. */
export function startTidegate(
  folder: string,
  networks: readonly BenchNetwork[],
  options: TidegateOptions = {},
): Promise<ServerProcess> {
  const home = mkdtempSync(join(folder, 'tidegate-'))
  mkdirSync(join(home, 'data/networks'), { recursive: true })
  for (const network of networks) symlinkSync(network.folder, join(home, 'data/networks', network.name))
  const config = {
    networks: [
      ...networks.map(({ name, genesisPath, source }) => ({ name, genesis: genesisPath, source })),
      ...(options.moreNetworks ?? []),
    ],
    limits: options.limits ?? {},
  }
  const configPath = join(home, 'tidegate.json')
  writeFileSync(configPath, JSON.stringify(config))
  const flags = ['--config', configPath, '--data', join(home, 'data'), '--port', '0', '--no-auth']
  return startServer(
    [process.execPath, ...(options.nodeFlags ?? []), programPath, 'serve', ...flags, '--log-level', 'error'],
    /listens on (http:\S+)/,
  )
}
