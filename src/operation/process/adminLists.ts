/** Lists of the admin API: the newest blocks of a network, submissions that wait, units that keys used. */

import type { AuditEntry, AuditLog } from '../../data/store/node/audit.js'
import { hourMs } from '../../data/store/node/usage.js'
import { bytesToHex } from '../../primitives/bytes.js'
import { UsageError } from '../../primitives/faults.js'
import { NotStoredError } from '../../primitives/notStored.js'
import type { UsageLedger } from '../../serving/access/usageLedger.js'
import { UsageReport } from '../../serving/access/usageReport.js'
import type { AuditQuery, LastBlock, Submissions, Usage, UsageQuery } from '../admin/shapes.js'
import type { Config } from '../config/config.js'
import type { OpenNetwork } from '../edge/openNetwork.js'
import { isoTime } from './liveState.js'
import type { OpenRollup } from './openRollup.js'

/** Number of blocks that a person reads without searching. */
const blocksMax = 10
const submissionsMax = 50

/** Newest first; of a gateway, only stored blocks. Throws UsageError if no network with blocks has this name. */
export function readLastBlocks(networks: readonly OpenNetwork[], name: string): LastBlock[] {
  const network = networks.find((candidate) => candidate.name === name)
  if (network === undefined) throw new UsageError(`there is no network "${name}" with blocks`)
  if (network.opening !== undefined) return []
  const { chain, head } = network.current
  const blocks: LastBlock[] = []
  let { hash } = head
  while (blocks.length < blocksMax) {
    const header = ifStored(() => chain.readHeader(hash))
    if (header === undefined) break
    blocks.push({
      number: header.number,
      hash: bytesToHex(hash),
      timestamp: isoTime(Number(header.timestamp) * 1_000),
      transactions:
        header.number < chain.oldest.bodies
          ? null
          : (ifStored(() => chain.readBlock(hash))?.transactionCount ?? null),
      gasUsed: Number(header.gasUsed),
      gasLimit: Number(header.gasLimit),
    })
    if (header.number <= chain.firstNumber) break
    hash = header.parentHash
  }
  return blocks
}

/** Returns the result of `read`; undefined if the data would have to be fetched first. */
function ifStored<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof NotStoredError) return undefined
    throw error
  }
}

/** Throws UsageError if no rollup has this name. */
export async function readSubmissions(
  { rollups }: Config,
  open: readonly OpenRollup[],
  name: string,
): Promise<Submissions> {
  const queue = open.find((candidate) => candidate.name === name)?.queue
  const prefix = rollups.find((candidate) => candidate.name === name)?.prefix
  if (queue === undefined || prefix === undefined) throw new UsageError(`there is no rollup "${name}"`)
  const rows = await queue.readWaiting(submissionsMax)
  return {
    prefix,
    waiting: rows.map(({ hash, state, sender, nonce, receivedAtMs, bodyBytes: bytes }) => ({
      hash,
      state: state === 'SENT' ? state : 'RECEIVED',
      sender,
      nonce,
      receivedAt: isoTime(receivedAtMs),
      bytes,
    })),
  }
}

/** Rows of one answer: some megabytes. */
const usageRowsMax = 10_000

export async function readUsage(ledger: UsageLedger, query: UsageQuery): Promise<Usage> {
  const report = new UsageReport(query, Date.now(), usageRowsMax)
  await ledger.read(report.from, report.to, query.key, (cells) => report.add(cells))
  const toIso = (hour: number) => new Date(hour * hourMs).toISOString()
  return { from: toIso(report.from), to: toIso(report.to), rows: report.rows() }
}

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
