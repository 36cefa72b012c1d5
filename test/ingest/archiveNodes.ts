/**
 * Nodes that answer a gateway's requests for blocks and receipts from an archive, in this process, and may give false
 * answers.
 */
import { blockRlp } from '../../src/data/chain/blockRows.js'
import type { ChainReader } from '../../src/data/store/chainReader.js'
import type { BlockName, ChainIdentity } from '../../src/data/store/chainRows.js'
import { type CanonicalHeader, GatewayWriter } from '../../src/data/store/gatewayWriter.js'
import { Blooms, encodeReceipt, type Receipt } from '../../src/execution/evm/blocks/receipts.js'
import { bytesToBigInt, bytesToHex, type Hash32, hexToBytes, toQuantity } from '../../src/primitives/bytes.js'
import { decodeRlp, decodeRlpList, rlpBytes, rlpList } from '../../src/primitives/rlp.js'
import type { Asking } from '../../src/sources/ingest/nodes/proving.js'
import { NodeError, type Upstream } from '../../src/sources/upstream/upstream.js'
import { type AskOptions, NoAnswerError } from '../../src/sources/upstream/upstreams.js'
import { upstreamDouble } from '../upstream/upstreamDouble.js'

/** A gateway's store with the headers of the whole archive and nothing else. */
export function makeGatewayStore(path: string, archive: ChainReader): GatewayWriter {
  const store = GatewayWriter.open({ path, mapBytes: 2 ** 30 })
  const { history: _, ...identity } = archive.readIdentity() as ChainIdentity
  store.begin(identity)
  const head = archive.readHead() as BlockName
  const headers = Array.from(archive.blocksFrom(0, head.number + 1), (row): CanonicalHeader => {
    const number = Number(bytesToBigInt(rlpBytes(decodeRlpList(row.header)[8])))
    const copy = (bytes: Uint8Array) => Uint8Array.from(bytes)
    return { number, hash: copy(row.hash) as Hash32, header: copy(row.header), totalDifficulty: undefined }
  })
  store.advance((headers[0]?.number ?? 0) - 1, headers, true)
  return store
}

/** A gateway's store with only the headers of `count` blocks of the archive from block `number` on. */
export function makeLinkedStore(
  path: string,
  archive: ChainReader,
  number: number,
  count: number,
): GatewayWriter {
  const store = GatewayWriter.open({ path, mapBytes: 2 ** 28 })
  store.begin(archive.readIdentity() as ChainIdentity)
  const headers = Array.from({ length: count }, (_, index) => {
    const hash = archive.readCanonicalHash(number + index) as Hash32
    const header = Uint8Array.from(archive.readHeader(hash) as Uint8Array)
    return { number: number + index, hash, header, totalDifficulty: undefined }
  })
  store.advance(-1, headers, true)
  return store
}

export type MadeReceipt = Receipt

/** A node's version of the receipts of a block. */
export type Tell = (receipts: readonly MadeReceipt[], number: number) => readonly MadeReceipt[]

export class ArchiveNodes implements Asking {
  readonly quorum = 1
  /** Names of the nodes that received requests for a block's receipts, by its number. */
  readonly asked = new Map<number, string[]>()
  readonly questions: string[] = []
  readonly accused: string[] = []
  /** Whether nodes answer `debug_getRawReceipts`; otherwise only `eth_getBlockReceipts`. */
  isRaw = true
  /** Called before each answer. */
  onAsk: () => void = () => undefined
  readonly #archive: ChainReader
  readonly #tells: ReadonlyMap<Upstream, Tell>

  /** Nodes by name, each with its changes to receipts. */
  constructor(archive: ChainReader, tells: Readonly<Record<string, Tell>>) {
    this.#archive = archive
    this.#tells = new Map(
      Object.entries(tells).map(([name, tell]) => [
        upstreamDouble(name, (what) => this.accused.push(`${name}: ${what}`)),
        tell,
      ]),
    )
  }

  get count(): number {
    return this.#tells.size
  }

  get candidates(): readonly Upstream[] {
    return [...this.#tells.keys()]
  }

  get answering(): readonly Upstream[] {
    return this.candidates
  }

  async ask(
    method: string,
    params: readonly unknown[],
    { not = [], only, first }: Omit<AskOptions, 'deadline'>,
  ) {
    const may = (node: Upstream) => (only === undefined ? !not.includes(node) : node === only)
    const upstream = [...(first === undefined ? [] : [first]), ...this.answering].find(may)
    if (upstream === undefined) throw new NoAnswerError('nobody is left')
    this.questions.push(method)
    // As over a network, the answer never comes while the caller is running.
    await Promise.resolve()
    this.onAsk()
    return { result: this.#answer(upstream, method, hexToBytes(String(params[0])) as Hash32), upstream }
  }

  #answer(node: Upstream, method: string, hash: Hash32): unknown {
    const row = this.#archive.readBlock(hash)
    if (row === undefined) return null
    if (method === 'debug_getRawBlock') {
      return bytesToHex(blockRlp(row.header, this.#archive.readBody(hash) as Uint8Array))
    }
    const isRaw = method === 'debug_getRawReceipts'
    if ((isRaw && !this.isRaw) || (!isRaw && method !== 'eth_getBlockReceipts')) {
      throw new NodeError(node, -32000, 'not here', undefined)
    }
    const number = Number(bytesToBigInt(rlpBytes(decodeRlpList(row.header)[8])))
    this.asked.set(number, [...(this.asked.get(number) ?? []), node.name])
    const receipts = decodeRlpList(this.#archive.readReceipts(hash) as Uint8Array).map(rlpBytes)
    const reported = this.#tells.get(node)?.(receipts.map(decodeReceipt), number) ?? []
    const blooms = new Blooms()
    if (isRaw) return reported.map((each) => bytesToHex(encodeReceipt(each, blooms.bloomOf(each.logs))))
    return reported.map(({ type, outcome, gasUsed, logs }) => ({
      type: toQuantity(type),
      ...(typeof outcome === 'boolean' ? { status: outcome ? '0x1' : '0x0' } : { root: bytesToHex(outcome) }),
      cumulativeGasUsed: toQuantity(gasUsed),
      logs: logs.map(({ address, topics, data }) => ({
        address: bytesToHex(address),
        topics: topics.map(bytesToHex),
        data: bytesToHex(data),
      })),
    }))
  }
}

/** The inverse of {@link encodeReceipt}. */
function decodeReceipt(bytes: Uint8Array): MadeReceipt {
  const isLegacy = (bytes[0] as number) >= 0xc0
  const [outcome, gas, , logs] = rlpList(decodeRlp(isLegacy ? bytes : bytes.subarray(1)))
  const status = rlpBytes(outcome)
  return {
    type: isLegacy ? 0 : (bytes[0] as number),
    outcome: status.length === 32 ? status : status.length === 1,
    gasUsed: bytesToBigInt(rlpBytes(gas)),
    logs: rlpList(logs).map((log) => {
      const [address, topics, data] = rlpList(log)
      return { address: rlpBytes(address), topics: rlpList(topics).map(rlpBytes), data: rlpBytes(data) }
    }),
  }
}
