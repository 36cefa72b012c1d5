import type { RootDatabase } from 'lmdb'
import { OperatorError } from '../../primitives/faults.js'
import { auditTableNames } from './audit.js'
import { submissionTableNames } from './submissions.js'
import { usageTableNames } from './usage.js'

/** Names are never reused for another layout. */
export const tableNames = {
  meta: 'meta',
  keys: 'keys',
  keyNames: 'keyNames',
  keySecrets: 'keySecrets',
  quotas: 'keyQuotas',
} as const

/** Throws OperatorError for an environment with tables of another kind, before any table is made in it. */
export function assertTables(environment: RootDatabase, path: string): void {
  const known: readonly string[] = [
    tableNames,
    submissionTableNames,
    usageTableNames,
    auditTableNames,
  ].flatMap(Object.values)
  for (const key of environment.getKeys()) {
    const name = Buffer.from(key as Uint8Array)
      .toString('utf8')
      .replace(/\0$/, '')
    if (!known.includes(name)) throw foreign(path)
  }
}

/** The fault of a store of something else. */
export function foreign(path: string): OperatorError {
  return new OperatorError(`${path} is not a node store of Tidegate; check --data, or move that file away`)
}
