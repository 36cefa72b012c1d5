/** `tidegate audit` and `tidegate audit verify`: the audit log, as a table or JSON, and the check of its chain. */

import type { AuditEntry, AuditLog } from '../../data/store/node/audit.js'
import { OperatorError, UsageError } from '../../primitives/faults.js'
import { isThere } from '../../primitives/files.js'
import type { DataConfig } from '../config/config.js'
import { auditToJson } from '../process/adminLists.js'
import { withKeys } from '../process/openKeys.js'
import type { Io } from '../process/terminal.js'
import { formatTime, layOutTable } from './tables.js'

/** Lists the newest entries, oldest first. */
export async function listAudit(config: DataConfig, limit: number, asJson: boolean, io: Io): Promise<number> {
  const entries = await withAudit(config, (audit) => [...audit.read(Math.max(audit.last - limit + 1, 1))])
  if (asJson) io.out(JSON.stringify(entries.map(auditToJson), undefined, 2))
  else if (entries.length > 0) io.out(tableOf(entries))
  else io.err(`No entries in the audit log of ${config.dataDir} yet`)
  return 0
}

/** Checks the chain: status 0 if it is whole, otherwise 1. */
export async function verifyAudit(config: DataConfig, known: string | undefined, io: Io): Promise<number> {
  if (known !== undefined && !/^[0-9a-f]{64}$/.test(known)) {
    throw new UsageError('--hash: expected the 64 hex digits that an earlier "tidegate audit verify" printed')
  }
  const { entries, hash, fault } = await withAudit(config, (audit) => audit.verify(known))
  if (fault === undefined) {
    const head = hash === undefined ? '' : ` The newest has the hash ${hash}; keep it elsewhere, for --hash.`
    io.out(`The audit log is whole: ${entries} entries.${head}`)
    return 0
  }
  io.err(`The audit log is not whole: ${fault}. ${entries} entries before that fit each other.`)
  return 1
}

function tableOf(entries: readonly AuditEntry[]): string {
  const rows = entries.map(({ sequence, atMs, actor, action, keyId = '', detail }) => [
    String(sequence),
    formatTime(atMs),
    actor,
    action,
    keyId,
    detail,
  ])
  return layOutTable([['ENTRY', 'TIME', 'WHO', 'WHAT', 'KEY', 'DETAIL'], ...rows])
}

async function withAudit<T>(config: DataConfig, work: (audit: AuditLog) => T): Promise<T> {
  if (config.shared === undefined && !isThere(config.node.store)) {
    throw new OperatorError(`there is no audit log in ${config.dataDir}; check --data`)
  }
  return withKeys(config, { readOnly: true }, ({ store: { audit } }) => {
    if (audit !== undefined) return work(audit)
    throw new OperatorError(`there is no audit log in ${config.dataDir} yet; it begins with the next change`)
  })
}
