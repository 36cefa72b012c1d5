import { unpack } from 'msgpackr'
import { OperatorError } from '../../primitives/faults.js'
import type { ChainIdentity } from './chainRows.js'
import type { ReadTable } from './readTable.js'
import { metaKeys, schemaVersion } from './tables.js'

/** The identity of a store's chain; undefined if it has none yet. Throws OperatorError for another schema version. */
export function checkSchema(meta: ReadTable | undefined, path: string): ChainIdentity | undefined {
  const row = meta?.getBinary(metaKeys.identity)
  if (row === undefined) return undefined
  const identity = unpack(row) as ChainIdentity & { schema: number }
  if (identity.schema === schemaVersion) return identity
  throw new OperatorError(
    `the store ${path} has schema ${identity.schema}, this version of tidegate reads ${schemaVersion}; ` +
      'use the version that made it, or import the chain again into an empty folder, with "tidegate import"',
  )
}
