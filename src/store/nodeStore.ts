/**
 * The node store: data of this installation, not of a chain. Owns its tables, their encoding and its schema version;
 * `access/` owns the meaning of keys. Several processes may have the store open, so every write is one transaction
 * that decides by what it reads within it.
 *
 *   table     key → value (msgpack)
 *   meta      'kind' → 'tidegate-node'
 *             'schema' → number
 *             'keyGeneration' → number, raised by every write to `keys`
 *             'keyChanges' → [the generation that it was written with, first bytes of the digests of the keys that were
 *             written last, the newest at the end]
 *             'pepperMark' → 32 bytes by which a foreign pepper is recognised
 *             'rollupChain:NETWORK' → chain id of the transactions that are kept for a network
 *   keyNames  name (UTF-8) of a key that is not revoked → digest
 *
 * The rows of keys are in `keyRows.ts`; tables that share the environment are those of submitted transactions
 * (`submissions.ts`), of usage (`usage.ts`) and the audit log (`audit.ts`).
 */
import { dirname } from 'node:path'
import type { RootDatabase } from 'lmdb'
import { OperatorError } from '../primitives/faults.js'
import { isThere } from '../primitives/isThere.js'
import { makeFolder } from '../primitives/makeFolder.js'
import { AuditLog, type AuditNote, noteOfKey } from './audit.js'
import {
  closeEnvironment,
  commitSync,
  countReaders,
  openEnvironment,
  openTable,
  type StoreError,
  type Table,
} from './environment.js'
import { GroupCommit } from './groupCommit.js'
import {
  decodeKey,
  decodeQuota,
  encodeKey,
  encodeQuota,
  type KeyChanged,
  type KeyRow,
  packr,
  type SpentQuota,
} from './keyRows.js'
import { assertTables, foreign, tableNames } from './nodeTables.js'
import { openSubmissionTables, Submissions } from './submissions.js'
import { openUsageTables, UsageStore } from './usage.js'

/**
 * Raised whenever a stored layout changes. Version 2 added the tables of submissions, version 3 the details of keys:
 * an older program would overlook what a key may not do. Stores of earlier versions are upgraded.
 */
export const nodeSchemaVersion = 3

const storeKind = 'tidegate-node'

/** Result of {@link NodeStore.writeKey}. */
export type KeyWritten = 'written' | 'nameTaken' | 'digestPrefixTaken' | 'notFirst'

export interface NodeStoreOptions {
  readonly path: string
  readonly readOnly?: boolean
  readonly mapBytes?: number
  /** Called when submissions could not be stored; see {@link GroupCommit}. */
  readonly onFailure?: (failure: StoreError) => void
}

/** Keys changed since a generation; `prefixes` is undefined where they are too many to be known. */
export interface KeyChanges {
  readonly generation: number
  readonly prefixes: readonly Uint8Array[] | undefined
}

/** Changes kept: more than can happen, at one flush each, between two checks of a process. They take 6 KB. */
const keyChangesMax = 1_000

/** Bytes of a digest that identify a key; no two keys share them. */
export const digestPrefixBytes = 6

export class NodeStore {
  readonly #environment: RootDatabase
  readonly #isReadOnly: boolean
  readonly #meta: Table
  readonly #keys: Table
  readonly #keyNames: Table
  /** Undefined in a store of an earlier schema that is only read. */
  readonly #keySecrets: Table | undefined
  readonly #quotas: Table | undefined
  readonly #commits: GroupCommit

  private constructor(
    readonly path: string,
    environment: RootDatabase,
    isReadOnly: boolean,
    meta: Table,
    keys: Table,
    keyNames: Table,
    keySecrets: Table | undefined,
    quotas: Table | undefined,
    /** Undefined in a store that is only read and has none yet. */
    readonly audit: AuditLog | undefined,
    commits: GroupCommit,
  ) {
    this.#environment = environment
    this.#isReadOnly = isReadOnly
    this.#meta = meta
    this.#keys = keys
    this.#keyNames = keyNames
    this.#keySecrets = keySecrets
    this.#quotas = quotas
    this.#commits = commits
  }

  /**
   * Opens the store, and makes it unless `readOnly`. Throws OperatorError where it is missing, is of another kind, or
   * was written by a newer version of Tidegate.
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
      const meta = openTable(environment, tableNames.meta)
      const keys = openTable(environment, tableNames.keys)
      const keyNames = openTable(environment, tableNames.keyNames)
      if (!meta || !keys || !keyNames) throw foreign(path)
      const store = new NodeStore(
        path,
        environment,
        readOnly,
        meta,
        keys,
        keyNames,
        openTable(environment, tableNames.keySecrets),
        openTable(environment, tableNames.quotas),
        AuditLog.open(environment, meta),
        new GroupCommit(environment, path, onFailure),
      )
      store.#assertSchema(readOnly)
      return store
    } catch (error) {
      void environment.close()
      throw error
    }
  }

  /** A number that differs after every change of keys, by any process. One read, about 3 µs. */
  readKeyGeneration(): number {
    this.#renewReads()
    return this.#readMeta<number>('keyGeneration') ?? 0
  }

  /** Keys changed after a generation. As fast as {@link readKeyGeneration} where there are none. */
  readKeyChanges(since: number): KeyChanges {
    const generation = this.readKeyGeneration()
    if (generation === since) return { generation, prefixes: [] }
    const [last, prefixes] = this.#readMeta<[number, Uint8Array]>('keyChanges') ?? [0, new Uint8Array(0)]
    const count = generation - since
    const isKnown = last === generation && count > 0 && count * digestPrefixBytes <= prefixes.length
    if (!isKnown) return { generation, prefixes: undefined }
    const start = prefixes.length - count * digestPrefixBytes
    return {
      generation,
      prefixes: Array.from({ length: count }, (_, index) => {
        const at = start + index * digestPrefixBytes
        return prefixes.slice(at, at + digestPrefixBytes)
      }),
    }
  }

  /**
   * The key one of whose secrets has or had this digest; sees the latest writes of all processes. Its details say
   * whether that secret is still valid.
   */
  readKey(digest: Uint8Array): KeyRow | undefined {
    this.#renewReads()
    const first = this.#keySecrets?.get(digest) ?? digest
    const value = this.#keys.get(first)
    return value && decodeKey(first, value)
  }

  /** The key whose first digest begins with `prefix` of {@link digestPrefixBytes}. */
  readKeyByPrefix(prefix: Uint8Array): KeyRow | undefined {
    this.#renewReads()
    return this.#findByPrefix(prefix)
  }

  /** The key that has this name and is not revoked. */
  readKeyByName(name: string): KeyRow | undefined {
    this.#renewReads()
    const digest = this.#keyNames.get(nameToKey(name))
    const value = digest && this.#keys.get(digest)
    return value && decodeKey(digest, value)
  }

  /** All keys, revoked ones too, oldest first. */
  readKeys(): KeyRow[] {
    this.#renewReads()
    const rows = [...this.#keys.getRange()].map(({ key, value }) => decodeKey(key, value))
    return rows.sort((a, b) => a.createdAtMs - b.createdAtMs || Buffer.compare(a.digest, b.digest))
  }

  hasKeys(): boolean {
    this.#renewReads()
    return this.#keys.getKeysCount({ limit: 1 }) > 0
  }

  /**
   * Adds a key. It is on disk when this returns 'written'; otherwise nothing was changed, because a live key has its
   * name, another key has the first bytes of its digest, or (with `onlyFirst`) a key exists already.
   */
  writeKey(row: KeyRow, { onlyFirst = false } = {}): KeyWritten {
    return commitSync(this.#environment, this.path, () => {
      if (onlyFirst && this.#keys.getKeysCount({ limit: 1 }) > 0) return 'notFirst'
      if (this.#keyNames.get(nameToKey(row.name))) return 'nameTaken'
      if (this.#findByPrefix(row.digest.subarray(0, digestPrefixBytes))) return 'digestPrefixTaken'
      this.#keys.putSync(row.digest, encodeKey(row))
      this.#keyNames.putSync(nameToKey(row.name), row.digest)
      this.#noteChange(undefined, row)
      return 'written'
    })
  }

  /**
   * Replaces a key by what `change` makes of it, in one transaction, and returns both; undefined where no key has this
   * digest. `change` returns its argument to change nothing, and may throw. A revoked key gives its name away; a
   * secret that is added leads to the key for good. On disk when this returns, unless 'nameTaken': then nothing was
   * changed, because another key that is not revoked has the new name.
   */
  changeKey(digest: Uint8Array, change: (row: KeyRow) => KeyRow): KeyChanged | 'nameTaken' | undefined {
    return commitSync(this.#environment, this.path, () => {
      const value = this.#keys.get(digest)
      if (!value) return undefined
      const before = decodeKey(digest, value)
      const after = change(before)
      if (after === before) return { before, after }
      if (after.name !== before.name && this.#keyNames.get(nameToKey(after.name))) return 'nameTaken'
      if (before.revokedAtMs === undefined) this.#keyNames.removeSync(nameToKey(before.name))
      if (after.revokedAtMs === undefined) this.#keyNames.putSync(nameToKey(after.name), digest)
      for (const secret of after.details?.secrets ?? []) {
        if (Buffer.compare(secret.digest, digest) !== 0) this.#keySecrets?.putSync(secret.digest, digest)
      }
      this.#keys.putSync(digest, encodeKey(after))
      this.#noteChange(before, after)
      return { before, after }
    })
  }

  /** What keys with a daily quota had spent when it was last written. */
  readQuotas(): SpentQuota[] {
    this.#renewReads()
    return [...(this.#quotas?.getRange() ?? [])].map(({ key, value }) => decodeQuota(key, value))
  }

  /** Replaces rows of {@link readQuotas}; on disk when this returns. */
  writeQuotas(rows: readonly SpentQuota[]): void {
    commitSync(this.#environment, this.path, () => {
      for (const row of rows) this.#quotas?.putSync(Buffer.from(row.id, 'hex'), encodeQuota(row))
    })
  }

  readPepperMark(): Uint8Array | undefined {
    this.#renewReads()
    return this.#readMeta<Uint8Array>('pepperMark')
  }

  /** Binds the store to a pepper; on disk when this returns. */
  writePepperMark(mark: Uint8Array): void {
    commitSync(this.#environment, this.path, () => this.#putMeta('pepperMark', mark))
  }

  /**
   * The transactions submitted to a network with chain id `chainId`. Throws OperatorError where the store has those
   * of another chain under its name. With a read-only store, another thread must have opened them for writing before.
   */
  openSubmissions(network: string, chainId: string): Submissions {
    const mark = `rollupChain:${network}`
    const tables = this.#isReadOnly
      ? openSubmissionTables(this.#environment)
      : commitSync(this.#environment, this.path, () => {
          if (this.#readMeta(mark) === undefined) this.#putMeta(mark, chainId)
          return openSubmissionTables(this.#environment)
        })
    const known = this.#readMeta<string>(mark)
    if (known !== chainId) {
      throw new OperatorError(
        `the store ${this.path} keeps transactions of chain ${known} for network ${network}, whose chain id is ${chainId} now; correct the chain id, or give the network another name`,
      )
    }
    return new Submissions(network, this.#environment, tables, this.#commits)
  }

  /** Adds an entry to the audit log; on disk when this resolves. Rejects with the fault NotStored where it is not. */
  note(note: AuditNote): Promise<void> {
    return this.#commits.run(() => this.audit?.append(note))
  }

  /** What keys used; undefined in a store that is only read and has none yet. */
  openUsage(): UsageStore | undefined {
    const open = () => openUsageTables(this.#environment)
    const tables = this.#isReadOnly ? open() : commitSync(this.#environment, this.path, open)
    return tables && new UsageStore(this.#environment, tables, this.#commits)
  }

  /** See {@link countReaders}. */
  get readers(): number {
    return countReaders(this.#environment)
  }

  /** Groups of submissions and of usage that are on disk, and the time that writing and flushing them took. */
  get commits(): { readonly count: number; readonly seconds: number } {
    return this.#commits.done
  }

  /** Whether the last attempt to store submissions or usage succeeded. */
  get isStoring(): boolean {
    return this.#commits.isStoring
  }

  async close(): Promise<void> {
    await this.#commits.idle()
    await closeEnvironment(this.#environment)
  }

  #assertSchema(readOnly: boolean): void {
    if (!readOnly && this.#readMeta('kind') === undefined) {
      commitSync(this.#environment, this.path, () => {
        // Another process may have made the store in the meantime.
        if (this.#readMeta('kind') !== undefined) return
        this.#putMeta('kind', storeKind)
        this.#putMeta('schema', nodeSchemaVersion)
        this.#putMeta('keyGeneration', 0)
      })
    }
    if (this.#readMeta('kind') !== storeKind) throw foreign(this.path)
    const version = this.#readMeta<number>('schema')
    if (version === nodeSchemaVersion) return
    if (version !== undefined && version < nodeSchemaVersion) {
      if (readOnly) return
      return commitSync(this.#environment, this.path, () => this.#putMeta('schema', nodeSchemaVersion))
    }
    throw new OperatorError(
      `the node store ${this.path} has schema ${version} and this Tidegate reads ${nodeSchemaVersion}; run the version that wrote it`,
    )
  }

  #findByPrefix(prefix: Uint8Array): KeyRow | undefined {
    for (const { key, value } of this.#keys.getRange({ start: prefix, limit: 1 })) {
      if (Buffer.compare(key.subarray(0, prefix.length), prefix) === 0) return decodeKey(key, value)
    }
    return undefined
  }

  #noteChange(before: KeyRow | undefined, after: KeyRow): void {
    const id = Buffer.from(after.digest.subarray(0, digestPrefixBytes)).toString('hex')
    this.audit?.append(noteOfKey(before, after, id))
    this.#raiseGeneration(after.digest)
  }

  #raiseGeneration(changed: Uint8Array): void {
    const before = this.#readMeta<number>('keyGeneration') ?? 0
    const [last, prefixes] = this.#readMeta<[number, Uint8Array]>('keyChanges') ?? [0, new Uint8Array(0)]
    // A version without `keyChanges` may have raised the generation.
    const kept = last === before ? prefixes.subarray(-(keyChangesMax - 1) * digestPrefixBytes) : []
    this.#putMeta('keyGeneration', before + 1)
    this.#putMeta('keyChanges', [
      before + 1,
      Buffer.from([...kept, ...changed.subarray(0, digestPrefixBytes)]),
    ])
  }

  #readMeta<T>(name: string): T | undefined {
    const value = this.#meta.get(nameToKey(name))
    return value && (packr.unpack(value) as T)
  }

  #putMeta(name: string, value: unknown): void {
    this.#meta.putSync(nameToKey(name), packr.pack(value))
  }

  /** Ends the read transaction of this turn of the event loop, which may be older than a write of another process. */
  #renewReads(): void {
    this.#environment.resetReadTxn()
  }
}

function nameToKey(name: string): Uint8Array {
  return Buffer.from(name, 'utf8')
}
