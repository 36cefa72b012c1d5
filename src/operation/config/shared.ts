/** The database that several processes share, and the reasons for its limits. */
import type * as z from 'zod'
import { databaseUrl, schemaName } from './feed.js'
import { integer, object } from './schema.js'

/** No feed has this name: those begin with `tidegate_`. */
const schemaDefault = 'tidegate'
/** The restart or the replacement of a database takes a minute or two. */
const graceMsDefault = 600_000
const graceMsMax = 7 * 86_400_000
/** Three reports of a process: units leased by a dead process are back soon, and one slow answer loses no lease. */
const leaseMsDefault = 15_000

export const sharedSchema = object({
  /** postgres://user@host:port/database; may contain a password, which is never logged. */
  url: databaseUrl,
  /** The PostgreSQL schema of the tables. */
  schema: schemaName.default(schemaDefault),
  /** Time for which keys are accepted that were valid when the database last answered. */
  graceMs: integer(0, graceMsMax).default(graceMsDefault),
  /** Time for which a dead process keeps its leased units. */
  leaseMs: integer(1_000, 600_000).default(leaseMsDefault),
})

export type SharedConfig = z.output<typeof sharedSchema>
