/**
 * A writer that plays a chain at a pace and publishes it in a real PostgreSQL, and a replica of it: what the scenarios
 * of replicas have in common.
 */

import { readFileSync } from 'node:fs'
import { readChainFile } from '../../src/ingest/chainFile.js'
import { launchPostgres, type RunningPostgres } from '../../test/feed/postgres.js'
import { importChainBlocks } from '../data/importChainSizes.js'
import type { ImportChain } from '../data/importChains.js'
import { HeadListener } from '../load/headListener.js'
import type { RunContext } from '../scenarios/specialScenario.js'
import { ticksPerSecond } from './serverProcess.js'
import { startTidegate, type TidegateOptions, type TidegateProcess } from './tidegateServer.js'

/** The network's name, by which its schema is found as well. */
const name = 'fed'
/** Much faster than any public chain, and far from what a machine with two cores can do. */
const intervalMsDefault = 50
/** Blocks that are played: enough for a p99. The writer takes in those before at full speed. */
const playedWhole = 520
const playedQuick = 200

/** A chain of 20 plain transfers a block. */
export interface PlayedChain extends ImportChain {
  /** The last block that is not played. */
  readonly from: number
  /** The newest block. */
  readonly to: number
  /** From one played block to the next. */
  readonly intervalMs: number
}

/** Loaded only when needed, because it needs @ethereumjs. */
export async function playedChain({ isQuick }: RunContext): Promise<PlayedChain> {
  const { importChain } = await import('../data/importChains.js')
  const chain = await importChain('transfers', importChainBlocks.transfers)
  let to = 0
  for await (const _ of readChainFile(chain.chainPath)) to++
  return { ...chain, from: to - (isQuick ? playedQuick : playedWhole), to, intervalMs: intervalMsDefault }
}

/** Calls `use` with a new PostgreSQL, which flushes what it commits. */
export async function withPostgres<T>(use: (postgres: RunningPostgres) => Promise<T>): Promise<T> {
  const postgres = await launchPostgres()
  const end = () => process.kill(postgres.pid, 'SIGKILL')
  process.on('exit', end)
  try {
    return await use(postgres)
  } finally {
    process.off('exit', end)
    await postgres.end()
  }
}

/** A writer and a replica, of a feed of their own, with what each tells of new heads. */
export interface Pair {
  readonly replica: TidegateProcess
  readonly theirs: HeadListener
  readonly ours: HeadListener
}

/** Calls `use` as soon as the chain is being played; its schema in the database is `schema`. */
export async function withPair<T>(
  { folder, server }: RunContext,
  { genesisPath, chainPath, from, intervalMs }: PlayedChain,
  { url }: RunningPostgres,
  schema: string,
  { writerOn, replicaOn }: Record<'writerOn' | 'replicaOn', TidegateOptions['onCores'] & object>,
  use: (pair: Pair) => Promise<T>,
): Promise<T> {
  const database = { url, schema }
  const start = (entry: object, onCores: typeof writerOn) =>
    startTidegate(folder, [], {
      ...server,
      onCores,
      moreNetworks: [{ name, genesis: genesisPath, ...entry }],
    })
  const listen = ({ said }: TidegateProcess) =>
    HeadListener.open(new URL(`/${name}/ws`, said).href.replace('http', 'ws'))
  const replica = await start({ source: { type: 'feed', ...database } }, replicaOn)
  let writer: TidegateProcess | undefined
  const open: HeadListener[] = []
  try {
    open.push(await listen(replica))
    const source = { type: 'replay', file: chainPath, from, intervalMs }
    writer = await start({ source, publish: database }, writerOn)
    open.push(await listen(writer))
    const [ours, theirs] = open as [HeadListener, HeadListener]
    await ours.reached(from + 1)
    return await use({ replica, theirs, ours })
  } finally {
    for (const listener of open) listener.close()
    await writer?.stop()
    await replica.stop()
  }
}

/** Seconds of CPU that PostgreSQL took, all its processes together; undefined where the system does not tell. */
export function postgresSeconds({ pid }: RunningPostgres): number | undefined {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    const ticks = children.map((child) => ticksOf(child, ownFields))
    return ticks.reduce((sum, one) => sum + one, ticksOf(String(pid), allFields)) / ticksPerSecond
  } catch {
    return undefined
  }
}

/** User and system time in `/proc/<pid>/stat`, after the program's name; and with that of children that ended. */
const ownFields = [11, 12]
const allFields = [11, 12, 13, 14]

function ticksOf(pid: string, fields: readonly number[]): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.reduce((sum, at) => sum + Number(values[at]), 0)
}
