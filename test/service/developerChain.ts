/** Serves a chain for which the program makes blocks. */
import type { Test } from 'tap'
import { mergedConfig, testGenesis } from '../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../library/folder.js'
import { writeConfig } from './program.js'
import { type Service, startService } from './service.js'

export interface DeveloperChain {
  readonly service: Service
  readonly folder: string
  readonly config: string
  readonly genesis: string
}

/** Serves a developer chain `dev`, without keys. By default it makes a block at once for each transaction. */
export async function startDeveloper(
  t: Test,
  {
    genesis = testGenesis(mergedConfig()) as object,
    edges = 1,
    limits = {},
    ...source
  }: Record<string, unknown> & { readonly limits?: object } = {},
): Promise<DeveloperChain> {
  const folder = makeFolder(t)
  const config = writeConfig(folder, {
    dataDir: 'data',
    edges,
    limits,
    networks: [
      { name: 'dev', genesis: 'genesis.json', source: { type: 'develop', blockSeconds: 0, ...source } },
    ],
  })
  const written = writeInto(folder, 'genesis.json', genesis)
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  return { service, folder, config, genesis: written }
}
