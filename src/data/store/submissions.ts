/**
 * Transactions submitted to a rollup network, in the node store: rows and indexes. Owns the tables and their
 * encoding; `rollup/` owns the states of a transaction.
 *
 *   table               key → value
 *   submissions         network ‖ 0 ‖ hash (32 bytes) → msgpack [state, sender, nonce, receivedAtMs, changedAtMs,
 *                       bodyBytes, code or null, text or null]
 *   submissionBodies    network ‖ 0 ‖ hash → the transaction, JSON
 *   submissionNonces    network ‖ 0 ‖ sender (32 bytes) ‖ nonce (32 bytes) → hash. Of unsettled ones alone.
 *   submissionsSettled  network ‖ 0 ‖ changedAtMs (8 bytes) ‖ hash → nothing. Of settled ones alone.
 *
 * `network` is its name, which contains no zero byte.
 */
import type { RootDatabase } from 'lmdb'
import { Packr } from 'msgpackr'
import { bytesToQuantity, concatBytes, type Hex, hexToBytes, joinBytes } from '../../primitives/bytes.js'
import { openTable, type Table } from './environment.js'
import type { GroupCommit } from './groupCommit.js'
import { numberKey } from './tables.js'

/** Names are never reused for another layout. */
export const submissionTableNames = {
  rows: 'submissions',
  bodies: 'submissionBodies',
  nonces: 'submissionNonces',
  settled: 'submissionsSettled',
} as const

export type SubmissionTables = { readonly [name in keyof typeof submissionTableNames]: Table }

/** States, stored as their index. Add new ones at the end. */
const states = ['RECEIVED', 'SENT', 'ACCEPTED', 'REJECTED'] as const

/**
 * - `RECEIVED`: on disk, and the sequencer cannot have it.
 * - `SENT`: the sequencer may have it.
 * - `ACCEPTED`, `REJECTED`: settled by the sequencer's verdict, or rejected here.
 */
export type SubmissionState = (typeof states)[number]

/** Why a transaction was rejected. */
export interface Rejection {
  /** Code on the wire; undefined where it was rejected here. */
  readonly code: number | undefined
  readonly text: string | undefined
}

/** Felts are hex quantities. */
export interface SubmissionRow {
  readonly hash: Hex
  readonly state: SubmissionState
  readonly sender: Hex
  readonly nonce: Hex
  readonly receivedAtMs: number
  /** Time of the last change of its state. */
  readonly changedAtMs: number
  readonly bodyBytes: number
  /** With `REJECTED`. */
  readonly rejection: Rejection | undefined
}

/** Opens the tables, and makes missing ones. */
export function openSubmissionTables(environment: RootDatabase): SubmissionTables {
  const open = (name: string): Table => {
    const table = openTable(environment, name)
    if (table === undefined) throw new Error(`the table ${name} was not made`)
    return table
  }
  const { rows, bodies, nonces, settled } = submissionTableNames
  return { rows: open(rows), bodies: open(bodies), nonces: open(nonces), settled: open(settled) }
}

/** One network's submissions. Reads see committed rows; inside {@link write} also earlier writes of it. */
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

  readRow(hash: Hex): SubmissionRow | undefined {
    this.#renewReads()
    const value = this.#tables.rows.get(this.#key(quantityToWord(hash)))
    return value && decodeRow(hash, value)
  }

  /** The transaction as it was stored, JSON. */
  readBody(hash: Hex): Uint8Array | undefined {
    this.#renewReads()
    return this.#tables.bodies.get(this.#key(quantityToWord(hash)))
  }

  /** The unsettled transaction of a sender with this nonce. */
  readHash(sender: Hex, nonce: Hex): Hex | undefined {
    this.#renewReads()
    const hash = this.#tables.nonces.get(this.#key(quantityToWord(sender), quantityToWord(nonce)))
    return hash && bytesToQuantity(hash)
  }

  /** The unsettled transaction of a sender that has the lowest nonce. */
  readFirstHash(sender: Hex): Hex | undefined {
    this.#renewReads()
    const start = this.#key(quantityToWord(sender))
    for (const { value } of this.#tables.nonces.getRange({ start, end: afterAll(start), limit: 1 })) {
      return bytesToQuantity(value)
    }
    return undefined
  }

  /** All unsettled ones, oldest first. */
  readUnsettled(): SubmissionRow[] {
    this.#renewReads()
    const { nonces } = this.#tables
    const hashes = [...nonces.getRange({ start: this.#prefix, end: afterAll(this.#prefix) })].map(
      ({ value }) => bytesToQuantity(value),
    )
    const rows = hashes.map((hash) => this.readRow(hash)).filter((row) => row !== undefined)
    return rows.sort((a, b) => a.receivedAtMs - b.receivedAtMs)
  }

  /** Number of settled ones. Walks over them. */
  countSettled(): number {
    this.#renewReads()
    const start = this.#key(new Uint8Array(8))
    return this.#tables.settled.getKeysCount({ start, end: afterAll(this.#prefix) })
  }

  /** Hashes that were settled before a time, oldest first. */
  readSettledBefore(timeMs: number, limit: number): Hex[] {
    this.#renewReads()
    const range = { start: this.#key(new Uint8Array(8)), end: this.#key(numberKey(timeMs)), limit }
    return [...this.#tables.settled.getKeys(range)].map((key) => bytesToQuantity(key.subarray(-32)))
  }

  /** Adds a transaction, or replaces the row under its hash, with all indexes. */
  put(row: SubmissionRow, body?: Uint8Array): void {
    const { rows, bodies, nonces, settled } = this.#tables
    this.#dropIndexes(row.hash)
    const hash = quantityToWord(row.hash)
    rows.putSync(this.#key(hash), encodeRow(row))
    if (body !== undefined) bodies.putSync(this.#key(hash), body)
    if (isSettled(row.state)) settled.putSync(this.#key(numberKey(row.changedAtMs), hash), new Uint8Array(0))
    else nonces.putSync(this.#key(quantityToWord(row.sender), quantityToWord(row.nonce)), hash)
  }

  remove(hash: Hex): void {
    this.#dropIndexes(hash)
    this.#tables.rows.removeSync(this.#key(quantityToWord(hash)))
    this.#tables.bodies.removeSync(this.#key(quantityToWord(hash)))
  }

  #dropIndexes(hash: Hex): void {
    const row = this.readRow(hash)
    if (row === undefined) return
    const { nonces, settled } = this.#tables
    if (isSettled(row.state)) settled.removeSync(this.#key(numberKey(row.changedAtMs), quantityToWord(hash)))
    else nonces.removeSync(this.#key(quantityToWord(row.sender), quantityToWord(row.nonce)))
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

function decodeRow(hash: Hex, value: Uint8Array): SubmissionRow {
  const [at, sender, nonce, receivedAtMs, changedAtMs, bodyBytes, code, text] = packr.unpack(
    value,
  ) as StoredRow
  const state = states[at]
  if (state === undefined) throw new Error(`a submission has the unknown state ${at}`)
  return {
    hash,
    state,
    sender: bytesToQuantity(sender),
    nonce: bytesToQuantity(nonce),
    receivedAtMs,
    changedAtMs,
    bodyBytes,
    rejection: state === 'REJECTED' ? { code: code ?? undefined, text: text ?? undefined } : undefined,
  }
}

/** A hex quantity as 32 bytes, so that byte order is number order. */
export function quantityToWord(quantity: Hex): Uint8Array {
  return hexToBytes(quantity.slice(2).padStart(64, '0'))
}

/** A key after all keys that begin with `prefix`: no key continues with that many bytes 255. */
function afterAll(prefix: Uint8Array): Uint8Array {
  return concatBytes(prefix, new Uint8Array(65).fill(0xff))
}
