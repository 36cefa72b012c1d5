/**
 * A gateway and the archive that is its upstream, in one process. The archive imports blocks when a test requests it,
 * and answers from its store over real sockets; requests are counted.
 */
import { join } from 'node:path'
import type { Test } from 'tap'
import { writeBlockAccessList } from '../../src/data/chain/blockAccessList.js'
import { decodeHeader, type Header } from '../../src/data/chain/header.js'
import { buildProofJson } from '../../src/data/state/proof.js'
import { openRows } from '../../src/data/state/provedRows.js'
import { StateReader } from '../../src/data/state/stateReader.js'
import { triesAfter } from '../../src/data/state/tries.js'
import type { ChainReader } from '../../src/data/store/chainReader.js'
import type { BlockName } from '../../src/data/store/chainRows.js'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { Witnesses } from '../../src/execution/evm/blocks/executionWitness.js'
import { JobWatch } from '../../src/execution/evm/engine/jobWatch.js'
import type { TraceLimits } from '../../src/execution/evm/tracers/traceRequest.js'
import {
  type Address,
  bytesToHex,
  equalBytes,
  type Hash32,
  hexToBytes,
  padLeft,
  toQuantity,
} from '../../src/primitives/bytes.js'
import { defer } from '../../src/primitives/deferred.js'
import { JsonBytes } from '../../src/primitives/jsonBytes.js'
import { keccak256 as keccakOf } from '../../src/primitives/keccak.js'
import { NotStoredError } from '../../src/primitives/notStored.js'
import { decodeRlpList, encodeRlp, rlpBytes } from '../../src/primitives/rlp.js'
import { parseBlock } from '../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../src/sources/ingest/blocks/importer.js'
import { runGateway } from '../../src/sources/ingest/gateway/runGateway.js'
import type { CallAnswerer } from '../../src/sources/ingest/thread/callAnswerer.js'
import type { GatewayTask, IngestMessage, WorkingSetPlan } from '../../src/sources/ingest/thread/messages.js'
import { makeFolder } from '../library/folder.js'
import { inTime, waitFor } from '../library/until.js'
import { type NodeAnswer, type NodeCall, WeatherNode } from '../upstream/weatherNode.js'

const mapBytes = 2 ** 30
/** Archives run on the thread of their gateway: while one makes blocks on a busy machine, none can answer. */
const slowMs = 300_000
const limits: TraceLimits = { timeMsMax: 100_000, memoryBytesMax: 2 ** 30, answerBytesMax: 2 ** 30 }
const unknownMethod: NodeAnswer = { error: { code: -32601, message: 'the method does not exist' } }
const unknownBlock: NodeAnswer = { error: { code: -32001, message: 'no such block' } }

/** An upstream's methods for keeping a gateway current. */
export type Offer = 'accessList' | 'accessListJson' | 'witness' | 'enumeration'
const offerOf: Readonly<Record<string, Offer>> = {
  debug_getRawBlockAccessList: 'accessList',
  eth_getBlockAccessList: 'accessListJson',
  debug_executionWitness: 'witness',
  debug_storageRangeAt: 'enumeration',
}

/** An archive that serves HTTP and sends its heads over a WebSocket. */
export class ArchiveNode {
  readonly store: ChainWriter
  readonly node = new WeatherNode((call) => this.change(call, this.answer(call)))
  offers: ReadonlySet<Offer>
  /** Replaces an answer; by default returns it unchanged. */
  change: (call: NodeCall, answer: NodeAnswer) => NodeAnswer = (_call, answer) => answer
  readonly #importer: ChainImporter
  readonly #witnesses: Witnesses
  readonly #genesis: string

  private constructor(store: ChainWriter, genesis: string, offers: readonly Offer[]) {
    this.store = store
    this.offers = new Set(offers)
    this.#genesis = genesis
    this.#importer = new ChainImporter(store, parseGenesis(genesis).schedule)
    this.#witnesses = new Witnesses(store)
  }

  static async open(t: Test, genesis: string, offers: readonly Offer[]): Promise<ArchiveNode> {
    const archive = ArchiveNode.at(join(makeFolder(t), 'archive.mdb'), genesis, offers)
    await archive.node.start()
    t.teardown(async () => {
      await archive.node.stop()
      await archive.store.close()
    })
    return archive
  }

  /** Makes one with a new store and without sockets: the caller uses {@link answer}. */
  static at(path: string, genesis: string, offers: readonly Offer[]): ArchiveNode {
    const store = ChainWriter.openForWriting({ path, mapBytes })
    const { identity, blockDiff } = parseGenesis(genesis)
    store.initialize(identity, blockDiff)
    return new ArchiveNode(store, genesis, offers)
  }

  get head(): BlockName {
    return this.store.head
  }

  header(hash: Hash32): Header {
    return decodeHeader(this.store.readHeader(hash) as Uint8Array)
  }

  /** Imports a block as its head, without notifying anyone. */
  async take(rlp: Uint8Array): Promise<void> {
    await this.#importer.importAsHead(parseBlock(rlp))
  }

  /** Imports consecutive blocks in one transaction, which takes a fraction of the time. */
  async takeAll(blocks: readonly { readonly rlp: Uint8Array }[]): Promise<void> {
    this.store.beginBatch()
    for (const { rlp } of blocks) await this.take(rlp)
    await this.store.commitBatch()
  }

  tell(): void {
    this.node.tell(this.#claim(this.head.hash))
  }

  /** HTTP requests so far, without those that only ask for the head. */
  get requests(): readonly (readonly NodeCall[])[] {
    return this.node.requests.filter((calls) => {
      const [first] = calls
      return calls.length > 1 || first?.method !== 'eth_getBlockByNumber' || first.params[0] !== 'latest'
    })
  }

  #claim(hash: Hash32): unknown {
    const header = decodeHeader(this.store.readHeader(hash) as Uint8Array)
    return {
      number: toQuantity(header.number),
      hash: bytesToHex(hash),
      parentHash: bytesToHex(header.parentHash),
    }
  }

  #hashOf(id: unknown): Hash32 | undefined {
    const { blockHash } = (id ?? {}) as { readonly blockHash?: unknown }
    if (blockHash !== undefined) return this.#hashOf(blockHash)
    const text = String(id)
    if (text === 'latest') return this.head.hash
    // Deeper than any reorganisation of these chains.
    if (text === 'safe' || text === 'finalized') return this.store.readCanonicalHash(0)
    if (text.length !== 66) return this.store.readCanonicalHash(Number(text))
    const hash = hexToBytes(text) as Uint8Array as Hash32
    return this.store.hasHeader(hash) ? hash : undefined
  }

  /** The honest answer to a call. */
  answer({ method, params }: NodeCall): NodeAnswer {
    const offer = offerOf[method]
    if (offer !== undefined && !this.offers.has(offer)) return unknownMethod
    const { store } = this
    const [first, second, third] = params
    if (method === 'eth_chainId') return { result: toQuantity(JSON.parse(this.#genesis).config.chainId) }
    if (method === 'debug_chainConfig') return { result: JSON.parse(this.#genesis).config }
    const isOfState = method === 'eth_getProof' || method === 'eth_getCode'
    const hash = this.#hashOf(method === 'eth_getProof' ? third : isOfState ? second : first)
    if (method === 'eth_getBlockByNumber') return { result: hash === undefined ? null : this.#claim(hash) }
    if (hash === undefined) return method.startsWith('debug_') ? unknownBlock : { result: null }
    const headerRlp = store.readHeader(hash) as Uint8Array
    const header = decodeHeader(headerRlp)
    switch (method) {
      case 'debug_getRawHeader':
        return { result: bytesToHex(headerRlp) }
      case 'debug_getRawBlock': {
        const body = decodeRlpList(store.readBody(hash) as Uint8Array)
        return { result: bytesToHex(encodeRlp([decodeRlpList(headerRlp), ...body])) }
      }
      case 'debug_getRawReceipts': {
        const receipts = decodeRlpList(store.readReceipts(hash) as Uint8Array)
        return { result: receipts.map((receipt) => bytesToHex(rlpBytes(receipt))) }
      }
      case 'debug_getRawBlockAccessList':
      case 'eth_getBlockAccessList': {
        const list = store.readBlockAccessList(hash)
        if (list === undefined) return unknownBlock
        if (method === 'debug_getRawBlockAccessList') return { result: bytesToHex(list) }
        const json = new JsonBytes(2 ** 16)
        writeBlockAccessList(json, list)
        return { result: JSON.parse(Buffer.from(json.finish()).toString()) }
      }
      case 'debug_executionWitness': {
        const json = this.#witnesses.buildJson({ hash }, new JobWatch(() => false, limits))
        return { result: JSON.parse(Buffer.from(json).toString()) }
      }
      case 'eth_getProof': {
        const keys = (second as readonly string[]).map((text) => {
          return { slot: padLeft(hexToBytes(text), 32) as Hash32, text }
        })
        const address = hexToBytes(String(first)) as Uint8Array as Address
        const request = { block: hash, stateRoot: header.stateRoot, address, keys } as never
        return {
          result: JSON.parse(
            Buffer.from(
              buildProofJson(triesAfter(store, { number: header.number, hash }), request),
            ).toString(),
          ),
        }
      }
      case 'eth_getCode': {
        const address = hexToBytes(String(first)) as Uint8Array as Address
        const reader = new StateReader(store)
        const account = reader.readAccount({ number: header.number, hash }, address)
        return { result: account === undefined ? '0x' : bytesToHex(reader.readCode(account.codeHash)) }
      }
      case 'debug_storageRangeAt': {
        const address = hexToBytes(String(third)) as Uint8Array as Address
        return { result: this.#enumerate(header.number - 1, address) }
      }
      default:
        return unknownMethod
    }
  }

  #enumerate(number: number, address: Address): unknown {
    const slots = [...this.store.slotsOfAt(address, number)]
    const entries = slots.map(([slot, value]) => {
      return [bytesToHex(keccakOf(slot)), { key: bytesToHex(slot), value: bytesToHex(padLeft(value, 32)) }]
    })
    return { storage: Object.fromEntries(entries), nextKey: null }
  }
}

export interface RigOptions {
  readonly folder?: string
  readonly workingSet?: Partial<WorkingSetPlan>
  readonly historyBlocks?: number
}

/** An account and some of its slots. */
export interface Place {
  readonly address: Address
  readonly slots: readonly Hash32[]
}

/** The task of a gateway in front of these archives. */
export function gatewayTask(
  storePath: string,
  archives: readonly ArchiveNode[],
  { workingSet = {}, historyBlocks = 512 }: RigOptions,
): GatewayTask {
  return {
    storePath,
    mapBytes,
    genesis: undefined,
    network: 'rig',
    forks: {},
    chainId: undefined,
    upstreams: archives.map(({ node }) => ({ url: node.url, timeoutMs: slowMs, answerBytesMax: 2 ** 26 })),
    quorum: 1,
    pollMs: 50,
    historyBlocks,
    fetchMsMax: slowMs,
    workingSet: { maxMB: 1_024, proofUnits: 4_096, watch: [], ...workingSet },
  }
}

/** A gateway's source on this thread, and a reader of its store. */
export class GatewayRig {
  readonly messages: IngestMessage[]
  readonly rows: ChainReader
  /** Number of fetches because a read lacked data. */
  fetched = 0
  readonly #calls: CallAnswerer
  readonly #stop: () => Promise<void>
  #serial = 0

  private constructor(
    messages: IngestMessage[],
    rows: ChainReader,
    calls: CallAnswerer,
    stop: () => Promise<void>,
  ) {
    this.messages = messages
    this.rows = rows
    this.#calls = calls
    this.#stop = stop
  }

  static async open(
    t: Test,
    archives: readonly ArchiveNode[],
    options: RigOptions = {},
  ): Promise<GatewayRig> {
    const { folder = makeFolder(t) } = options
    const storePath = join(folder, 'gateway.mdb')
    const stop = new AbortController()
    const messages: IngestMessage[] = []
    const ready = defer<CallAnswerer>()
    const task = gatewayTask(storePath, archives, options)
    const report = (message: IngestMessage): void => void messages.push(message)
    const run = runGateway(task, { report, signal: stop.signal, onReady: (calls) => ready.resolve(calls) })
    const calls = await inTime('the store', ready.promise)
    await waitFor('the first head', () => messages.some(({ type }) => type === 'opened'))
    const rows = openRows({ path: storePath, mapBytes })
    let isStopped = false
    const rig = new GatewayRig(messages, rows, calls, async () => {
      if (isStopped) return
      isStopped = true
      stop.abort()
      await run
      await rows.close()
    })
    t.teardown(() => rig.stop())
    await waitFor('subscriptions', () =>
      archives.every(({ node }) => node.subscribers > 0 || !node.hasSockets),
    )
    return rig
  }

  stop(): Promise<void> {
    return this.#stop()
  }

  /** Sentences for the operator so far. */
  get said(): string {
    return this.messages.flatMap((message) => (message.type === 'said' ? [message.text] : [])).join('\n')
  }

  /** Resolves once the process has this head. */
  async reached({ hash }: Pick<BlockName, 'hash'>): Promise<void> {
    await waitFor('the head', () => {
      this.rows.refresh()
      const head = this.rows.readHead()
      return head !== undefined && equalBytes(head.hash, hash)
    })
  }

  /** The result of a read; undefined if data is missing. */
  tryRead<T>(read: (rows: ChainReader) => T): { readonly value: T } | undefined {
    try {
      this.rows.refresh()
      return { value: read(this.rows) }
    } catch (error) {
      if (error instanceof NotStoredError) return undefined
      throw error
    }
  }

  /** The result of a read; missing data is fetched. */
  async read<T>(read: (rows: ChainReader) => T): Promise<T> {
    for (;;) {
      try {
        this.rows.refresh()
        return read(this.rows)
      } catch (error) {
        if (!(error instanceof NotStoredError)) throw error
        this.fetched++
        await this.#fetch(error)
      }
    }
  }

  async #fetch({ wanted }: NotStoredError): Promise<void> {
    const serial = ++this.#serial
    this.#calls.take({ type: 'call', serial, name: 'fetch', args: [wanted] })
    const isAnswer = (message: IngestMessage) => 'serial' in message && message.serial === serial
    const answer = await waitFor('what was missing', () => this.messages.find(isAnswer))
    if (answer.type === 'refused') throw new Error(JSON.stringify(answer.fault))
  }
}
