/**
 * The place of keys and the audit log: the node store, or a database that several processes share (`shared/`). Both are
 * one {@link KeyRepository}; `keyChanges.ts` defines each change, the same for both.
 */

import { StoreError } from '../../data/store/lmdb/environment.js'
import type { AuditNote } from '../../data/store/node/audit.js'
import type { NodeStore } from '../../data/store/node/nodeStore.js'
import { OperatorError } from '../../primitives/faults.js'

/** Access of a change to keys. See `store/keyTables.ts`. */
export type KeyStore = Pick<
  NodeStore,
  'readKeys' | 'readKeyByPrefix' | 'readKeyByName' | 'writeKey' | 'changeKey'
>

export interface KeyRepository {
  /** Keys and the audit log, for reading; with shared keys, the copy of this process. */
  readonly store: NodeStore
  /**
   * Makes one change, with its entry in the audit log: durable once this resolves. Calls `work` again if another
   * process made a change first. Rejects with the exception of `work`, and with {@link KeysUnreachable}.
   */
  change<T>(work: (keys: KeyStore) => T): Promise<T>
  /** Adds an entry to the audit log; durable once this resolves. */
  note(note: AuditNote): Promise<void>
  close(): Promise<void>
}

/** The database of the keys does not answer, or the disk of the keys is full. */
export class KeysUnreachable extends OperatorError {}

/** The keys of a node store, which it does not close. */
export function embeddedKeyRepository(store: NodeStore): KeyRepository {
  return {
    store,
    async change(work) {
      try {
        return work(store)
      } catch (error) {
        throw error instanceof StoreError ? new KeysUnreachable(error.message) : error
      }
    },
    note: (note) => store.note(note),
    close: async () => undefined,
  }
}
