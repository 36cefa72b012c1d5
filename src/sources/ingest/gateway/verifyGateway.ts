/**
 * Checks a gateway's store against its own hashes: headers and their links, the stored parts of each block, trie nodes
 * and code. Only reads, so it may run while a server runs.
 */
import { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, type Header, headerHash, isProofOfStake } from '../../../data/chain/header.js'
import { indexedRoot } from '../../../data/state/trie.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import { type BlockName, requireIdentity } from '../../../data/store/chainRows.js'
import { type LogRange, logRangeAt } from '../../../data/store/logRanges.js'
import { type StoredBlock, transactionHashes } from '../../../data/store/storedBlock.js'
import { BlockParts, type PartFault, readBody } from '../../../execution/evm/blocks/blockParts.js'
import { bytesToBigInt, bytesToHex, equalBytes, type Hash32, toHash32 } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { decodeRlpList, encodeRlp, rlpBytes } from '../../../primitives/rlp.js'
import { FaultList, TooManyFaults } from '../verify/faultList.js'
import { checkLogKeys } from '../verify/verifyChain.js'

export interface GatewayReport {
  /** Block down to which headers are linked to the head. */
  readonly linkedFrom: number
  readonly head: number
  /** Canonical blocks with at least a stored header. */
  readonly blocks: number
  readonly bodies: number
  readonly receipts: number
  readonly transactions: number
  readonly nodes: number
  readonly codes: number
  /** Canonical blocks that are in the log index. */
  readonly indexed: number
  /** One sentence each; empty for a sound store. */
  readonly faults: readonly string[]
}

export function verifyGateway(
  store: ChainReader,
  onProgress: (what: string, done: number) => void = () => undefined,
): GatewayReport {
  const head = store.readHead()
  if (head === undefined) throw new Error('the store has no head')
  const check = new GatewayCheck(store, head)
  try {
    check.chain((done) => onProgress('blocks', done))
    check.logIndex()
    onProgress('other blocks', 1)
    check.sideBlocks()
    onProgress('trie nodes and code', 1)
    check.hashed('nodes')
    check.hashed('code')
  } catch (error) {
    if (!(error instanceof TooManyFaults)) throw error
  }
  const { counts, linkedFrom, faults } = check
  const { code: codes, ...others } = counts
  return { linkedFrom, head: head.number, ...others, codes, faults }
}

class GatewayCheck extends FaultList {
  readonly counts = { blocks: 0, bodies: 0, receipts: 0, transactions: 0, nodes: 0, code: 0, indexed: 0 }
  readonly #ranges: readonly LogRange[]
  #logKeys = 0
  readonly linkedFrom: number
  readonly #store: ChainReader
  readonly #head: BlockName
  readonly #parts: BlockParts
  /** Whether rows contain headers in their hashed form. */
  readonly #hasOwnHeaders: boolean

  constructor(store: ChainReader, head: BlockName) {
    super()
    this.#store = store
    this.#head = head
    this.linkedFrom = store.readLinkedFrom() ?? head.number
    this.#ranges = store.readLogRanges()
    const identity = requireIdentity(store)
    const schedule = ForkSchedule.of(identity)
    const { parts, reportable, proofs } = schedule.family
    this.#parts = new BlockParts(schedule)
    this.#hasOwnHeaders =
      parts.headers !== 'reported' && !reportable.includes('headers') && proofs.headerFields === undefined
  }

  /** Checks canonical blocks, from the lowest stored one up to the head. */
  chain(onProgress: (done: number) => void): void {
    const { number: last, hash } = this.#head
    let before: { readonly header: Header; readonly row: StoredBlock } | undefined
    for (const row of this.#store.blocksFrom(0, last + 2)) {
      const header = this.#block(row)
      if (header === undefined) continue
      const { number } = header
      if (number % 256 === 0) onProgress(number / (last + 1))
      const canonical = this.#store.readCanonicalHash(number)
      this.expect(
        canonical !== undefined && row.is(canonical) && this.#store.hasHeader(row.hash),
        `block ${number}: its hash and its number do not lead to each other`,
      )
      if (number > this.linkedFrom) this.#link(header, row, before)
      this.#locations(number, row)
      if (logRangeAt(this.#ranges, number) !== undefined) this.#logs(number, row)
      this.counts.blocks++
      before = { header, row }
    }
    this.expect(
      before?.row.is(hash) === true && before.header.number === last,
      `the head ${bytesToHex(hash)} is not the highest canonical block`,
    )
  }

  /** Checks that the log index contains each indexed block, and nothing else. */
  logIndex(): void {
    this.guard('index of logs', () => {
      const kept = this.#store.countLogIndex()
      const blocks = this.#ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0)
      this.expect(
        kept === this.#logKeys && blocks === this.counts.indexed,
        `index of logs: it has ${kept} entries of ${blocks} blocks, the receipts ${this.#logKeys} of ${this.counts.indexed}`,
      )
    })
  }

  sideBlocks(): void {
    for (const row of this.#store.sideBlocks()) this.#block(row)
  }

  hashed(table: 'nodes' | 'code'): void {
    for (const [hash, content] of this.#store.hashed(table)) {
      this.counts[table]++
      this.expect(equalBytes(keccak256(content), hash), `${table}: ${bytesToHex(hash)} has another content`)
    }
  }

  #link(
    { number, parentHash, difficulty }: Header,
    row: StoredBlock,
    before: { readonly header: Header; readonly row: StoredBlock } | undefined,
  ): void {
    const isLinked = before !== undefined && before.header.number === number - 1 && before.row.is(parentHash)
    this.expect(isLinked, `block ${number}: its parent is not block ${number - 1}`)
    const total = row.totalDifficulty
    const below = before?.row.totalDifficulty ?? row.totalDifficulty
    if (total.length === 0 || below.length === 0 || !isLinked) return
    const expected = bytesToBigInt(below) + difficulty
    this.expect(
      bytesToBigInt(total) === expected,
      `block ${number}: its total difficulty is ${bytesToBigInt(total)}, expected ${expected}`,
    )
  }

  /** Checks a block's header and its stored parts; undefined if the header cannot be read. */
  #block(row: StoredBlock): Header | undefined {
    const hash = toHash32(Uint8Array.from(row.hash))
    const name = `block ${bytesToHex(hash)}`
    let header: Header | undefined
    this.guard(name, () => {
      header = decodeHeader(row.header)
      if (this.#hasOwnHeaders)
        this.expect(equalBytes(headerHash(row.header), hash), `${name}: its header has another hash`)
      const fault: PartFault = (part, what) => new Error(`its ${part} ${what}`)
      if (row.hasBody) this.#body(hash, row, header, fault)
      const list = this.#store.readBlockAccessList(hash)
      if (list !== undefined)
        this.#parts.checkAccessList(list, header, (what) => new Error(`its access list ${what}`))
      const receipts = this.#store.readReceipts(hash)
      if (receipts === undefined) return
      const reported = this.#store.reportedRow(hash, 'receipts')
      if (reported === undefined) this.#parts.checkReceipts(receipts, header, fault)
      else if (reported.evidence === 'proved')
        this.#root(decodeRlpList(receipts).map(rlpBytes), header.receiptsRoot, 'receipts')
      this.counts.receipts++
    })
    return header
  }

  #body(hash: Hash32, row: StoredBlock, header: Header, fault: PartFault): void {
    const body = this.#store.readBody(hash)
    if (body === undefined) throw new Error('its body is missing')
    this.counts.bodies++
    const reported = this.#store.reportedRow(hash, 'block')
    if (reported?.evidence === 'proved') {
      const items = readBody(body, header).transactions
      const bytes = items.map((item) => (item instanceof Uint8Array ? item : encodeRlp(item)))
      this.#root(bytes, header.transactionsRoot, 'transactions')
    }
    if (reported !== undefined) return
    const senders = this.#parts.checkBody(body, header, isProofOfStake(header), fault)
    if (!equalBytes(senders, row.senders)) throw new Error('its senders are not those of its transactions')
  }

  /** Throws if parts of a block of another family do not match its root. */
  #root(parts: readonly Uint8Array[], root: Hash32, what: string): void {
    if (!equalBytes(indexedRoot(parts), root)) throw new Error(`its ${what} have another root`)
  }

  #logs(number: number, row: StoredBlock): void {
    const receipts = this.#store.readReceipts(toHash32(Uint8Array.from(row.hash)))
    this.expect(
      receipts !== undefined,
      `block ${number}: it is in the index of logs, and its receipts are missing`,
    )
    if (receipts === undefined) return
    const { count, missing } = checkLogKeys(this.#store, receipts, number)
    this.expect(missing === 0, `block ${number}: a log of it is not in the index of logs`)
    this.#logKeys += count
    this.counts.indexed++
  }

  #locations(number: number, row: StoredBlock): void {
    for (const [index, hash] of transactionHashes(row.senders)) {
      const location = this.#store.readLocation(hash)
      const isThere = location !== undefined && location.index === index && row.is(location.blockHash)
      this.expect(isThere, `block ${number}: transaction ${index} is not found by its hash`)
      this.counts.transactions++
    }
  }
}
