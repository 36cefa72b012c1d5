/**
 * Transactions submitted to a rollup network, in the node store: rows and indexes. Owns the tables and their
 * encoding; `rollup/` owns the states of a transaction.
 *
 *   table               key → value
 *   submissions         network ‖ 0 ‖ id → msgpack [state, sender, nonce, receivedAtMs, changedAtMs, bodyBytes,
 *                       code or null, text or null]
 *   submissionBodies    network ‖ 0 ‖ id → the transaction, JSON
 *   submissionLanes     network ‖ 0 ‖ key (6 bytes) ‖ sender (32 bytes) ‖ nonce (32 bytes) ‖ receivedAtMs (8 bytes)
 *                       ‖ id → nothing. Of unsettled ones alone.
 *   submissionsSettled  network ‖ 0 ‖ changedAtMs (8 bytes) ‖ id → nothing. Of settled ones alone.
 *   submissionRecords   network ‖ 0 ‖ key (6 bytes) ‖ changedAtMs (8 bytes) ‖ id → nothing. Of settled ones alone.
 *
 * `network` is its name, which contains no zero byte. `id` is hash (32 bytes) ‖ key (6 bytes) ‖ digest (16 bytes).
 */
import type { RootDatabase } from 'lmdb'
import { Packr } from 'msgpackr'
import {
  bytesToHex,
  bytesToQuantity,
  concatBytes,
  type Hex,
  hexToBytes,
  joinBytes,
} from '../../../primitives/bytes.js'
import { openTable, type Table } from '../lmdb/environment.js'
import type { GroupCommit } from '../lmdb/groupCommit.js'
import { numberKey } from '../tables.js'

/** Names are never reused for another layout. */
export const submissionTableNames = {
  rows: 'submissions',
  bodies: 'submissionBodies',
  lanes: 'submissionLanes',
  settled: 'submissionsSettled',
  records: 'submissionRecords',
} as const

export type SubmissionTables = {
  readonly [name in keyof typeof submissionTableNames]: Table
}

/** The key id of callers if no keys are required. */
export const nobody = '000000000000'

/**
 * Limit of the rows of other keys with one hash that a reader gets: one row each of 64 keys, or eight each of eight.
 */
export const othersMax = 64

/** States, stored as their index. Add new ones at the end. */
const states = ['RECEIVED', 'SENT', 'ACCEPTED', 'REJECTED'] as const

/**
 * - `RECEIVED`: on disk, and not yet sent to the sequencer.
 * - `SENT`: the sequencer may have it.
 * - `ACCEPTED`, `REJECTED`: settled by the sequencer's verdict, or rejected here.
 */
export type SubmissionState = (typeof states)[number]

/** Why a transaction was rejected. */
export interface Rejection {
  /** Code on the wire; undefined if it was rejected here. */
  readonly code: number | undefined
  readonly text: string | undefined
}

/** Identifies a submission. The hash alone does not, because it covers no signature. */
export interface SubmissionId {
  /** A felt as a hex quantity. */
  readonly hash: Hex
  /** Id of the API key that submitted it, 12 hex digits. */
  readonly key: string
  /** The first 16 bytes of the SHA-256 of the transaction, signature included, in hex. */
  readonly digest: string
}

/** The transactions of one sender that one key submitted. */
export interface Lane {
  readonly key: string
  readonly sender: Hex
}

/** Position of a transaction in its lane. */
export interface Place extends Lane {
  readonly nonce: Hex
}

/** Felts are hex quantities. */
export interface SubmissionRow extends SubmissionId {
  readonly state: SubmissionState
  readonly sender: Hex
  readonly nonce: Hex
  readonly receivedAtMs: number
  /** Time of the last change of its state. */
  readonly changedAtMs: number
  readonly bodyBytes: number
  /** Set with `REJECTED`. */
  readonly rejection: Rejection | undefined
}

/** Opens the tables, and makes missing ones. */
export function openSubmissionTables(environment: RootDatabase): SubmissionTables {
  const open = (name: string): Table => {
    const table = openTable(environment, name)
    if (table === undefined) throw new Error(`the table ${name} was not made`)
    return table
  }
  const { rows, bodies, lanes, settled, records } = submissionTableNames
  return {
    rows: open(rows),
    bodies: open(bodies),
    lanes: open(lanes),
    settled: open(settled),
    records: open(records),
  }
}

/** One network's submissions. Reads see committed rows; inside {@link write} also its earlier writes. */
export class Submissions {
  readonly #environment: RootDatabase
  readonly #tables: SubmissionTables
  readonly #commits: GroupCommit
  readonly #prefix: Uint8Array
  #isWriting = false

  constructor(network: string, environment: RootDatabase, tables: SubmissionTables, commits: GroupCommit) {
    this.#prefix = Buffer.from(`${network}\0`, 'utf8')
    this.#environment = environment
    this.#tables = tables
    this.#commits = commits
  }

  /** See {@link GroupCommit.run}. Call `put` and `remove` only within `work`. */
  write<T>(work: () => T): Promise<T> {
    return this.#commits.run(() => {
      this.#isWriting = true
      try {
        return work()
      } finally {
        this.#isWriting = false
      }
    })
  }

  /** The rows of a hash that `key` submitted. If it has none, at most {@link othersMax} rows of other keys. */
  readRows(hash: Hex, key: string): SubmissionRow[] {
    const own = this.readOwn(hash, key)
    return own.length > 0 ? own : this.#readRange(quantityToWord(hash), othersMax)
  }

  /** Rows of a hash that `key` submitted. */
  readOwn(hash: Hex, key: string): SubmissionRow[] {
    const word = quantityToWord(hash)
    return this.#readRange(concatBytes(word, Buffer.from(key, 'hex')))
  }

  readRow(id: SubmissionId): SubmissionRow | undefined {
    this.#renewReads()
    const value = this.#tables.rows.get(this.#key(encodeId(id)))
    return value && decodeRow(id, value)
  }

  /** The transaction as it was stored, JSON. */
  readBody(id: SubmissionId): Uint8Array | undefined {
    this.#renewReads()
    return this.#tables.bodies.get(this.#key(encodeId(id)))
  }

  /** The unsettled rows with this sender and nonce, in the order of their arrival. */
  readAt({ key, sender, nonce }: Place): SubmissionRow[] {
    return this.#readLane(concatBytes(laneKey({ key, sender }), quantityToWord(nonce)))
  }

  /** The unsettled row of a lane with the lowest nonce; of several the one that arrived first. */
  readFirst(lane: Lane): SubmissionRow | undefined {
    return this.#readLane(laneKey(lane), 1)[0]
  }

  /** All unsettled rows, oldest first. */
  readUnsettled(): SubmissionRow[] {
    return this.#readLane(new Uint8Array(0)).sort((a, b) => a.receivedAtMs - b.receivedAtMs)
  }

  /** Number of settled rows by key. Walks over the keys. */
  countSettled(): Map<string, number> {
    this.#renewReads()
    const counts = new Map<string, number>()
    const end = afterAll(this.#prefix)
    let start = this.#prefix
    for (;;) {
      const [first] = this.#tables.records.getKeys({ start, end, limit: 1 })
      if (first === undefined) return counts
      const key = first.subarray(this.#prefix.length, this.#prefix.length + keyBytes)
      const ofKey = this.#key(key)
      counts.set(hexOf(key), this.#tables.records.getKeysCount({ start: ofKey, end: afterAll(ofKey) }))
      start = afterAll(ofKey)
    }
  }

  /** Rows that were settled before a time, oldest first. */
  readSettledBefore(timeMs: number, limit: number): SubmissionRow[] {
    this.#renewReads()
    const range = { start: this.#key(new Uint8Array(8)), end: this.#key(numberKey(timeMs)), limit }
    return this.#rowsOf([...this.#tables.settled.getKeys(range)], 8)
  }

  /** The rows of a key that were settled first, oldest first. */
  readOldestRecords(key: string, limit: number): SubmissionRow[] {
    this.#renewReads()
    const start = this.#key(Buffer.from(key, 'hex'))
    return this.#rowsOf(
      [...this.#tables.records.getKeys({ start, end: afterAll(start), limit })],
      keyBytes + 8,
    )
  }

  /** Adds a transaction, or replaces the row under its id, with all indexes. */
  put(row: SubmissionRow, body?: Uint8Array): void {
    const { rows, bodies } = this.#tables
    this.#dropIndexes(row)
    const id = encodeId(row)
    rows.putSync(this.#key(id), encodeRow(row))
    if (body !== undefined) bodies.putSync(this.#key(id), body)
    addIndexes(this.#tables, this.#prefix, row)
  }

  remove(id: SubmissionId): void {
    this.#dropIndexes(id)
    this.#tables.rows.removeSync(this.#key(encodeId(id)))
    this.#tables.bodies.removeSync(this.#key(encodeId(id)))
  }

  #dropIndexes(id: SubmissionId): void {
    const row = this.readRow(id)
    if (row === undefined) return
    const { lanes, settled, records } = this.#tables
    if (!isSettled(row.state)) lanes.removeSync(laneIndex(this.#prefix, row))
    else {
      settled.removeSync(settledIndex(this.#prefix, row))
      records.removeSync(recordIndex(this.#prefix, row))
    }
  }

  /** Rows whose id begins with these bytes. */
  #readRange(idStart: Uint8Array, limit?: number): SubmissionRow[] {
    this.#renewReads()
    const start = this.#key(idStart)
    const range = { start, end: afterAll(start), ...(limit !== undefined && { limit }) }
    return [...this.#tables.rows.getRange(range)].map(({ key, value }) =>
      decodeRow(decodeId(key.subarray(this.#prefix.length)), value),
    )
  }

  /** Rows whose place in the index of lanes begins with these bytes. */
  #readLane(placeStart: Uint8Array, limit?: number): SubmissionRow[] {
    this.#renewReads()
    const start = this.#key(placeStart)
    const range = { start, end: afterAll(start), ...(limit !== undefined && { limit }) }
    return this.#rowsOf([...this.#tables.lanes.getKeys(range)], keyBytes + 32 + 32 + 8)
  }

  /** The rows of some index keys; the id of each begins after `bytesBefore` bytes. */
  #rowsOf(indexKeys: readonly Uint8Array[], bytesBefore: number): SubmissionRow[] {
    return indexKeys
      .map((key) => this.readRow(decodeId(key.subarray(this.#prefix.length + bytesBefore))))
      .filter((row) => row !== undefined)
  }

  #key(...parts: readonly Uint8Array[]): Uint8Array {
    return joinBytes([this.#prefix, ...parts])
  }

  /** Ends the read transaction of this turn of the event loop, which may be older than the last commit. */
  #renewReads(): void {
    if (!this.#isWriting) this.#environment.resetReadTxn()
  }
}

export function isSettled(state: SubmissionState): boolean {
  return state === 'ACCEPTED' || state === 'REJECTED'
}

/** Plain values without shared structures: rows stay readable one by one, by any msgpack reader. */
const packr = new Packr({ useRecords: false, variableMapSize: true })

function encodeRow(row: SubmissionRow): Uint8Array {
  const { state, sender, nonce, receivedAtMs, changedAtMs, bodyBytes, rejection } = row
  return packr.pack([
    states.indexOf(state),
    quantityToWord(sender),
    quantityToWord(nonce),
    receivedAtMs,
    changedAtMs,
    bodyBytes,
    rejection?.code ?? null,
    rejection?.text ?? null,
  ])
}

type StoredRow = [number, Uint8Array, Uint8Array, number, number, number, number | null, string | null]

function decodeRow({ hash, key, digest }: SubmissionId, value: Uint8Array): SubmissionRow {
  const [at, sender, nonce, receivedAtMs, changedAtMs, bodyBytes, code, text] = packr.unpack(
    value,
  ) as StoredRow
  const state = states[at]
  if (state === undefined) throw new Error(`a submission has the unknown state ${at}`)
  return {
    hash,
    key,
    digest,
    state,
    sender: bytesToQuantity(sender),
    nonce: bytesToQuantity(nonce),
    receivedAtMs,
    changedAtMs,
    bodyBytes,
    rejection: state === 'REJECTED' ? { code: code ?? undefined, text: text ?? undefined } : undefined,
  }
}

const keyBytes = nobody.length / 2

function encodeId({ hash, key, digest }: SubmissionId): Uint8Array {
  return joinBytes([quantityToWord(hash), Buffer.from(key, 'hex'), Buffer.from(digest, 'hex')])
}

function decodeId(bytes: Uint8Array): SubmissionId {
  const hash = bytesToQuantity(bytes.subarray(0, 32))
  return { hash, key: hexOf(bytes.subarray(32, 32 + keyBytes)), digest: hexOf(bytes.subarray(32 + keyBytes)) }
}

function hexOf(bytes: Uint8Array): string {
  return bytesToHex(bytes).slice(2)
}

function addIndexes(
  { lanes, settled, records }: SubmissionTables,
  prefix: Uint8Array,
  row: SubmissionRow,
): void {
  const nothing = new Uint8Array(0)
  if (!isSettled(row.state)) lanes.putSync(laneIndex(prefix, row), nothing)
  else {
    settled.putSync(settledIndex(prefix, row), nothing)
    records.putSync(recordIndex(prefix, row), nothing)
  }
}

function laneKey({ key, sender }: Lane): Uint8Array {
  return concatBytes(Buffer.from(key, 'hex'), quantityToWord(sender))
}

function laneIndex(prefix: Uint8Array, row: SubmissionRow): Uint8Array {
  const place = concatBytes(laneKey(row), quantityToWord(row.nonce))
  return joinBytes([prefix, place, numberKey(row.receivedAtMs), encodeId(row)])
}

function settledIndex(prefix: Uint8Array, row: SubmissionRow): Uint8Array {
  return joinBytes([prefix, numberKey(row.changedAtMs), encodeId(row)])
}

function recordIndex(prefix: Uint8Array, row: SubmissionRow): Uint8Array {
  return joinBytes([prefix, Buffer.from(row.key, 'hex'), numberKey(row.changedAtMs), encodeId(row)])
}

/** A hex quantity as 32 bytes, so that byte order is number order. */
export function quantityToWord(quantity: Hex): Uint8Array {
  return hexToBytes(quantity.slice(2).padStart(64, '0'))
}

/** A key after all keys that begin with `prefix`: no key continues with that many bytes 255. */
function afterAll(prefix: Uint8Array): Uint8Array {
  return concatBytes(prefix, new Uint8Array(65).fill(0xff))
}
