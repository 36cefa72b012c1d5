/** Processes with one feed in a real PostgreSQL: a node whose chain moves, writers that follow it, and replicas. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { bytesToHex } from '../../src/primitives/bytes.js'
import type { MadeBlock } from '../ingest/chainMaker.js'
import {
  makeReplayedChain,
  type PlayedBlock,
  type Reorganisation,
  type ReplayedChain,
} from '../ingest/replayedChain.js'
import { Steps } from '../ingest/steppedReplay.js'
import { makeFolder } from '../library/folder.js'
import { waitFor } from '../library/until.js'
import { get } from '../service/httpClient.js'
import { writeConfig } from '../service/program.js'
import { type Service, startService } from '../service/service.js'
import { type Postgres, type PostgresOptions, startPostgres } from './postgres.js'

export interface Cluster<B extends PlayedBlock = PlayedBlock> {
  readonly chain: ReplayedChain<B>
  readonly postgres: Postgres
  readonly steps: Steps
  readonly node: Service
}

/** A node whose chain moves when the test permits, and a database. */
export async function startCluster(
  t: Test,
  length: number,
  reorganisations: readonly Reorganisation[],
  options?: PostgresOptions,
): Promise<Cluster<MadeBlock>> {
  const chain = await makeReplayedChain(t, { length, from: 4, intervalMs: 1, reorganisations })
  return startClusterOf(t, chain, options)
}

/** Like {@link startCluster}, with any chain. */
export async function startClusterOf<B extends PlayedBlock>(
  t: Test,
  chain: ReplayedChain<B>,
  options?: PostgresOptions,
): Promise<Cluster<B>> {
  const steps = await Steps.listen(t)
  const node = await chain.start(steps.env())
  t.teardown(() => node.stop())
  return { chain, postgres: await startPostgres(t, options), steps, node }
}

/**
 * Starts a process of the cluster. `network` has the members of its entry besides name and genesis, `settings` those of
 * its configuration besides the network.
 */
export async function startMember(
  t: Test,
  { chain }: Pick<Cluster, 'chain'>,
  network: Record<string, unknown>,
  folder = makeFolder(t),
  settings: Record<string, unknown> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<Service> {
  const config = writeConfig(folder, {
    dataDir: 'data',
    ...settings,
    networks: [{ name: 'tides', genesis: join(chain.configPath, '../genesis.json'), ...network }],
  })
  const service = await startService(['--config', config, '--no-auth'], env)
  t.teardown(() => service.stop())
  return service
}

/** Longer than a test's writer can be kept from its core or its database, so it remains the writer until it ends. */
export const lastingLeaseMs = 60_000

/**
 * For tests in which a standby replaces a writer that cannot announce its end; three renewals take long on a busy
 * machine.
 */
export const takeoverMs = 3_000

export function writerOf({ node, postgres }: Cluster, publish: Record<string, unknown> = {}) {
  return {
    source: { type: 'follow', upstreams: [{ url: node.origin }], pollMs: 20 },
    publish: { url: postgres.url, leaseMs: lastingLeaseMs, ...publish },
  }
}

export function replicaOf({ postgres }: Pick<Cluster, 'postgres'>) {
  return { source: { type: 'feed', url: postgres.url } }
}

export async function headOf(service: Service): Promise<string> {
  return (await service.call('eth_getBlockByNumber', ['latest', false])).result.hash
}

/** Resolves once the newest block of each service is that of `want`. */
export async function atHead(
  want: Pick<PlayedBlock, 'hash'> | string,
  services: readonly Service[],
): Promise<void> {
  const hash = typeof want === 'string' ? want : bytesToHex(want.hash)
  for (const service of services) {
    await waitFor(
      `${service.origin} to have the head ${hash}`,
      async () => (await headOf(service)) === hash,
    ).catch(async (error: Error) => {
      const health = await healthOf(service).catch(String)
      throw new Error(`${error.message}: ${JSON.stringify(health)}; it said ${service.said.err}`)
    })
  }
}

export interface Health {
  readonly status: string
  readonly networks: Record<string, Record<string, unknown>>
}

export async function healthOf(service: Service): Promise<Health> {
  return JSON.parse((await get(`${service.origin}/health`)).text)
}
