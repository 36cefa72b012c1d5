/** Copies keys of a data folder into the database that several processes share. */

import { encodeKey, type KeyRow } from '../../data/store/node/keyRows.js'
import { digestPrefixBytes, keyIdOf } from '../../data/store/node/keyTables.js'
import type { NodeStore } from '../../data/store/node/nodeStore.js'
import { latin1Key } from '../../primitives/bytes.js'
import { OperatorError } from '../../primitives/faults.js'
import { findKey } from '../../serving/access/keyChanges.js'
import type { Decision, LoggedChange, SharedKeys } from './sharedKeys.js'

export interface Sharing {
  readonly added: readonly KeyRow[]
  /** Keys that were shared already, with the same content. */
  readonly there: readonly KeyRow[]
}

/**
 * Adds keys of `from` unchanged, with one entry in the audit log for each: all or none. `chosen` has names or ids; if
 * empty, all keys are added. The caller ensures that both have the same pepper. Rejects with OperatorError if one is
 * shared with other content, or if another shared key has its name.
 */
export function shareKeys(
  keys: SharedKeys,
  from: NodeStore,
  chosen: readonly string[],
  actor: string,
): Promise<Sharing> {
  const ids = new Set(chosen.map((nameOrId) => findKey(from, nameOrId).id))
  const rows = from.readKeys().filter((row) => ids.size === 0 || ids.has(keyIdOf(row)))
  return keys.write(() => decide(rows, from, keys.store, actor))
}

function decide(rows: readonly KeyRow[], from: NodeStore, to: NodeStore, actor: string): Decision<Sharing> {
  const added: KeyRow[] = []
  const there: KeyRow[] = []
  const different: KeyRow[] = []
  const namesakes: KeyRow[] = []
  for (const row of rows) {
    const known = to.readKeyByPrefix(row.digest.subarray(0, digestPrefixBytes))
    if (known !== undefined) (isSame(row, known) ? there : different).push(row)
    else if (row.revokedAtMs === undefined && to.readKeyByName(row.name)) namesakes.push(row)
    else added.push(row)
  }
  const advice = 'Nothing was changed. To share others, name them: tidegate keys share KEY...'
  if (different.length > 0) {
    throw new OperatorError(
      `these keys are shared already, but differ from the shared ones: ${list(different)}. ${advice}`,
    )
  }
  if (namesakes.length > 0) {
    throw new OperatorError(
      `other shared keys have the names of these: ${list(namesakes)}. Rename the shared ones ` +
        `(tidegate keys set NAME --name OTHER), or revoke them. ${advice}`,
    )
  }
  return { result: { added, there }, changes: changesOf(added, from, actor) }
}

function changesOf(rows: readonly KeyRow[], from: NodeStore, actor: string): LoggedChange[] {
  const secretsOf = new Map<string, Uint8Array[]>()
  for (const { digest, first } of from.readLaterSecrets()) {
    const known = secretsOf.get(latin1Key(first)) ?? []
    secretsOf.set(latin1Key(first), known)
    known.push(digest)
  }
  const atMs = Date.now()
  return rows.map((row) => ({
    note: { atMs, actor, action: 'key shared', keyId: keyIdOf(row), detail: '' },
    key: { row, secrets: secretsOf.get(latin1Key(row.digest)) ?? [] },
  }))
}

function isSame(a: KeyRow, b: KeyRow): boolean {
  return Buffer.compare(a.digest, b.digest) === 0 && Buffer.compare(encodeKey(a), encodeKey(b)) === 0
}

/** Keys listed in one message. */
const namedMax = 10

function list(rows: readonly KeyRow[]): string {
  const named = rows.slice(0, namedMax).map((row) => `${keyIdOf(row)} (${row.name})`)
  return [...named, ...(rows.length > namedMax ? [`${rows.length - namedMax} more`] : [])].join(', ')
}
