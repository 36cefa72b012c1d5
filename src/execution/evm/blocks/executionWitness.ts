/**
 * Witnesses: all data for executing a block without its chain. These are trie nodes of the state after its parent,
 * code, and headers. The block is executed on the tries; all reads are recorded, including those for the new state
 * root.
 */

import type { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, type Header, headJson } from '../../../data/chain/header.js'
import { requireKeptBefore } from '../../../data/chain/removedHistory.js'
import type { StateView } from '../../../data/state/stateView.js'
import { trieState } from '../../../data/state/trieState.js'
import { singleNodes, triesAfter } from '../../../data/state/tries.js'
import type { ChainRows } from '../../../data/store/chainRows.js'
import { bytesToBigInt, equalBytes, type Hash32, latin1Key } from '../../../primitives/bytes.js'
import { FaultError, InvalidBlockError } from '../../../primitives/faults.js'
import { JsonBytes } from '../../../primitives/jsonBytes.js'
import { decodeRlpList, type RlpItem } from '../../../primitives/rlp.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { recoverKey } from '../transactions/libsecp256k1.js'
import { RecoveredKeys } from '../transactions/recoveredKeys.js'
import { readRules, refuseUnknownFork } from './blockContext.js'
import { BlockExecutor } from './executeBlock.js'

export interface WitnessRequest {
  /** 32 bytes. */
  readonly hash: Uint8Array
}

interface NamedHeader {
  readonly header: Header
  readonly hash: Hash32
}

/** Initial memory of the JSON: enough for a block with some transactions on a small state. */
const jsonBytesExpected = 64 * 1024

/** Steps of {@link JobWatch.take} for a node: reading, hashing and parsing it. */
const stepsPerNode = 200

/** Bytes written as hex digits in a step. */
const bytesPerStep = 32

/** Makes witnesses of blocks of one store, one after the other. */
export class Witnesses {
  readonly #store: ChainRows
  readonly #schedule: ForkSchedule
  readonly #executor: BlockExecutor
  #watch: JobWatch | undefined

  constructor(store: ChainRows) {
    this.#store = store
    const { schedule, isDevelopment } = readRules(store)
    this.#schedule = schedule
    const keys = new RecoveredKeys((...signature) => {
      this.#watch?.look()
      return recoverKey(...signature)
    })
    this.#executor = new BlockExecutor(this.#schedule, keys, { isDevelopment })
  }

  /**
   * The witness of a block as JSON in go-ethereum's form. Headers go from the oldest whose hash the block reads to its
   * parent; code and nodes are sorted, without duplicates; there are no keys. Throws FaultError for a block that is
   * unknown, has no parent or is invalid. Throws NotStoredError if the parent's state is not stored, and the errors of
   * `watch`. Recovering senders (libsecp256k1.ts) takes half of the time.
   */
  buildJson({ hash }: WitnessRequest, watch: JobWatch): Uint8Array {
    const headerRow = this.#store.readHeader(hash as Hash32)
    if (headerRow === undefined) throw new FaultError({ kind: 'HeaderForHashNotFound' })
    const header = decodeHeader(headerRow)
    requireKeptBefore(this.#store, { number: header.number, hash: hash as Hash32 }, ['trie'])
    const bodyRow = this.#store.readBody(hash as Hash32)
    if (bodyRow === undefined) throw new FaultError({ kind: 'HeaderForHashNotFound' })
    refuseUnknownFork(header)
    const ancestors = new Ancestors(this.#store, header)
    const reads = new NotedReads(this.#store)
    const items = [decodeRlpList(headerRow), ...decodeRlpList(bodyRow)]
    this.#watch = watch
    this.#execute(header, items, ancestors, reads)
    return renderWitness(ancestors.named, reads, watch)
  }

  #execute(header: Header, items: readonly RlpItem[], ancestors: Ancestors, reads: NotedReads): void {
    const { number, timestamp, parentHash, stateRoot } = header
    const state: StateView = {
      ...trieState(
        reads,
        this.#store.readRootByHand?.(parentHash) ?? ancestors.parent.stateRoot,
        parentHash,
        singleNodes(triesAfter(this.#store, { number: number - 1, hash: parentHash }), (hash, rlp) => {
          this.#watch?.take(stepsPerNode)
          reads.nodes.set(latin1Key(hash), rlp)
        }),
      ),
      // Removing all storage of an account needs none of its slots.
      slotsOf: () => [],
    }
    const parentTotal = bytesToBigInt(this.#store.readTotalDifficulty(parentHash) ?? new Uint8Array(0))
    const fork = this.#schedule.forkAt(number, timestamp, this.#schedule.isMerged(parentTotal))
    const ancestorHash = (asked: number) => ancestors.hashOf(asked)
    try {
      const { changes } = this.#executor.execute(items, fork, state, ancestorHash, this.#watch)
      if (!equalBytes(changes.stateRoot, stateRoot)) {
        throw new InvalidBlockError('its execution leads to another state root')
      }
    } catch (error) {
      if (!(error instanceof InvalidBlockError)) throw error
      throw new FaultError({ kind: 'ExecutionFailed', why: `invalid block: ${error.message}` })
    }
  }
}

/** Headers before a block, back to the oldest that was read. */
class Ancestors {
  /** The parent first. */
  readonly named: NamedHeader[] = []
  readonly #store: ChainRows
  readonly #number: number

  constructor(store: ChainRows, { number, parentHash }: Header) {
    this.#store = store
    this.#number = number
    if (number === 0)
      throw new FaultError({ kind: 'ExecutionFailed', why: 'the genesis block has no parent' })
    this.#add(parentHash)
  }

  get parent(): Header {
    return this.#oldest.header
  }

  hashOf(number: number): Hash32 | undefined {
    if (number < 0 || number >= this.#number) return undefined
    while (this.named.length < this.#number - number) this.#add(this.#oldest.header.parentHash)
    return this.named[this.#number - number - 1]?.hash
  }

  get #oldest(): NamedHeader {
    return this.named.at(-1) as NamedHeader
  }

  #add(hash: Hash32): void {
    const row = this.#store.readHeader(hash)
    if (row === undefined) throw new FaultError({ kind: 'HeaderForHashNotFound' })
    this.named.push({ header: decodeHeader(row), hash })
  }
}

/** The nodes and code read, by hash. */
class NotedReads implements Pick<ChainRows, 'readCode' | 'knowsCode'> {
  /** {@link latin1Key} of the hash → node or code. */
  readonly nodes = new Map<string, Uint8Array>()
  readonly codes = new Map<string, Uint8Array>()
  readonly #store: ChainRows

  constructor(store: ChainRows) {
    this.#store = store
  }

  readCode(hash: Hash32): Uint8Array | undefined {
    const key = latin1Key(hash)
    const code = this.codes.get(key) ?? this.#store.readCode(hash)
    if (code !== undefined) this.codes.set(key, code)
    return code
  }

  knowsCode(hash: Hash32): boolean {
    return this.#store.knowsCode?.(hash) ?? true
  }
}

function renderWitness(
  headers: readonly NamedHeader[],
  { nodes, codes }: NotedReads,
  watch: JobWatch,
): Uint8Array {
  const json = new JsonBytes(jsonBytesExpected)
  json.text('{"headers":[')
  json.text(
    headers
      .map(({ header, hash }) => headJson(header, hash))
      .reverse()
      .join(),
  )
  json.text('],"codes":[')
  writeSorted(json, codes, watch)
  json.text('],"state":[')
  writeSorted(json, nodes, watch)
  json.text('],"keys":null}')
  return json.finish()
}

function writeSorted(json: JsonBytes, rows: ReadonlyMap<string, Uint8Array>, watch: JobWatch): void {
  const sorted = [...rows.values()].sort((a, b) => Buffer.compare(a, b))
  for (const [index, row] of sorted.entries()) {
    watch.take(row.length / bytesPerStep)
    if (index > 0) json.text(',')
    json.hex(row)
  }
}
