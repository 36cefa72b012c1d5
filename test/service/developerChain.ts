/** Serves a chain for which the program makes blocks. */
import type { Test } from 'tap'
import { mergedConfig, testGenesis } from '../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../library/folder.js'
import { waitFor } from '../library/until.js'
import { post } from './httpClient.js'
import { startProgram, writeConfig } from './program.js'
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

/** Starts `tidegate dev` on a free port and waits until it has its first block. */
export async function startDev(t: Test, words: readonly string[] = [], env: Record<string, string> = {}) {
  const run = startProgram(['dev', '--port', '0', ...words], { env })
  const stop = async () => {
    run.process.kill()
    return (await run.finished).status
  }
  t.teardown(stop)
  void run.finished.catch(() => undefined)
  const url = await waitFor('the developer chain', () => {
    if (run.process.exitCode !== null) throw new Error(`tidegate dev ended: ${run.said.err}`)
    return /^Tidegate listens on (\S+)/m.exec(run.said.out)?.[1]
  })
  const ask = async (method: string, ...params: readonly unknown[]) => {
    const { text } = await post(`${url}/`, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    return JSON.parse(text)
  }
  // On a busy machine it listens before the chain is open.
  await waitFor('the first block', async () => (await ask('eth_blockNumber')).result)
  return { url, ask, stop, said: run.said }
}
