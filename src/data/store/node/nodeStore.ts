/**
 * The node store: data of this installation, not of a chain. Owns its tables, their encoding and its schema version;
 * `access/` owns the meaning of keys. Several processes may have the store open. So every write is one transaction,
 * which reads within itself all that it depends on.
 *
 *   table     key → value (msgpack)
 *   meta      'kind' → 'tidegate-node'
 *             'schema' → number
 *             'keyGeneration' → number; every write to `keys` raises it
 *             'keyChanges' → [generation of this write, first bytes of the digests of the keys written last, the newest
 *             at the end]
 *             'pepperMark' → 32 bytes that reveal a foreign pepper
 *             'copied' → [sequence number, atMs], only in a copy of shared keys: the newest change that it has, and the
 *             last time when it had all changes
 *             'rollupChain:NETWORK' → chain id of the transactions that are kept for a network
 *   keyNames  name (UTF-8) of a key that is not revoked → digest
 *
 * The layout of key rows is in `keyRows.ts`, their operations are in `keyTables.ts`. Three other groups of tables share
 * the environment: submitted transactions (`submissions.ts`), usage (`usage.ts`) and the audit log (`audit.ts`).
 */
import { chmodSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { RootDatabase } from 'lmdb'
import { OperatorError } from '../../../primitives/faults.js'
import { isThere, makeFolder } from '../../../primitives/files.js'
import {
  closeEnvironment,
  commitSync,
  countReaders,
  openEnvironment,
  openTable,
  type StoreError,
  type Table,
} from '../lmdb/environment.js'
import { GroupCommit } from '../lmdb/groupCommit.js'
import { AuditLog, type AuditNote, auditTableNames } from './audit.js'
import { decodeQuota, encodeQuota, type SpentQuota } from './keyRows.js'
import { type KeyTableSet, KeyTables } from './keyTables.js'
import { openSubmissionTables, Submissions, submissionTableNames } from './submissions.js'
import { openUsageTables, UsageStore, usageTableNames } from './usage.js'

/** Names are never reused for another layout. */
const tableNames = {
  meta: 'meta',
  keys: 'keys',
  keyNames: 'keyNames',
  keySecrets: 'keySecrets',
  quotas: 'keyQuotas',
} as const

/** Throws OperatorError if the environment has unknown tables. Call it before any table is made in it. */
function assertTables(environment: RootDatabase, path: string): void {
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

function foreign(path: string): OperatorError {
  return new OperatorError(`${path} is not a node store of Tidegate; check --data, or move that file away`)
}

/**
 * Version of the stored layouts, raised whenever one changes. Stores of other layouts are refused: none was ever
 * published.
 */
export const nodeSchemaVersion = 4

const storeKind = 'tidegate-node'

export interface NodeStoreOptions {
  readonly path: string
  readonly readOnly?: boolean
  readonly mapBytes?: number
  /** Called when submissions could not be stored; see {@link GroupCommit}. */
  readonly onFailure?: (failure: StoreError) => void
}

/** LMDB makes files that every user of the machine may read. A file of another user keeps its mode. */
function hideFromOthers(path: string): void {
  if ((statSync(path).mode & 0o077) === 0) return
  try {
    chmodSync(path, 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

export class NodeStore extends KeyTables {
  readonly #isReadOnly: boolean
  readonly #quotas: Table
  readonly #commits: GroupCommit

  private constructor(
    path: string,
    environment: RootDatabase,
    isReadOnly: boolean,
    tables: KeyTableSet,
    quotas: Table,
    commits: GroupCommit,
  ) {
    super(path, environment, tables, AuditLog.open(environment, tables.meta))
    this.#isReadOnly = isReadOnly
    this.#quotas = quotas
    this.#commits = commits
  }

  /**
   * Opens the store, and makes it unless `readOnly`. Throws OperatorError if it is missing, is of another kind, or was
   * written by a newer version of Tidegate.
   */
  static open({
    path,
    readOnly = false,
    mapBytes,
    onFailure = () => undefined,
  }: NodeStoreOptions): NodeStore {
    if (readOnly && !isThere(path)) {
      throw new OperatorError(`there is no node store at ${path}; check --data`)
    }
    if (!readOnly) makeFolder(dirname(path), 0o700)
    const environment = openEnvironment({ path, readOnly, ...(mapBytes !== undefined && { mapBytes }) })
    try {
      assertTables(environment, path)
      if (!readOnly) hideFromOthers(path)
      const meta = openTable(environment, tableNames.meta)
      const keys = openTable(environment, tableNames.keys)
      const keyNames = openTable(environment, tableNames.keyNames)
      const keySecrets = openTable(environment, tableNames.keySecrets)
      const quotas = openTable(environment, tableNames.quotas)
      if (!meta || !keys || !keyNames || !keySecrets || !quotas) throw foreign(path)
      const store = new NodeStore(
        path,
        environment,
        readOnly,
        { meta, keys, keyNames, keySecrets },
        quotas,
        new GroupCommit(environment, path, onFailure),
      )
      store.#assertSchema(readOnly)
      return store
    } catch (error) {
      void environment.close()
      throw error
    }
  }

  /** Stored spending of keys with a daily quota. */
  readQuotas(): SpentQuota[] {
    this.renewReads()
    return [...this.#quotas.getRange({})].map(({ key, value }) => decodeQuota(key, value))
  }

  /**
   * Replaces rows of {@link readQuotas}; they are on disk when this resolves. Rejects with the fault NotStored on
   * failure.
   */
  writeQuotas(rows: readonly SpentQuota[]): Promise<void> {
    return this.#commits.run(() => {
      for (const row of rows) this.#quotas.putSync(Buffer.from(row.id, 'hex'), encodeQuota(row))
    })
  }

  /**
   * Opens the transactions submitted to a network with chain id `chainId`. Throws OperatorError if the store has
   * transactions of another chain under this name. For a read-only store, another thread must have opened them for
   * writing before.
   */
  openSubmissions(network: string, chainId: string): Submissions {
    const chainIdKey = `rollupChain:${network}`
    const tables = openSubmissionTables(this.environment)
    if (!this.#isReadOnly && this.readMeta(chainIdKey) === undefined) {
      commitSync(this.environment, this.path, () => {
        // Another process may have made it in the meantime.
        if (this.readMeta(chainIdKey) === undefined) this.putMeta(chainIdKey, chainId)
      })
    }
    const known = this.readMeta<string>(chainIdKey)
    if (known !== chainId) {
      throw new OperatorError(
        `the store ${this.path} keeps transactions of chain ${known} for network ${network}, whose chain id is ${chainId} now; correct the chain id, or give the network another name`,
      )
    }
    return new Submissions(network, this.environment, tables, this.#commits)
  }

  /** Adds an entry to the audit log; it is on disk when this resolves. Rejects with the fault NotStored on failure. */
  note(note: AuditNote): Promise<void> {
    return this.#commits.run(() => this.audit?.append(note))
  }

  /** Usage of keys; undefined in a read-only store that has none yet. */
  openUsage(): UsageStore | undefined {
    const tables = openUsageTables(this.environment)
    return tables && new UsageStore(this.environment, tables, this.#commits)
  }

  get readers(): number {
    return countReaders(this.environment)
  }

  /** Number of commits of submissions, usage and quotas that are on disk, and the time to write and flush them. */
  get commits(): { readonly count: number; readonly seconds: number } {
    return this.#commits.done
  }

  /** Whether the last attempt to store submissions, usage or quotas succeeded. */
  get isStoring(): boolean {
    return this.#commits.isStoring
  }

  async close(): Promise<void> {
    await this.#commits.idle()
    await closeEnvironment(this.environment)
  }

  #assertSchema(readOnly: boolean): void {
    if (!readOnly && this.readMeta('kind') === undefined) {
      commitSync(this.environment, this.path, () => {
        // Another process may have made the store in the meantime.
        if (this.readMeta('kind') !== undefined) return
        this.putMeta('kind', storeKind)
        this.putMeta('schema', nodeSchemaVersion)
        this.putMeta('keyGeneration', 0)
      })
    }
    if (this.readMeta('kind') !== storeKind) throw foreign(this.path)
    const version = this.readMeta<number>('schema')
    if (version === nodeSchemaVersion) return
    throw new OperatorError(
      `the node store ${this.path} has schema ${version} and this Tidegate reads ${nodeSchemaVersion}; run the version that wrote it`,
    )
  }
}
