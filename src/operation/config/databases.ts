/**
 * The databases in PostgreSQL that a configuration names, and the reasons for their limits. One is the feed of a network
 * (`publish` and the source `feed`). The other has what several processes share (`shared`).
 */
import * as z from 'zod'
import { integer, object, text } from './schema.js'

export const databaseUrl = z.url({ protocol: /^postgres(?:ql)?$/, error: 'expected a URL of postgres' })
export const schemaName = text('the name of a schema').max(63, { error: 'expected at most 63 characters' })

const databaseShape = {
  /** postgres://user@host:port/database; may contain a password, which is never logged. */
  url: databaseUrl,
  /** The PostgreSQL schema of this network's tables; if absent, `tidegate_` and the network's name. */
  schema: schemaName.optional(),
}

/**
 * A writer without its database continues for this many blocks: twelve minutes of Ethereum's, enough for a restart of
 * the database. If the writer never comes back, a standby has to execute these blocks again.
 */
const feedAheadDefault = 64
/** Two weeks of Ethereum's blocks: replicas continue by themselves after a shorter absence. */
const retainBlocksDefault = 100_000
/** Longer than a garbage collection or a busy database, short enough that a standby soon becomes the writer. */
const writerLeaseMsDefault = 5_000

export const publishSchema = object({
  ...databaseShape,
  /** Blocks that the writer may be ahead of the published ones. */
  feedAheadMax: integer(1, 65_536).default(feedAheadDefault),
  /** Blocks below the head that stay in the database. */
  retainBlocks: integer(256).default(retainBlocksDefault),
  /** Time for which a dead writer prevents a standby from taking over. */
  leaseMs: integer(200, 600_000).default(writerLeaseMsDefault),
})

export const feedSource = object({
  type: z.literal('feed'),
  ...databaseShape,
  /** Transactions of each block, chosen at random, whose senders are recovered. */
  sendersChecked: integer(0).default(2),
})

export type PublishConfig = z.output<typeof publishSchema>

/** The schema of a network whose entry names none. */
export function feedSchemaOf(network: string): string {
  return `tidegate_${network}`
}

/** No feed has this name: those begin with `tidegate_`. */
const sharedSchemaDefault = 'tidegate'
/** The restart or the replacement of a database takes a minute or two. */
const graceMsDefault = 600_000
const graceMsMax = 7 * 86_400_000
/** Three reports of a process: units leased by a dead process are back soon, and one slow answer loses no lease. */
const unitsLeaseMsDefault = 15_000

export const sharedSchema = object({
  /** postgres://user@host:port/database; may contain a password, which is never logged. */
  url: databaseUrl,
  /** The PostgreSQL schema of the tables. */
  schema: schemaName.default(sharedSchemaDefault),
  /** Time for which keys are accepted that were valid when the database last answered. */
  graceMs: integer(0, graceMsMax).default(graceMsDefault),
  /** Time for which a dead process keeps its leased units. */
  leaseMs: integer(1_000, 600_000).default(unitsLeaseMsDefault),
})

export type SharedConfig = z.output<typeof sharedSchema>
