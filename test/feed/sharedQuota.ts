/** Processes that share the quota of one key over a real PostgreSQL, and a client's spending at them. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { makeFolder } from '../library/folder.js'
import { genesisPath } from '../rpc/demoChain.js'
import { copyDemoStore, runProgram, writeConfig } from '../service/program.js'
import { type Service, startService } from '../service/service.js'
import { type Postgres, startPostgres } from './postgres.js'

/**
 * Calls that cost 60 units each, without any work: their storage keys are invalid. Only few per batch, since a body of
 * 2 KiB has a price of its own, which a refused batch pays as well.
 */
const callsMax = 4
export const callUnits = 60
/** The maximum that {@link payOnce} pays. */
export const batchUnits = callsMax * callUnits
const batch = JSON.stringify(
  Array.from({ length: callsMax }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'eth_getProof',
    params: [`0x${'0'.repeat(40)}`, Array(40).fill('none')],
  })),
)

/** Sends one batch; returns the units paid for it. */
export async function payOnce(service: Service, key: string): Promise<number> {
  const { status, text } = await service.post(`/v3/${key}`, batch)
  if (status !== 200) return 0
  const answers = JSON.parse(text) as { readonly error: { readonly code: number } }[]
  return callUnits * answers.filter(({ error }) => error.code !== -32005).length
}

/**
 * Three processes, the second with two edges if the system supports them, and a key valid at all. `limits`: limits of
 * the key, as words of the command line; `shared`: settings besides the database.
 */
export async function shareQuota(
  t: Test,
  limits: readonly string[],
  shared: Record<string, unknown> = {},
): Promise<{ readonly postgres: Postgres; readonly services: readonly Service[]; readonly key: string }> {
  const postgres = await startPostgres(t)
  const folders = [makeFolder(t), makeFolder(t), makeFolder(t)]
  const configs = folders.map((folder, index) => {
    const dataDir = join(folder, 'data')
    copyDemoStore(dataDir, 'demo')
    return writeConfig(folder, {
      dataDir,
      networks: [{ name: 'demo', genesis: genesisPath }],
      shared: { url: postgres.url, ...shared },
      ...(index === 1 && process.platform === 'linux' && { edges: 2 }),
    })
  })
  const [first = ''] = configs
  const made = await runProgram(['keys', 'create', '--name', 'shop', ...limits, '--config', first])
  if (made.status !== 0) throw new Error(made.err)
  const services: Service[] = []
  for (const [index, config] of configs.entries()) {
    const node = join(folders[index] ?? '', 'data/node')
    mkdirSync(node, { recursive: true, mode: 0o700 })
    if (index > 0) copyFileSync(join(folders[0] ?? '', 'data/node/pepper'), join(node, 'pepper'))
    const service = await startService(['--config', config])
    t.teardown(() => service.stop())
    services.push(service)
  }
  return { postgres, services, key: made.out.trim() }
}
