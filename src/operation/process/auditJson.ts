import type { AuditEntry, AuditLog } from '../../data/store/node/audit.js'
import type { AuditQuery } from '../admin/shapes.js'

/** An entry as `tidegate audit --json` and the admin API show it. */
export function auditToJson({ sequence, atMs, actor, action, keyId, detail, hash }: AuditEntry) {
  return { sequence, at: new Date(atMs).toISOString(), actor, action, keyId: keyId ?? null, detail, hash }
}

/** Entries as the admin API shows them, newest first. */
export function readAudit(
  audit: AuditLog | undefined,
  { limit, before = Number.POSITIVE_INFINITY }: AuditQuery,
) {
  if (audit === undefined) return []
  const end = Math.min(before, audit.last + 1)
  const from = Math.max(end - limit, 1)
  return [...audit.read(from, end - from)].reverse().map(auditToJson)
}
