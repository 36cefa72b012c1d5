/**
 * What a head costs a gateway, by the way in which it stays current: CPU time of this thread from the answers of its
 * upstream to what is ready to be stored, and bytes of these answers. The blocks are those of the Amsterdam chain that
 * lies beside the repository, some 30 million gas each, and of the benchmarks of the slowest gas one of each kind.
 */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ForkSchedule } from '../../src/chain/forks.js'
import { parseBlock } from '../../src/ingest/block.js'
import { readChainFile } from '../../src/ingest/chainFile.js'
import { HeadReader } from '../../src/ingest/gateway/headReader.js'
import { HotSet } from '../../src/ingest/gateway/hotSet.js'
import { ProofFetcher } from '../../src/ingest/gateway/proofFetcher.js'
import type { Asking } from '../../src/ingest/gateway/proving.js'
import { bytesToHex, type Hash32, hexToBytes } from '../../src/primitives/bytes.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import type { ChainIdentity } from '../../src/store/chainRows.js'
import { GatewayWriter } from '../../src/store/gatewayWriter.js'
import { heldKey } from '../../src/store/heldRows.js'
import { HeldUse } from '../../src/store/heldUse.js'
import { NodeError, type Upstream } from '../../src/upstream/upstream.js'
import { genesisTextOf, type JsonChainTest } from '../../test/blockchainTests/chainTest.js'
import { ArchiveNode, type Offer } from '../../test/ingest/gatewayRig.js'
import { readTestFiles } from '../../test/stateTests/files.js'
import type { Side } from '../report/outcome.js'
import { median } from '../report/statistics.js'
import type { SpecialScenario } from './specialScenario.js'

const folderOf = (name: string) => join(packageRoot(), '../shared/amsterdam/chains/a1-cross', name)
/** The first block that is measured: the code that reads them is compiled by then. */
const first = 60
/** Least gas of one of the slow blocks; those before it set it up. */
const worstGasMin = 10_000_000
const quickWorst = 5
/** Accounts that are proved with each head by the last way. */
const hotAccounts = 300

/** An upstream that answers at once; each answer is made before it is asked for the second time, so that only that counts. */
class Answers implements Asking {
  readonly quorum = 1
  readonly count = 1
  bytes = 0
  readonly #upstream = {
    name: 'archive',
    accuse: (what: string) => Promise.reject(new Error(what)),
  } as unknown as Upstream
  readonly #archive: ArchiveNode
  readonly #known = new Map<string, string>()

  constructor(archive: ArchiveNode) {
    this.#archive = archive
  }

  get answering(): readonly Upstream[] {
    return [this.#upstream]
  }

  forget(): void {
    this.#known.clear()
    this.bytes = 0
  }

  async ask(method: string, params: readonly unknown[]) {
    const key = JSON.stringify([method, params])
    const text = this.#known.get(key) ?? JSON.stringify(this.#archive.answer({ method, params }))
    this.#known.set(key, text)
    this.bytes += text.length
    const answer = JSON.parse(text)
    if (answer.error) throw new NodeError(this.#upstream, answer.error.code, answer.error.message, undefined)
    return { result: answer.result, upstream: this.#upstream }
  }
}

const ways: readonly (readonly [way: string, offers: readonly Offer[]])[] = [
  ['accessList', ['accessList']],
  ['witness', ['witness']],
  ['proofs', []],
]

interface WayFigures {
  readonly ms: number[]
  readonly bytes: number[]
}

/** A gateway beside an archive that takes blocks in; each is read by every way. */
class Measured {
  readonly figures = new Map(ways.map(([way]): [string, WayFigures] => [way, { ms: [], bytes: [] }]))
  readonly gas: number[] = []
  readonly #archive: ArchiveNode
  readonly #store: GatewayWriter
  readonly #answers: Answers
  readonly #use = new HeldUse()
  /** For each way one that has the answers made, and one that is measured and meets each block once, as a gateway does. */
  readonly #readers = new Map<string, readonly [HeadReader, HeadReader]>()
  readonly #options: ConstructorParameters<typeof HeadReader>[2] &
    ConstructorParameters<typeof ProofFetcher>[2]
  readonly #hot = new HotSet(this.#use, { units: 4_096, bytes: 2 ** 23 })

  constructor(folder: string, genesis: string) {
    this.#archive = ArchiveNode.at(join(folder, 'archive.mdb'), genesis, [])
    const identity = this.#archive.store.readIdentity() as ChainIdentity
    this.#store = GatewayWriter.open({ path: join(folder, 'gateway.mdb'), mapBytes: 2 ** 32 })
    this.#store.begin(identity)
    const { number, hash } = this.#archive.head
    this.#advance(number, hash, this.#archive.store.readHeader(hash) as Uint8Array)
    this.#answers = new Answers(this.#archive)
    this.#options = { schedule: ForkSchedule.of(identity), fetchMsMax: 600_000, hot: this.#hot }
  }

  /** Its accounts are what is proved with each head from now on. */
  warmUp(): void {
    for (const [address] of this.#archive.store.accounts()) {
      this.#use.note(heldKey('account', address))
      this.#hot.note({ address: Uint8Array.from(address), slots: [] })
      if (this.#hot.questions().length >= hotAccounts) break
    }
  }

  async take(rlp: Uint8Array, isMeasured: boolean): Promise<void> {
    const { header, hash, headerRlp } = parseBlock(rlp)
    const { number } = header
    await this.#archive.take(rlp)
    if (isMeasured) {
      for (const [way, offers] of ways) {
        if (way !== 'accessList' || header.blockAccessListHash !== undefined)
          await this.#read(hash, way, offers)
      }
      this.gas.push(Number(header.gasUsed))
    }
    this.#advance(number, hash, headerRlp)
  }

  #advance(number: number, hash: Hash32, header: Uint8Array): void {
    this.#store.advance(number - 1, [{ number, hash, header, totalDifficulty: undefined }], number === 0)
  }

  async #read(hash: Hash32, way: string, offers: readonly Offer[]): Promise<void> {
    const answers = this.#answers
    this.#archive.offers = new Set(offers)
    const [first, reader] = this.#readers.get(way) ?? [this.#newReader(), this.#newReader()]
    this.#readers.set(way, [first, reader])
    await first.read(hash)
    answers.bytes = 0
    const before = process.cpuUsage()
    const found = await reader.read(hash)
    const { user, system } = process.cpuUsage(before)
    if (reader.way !== way || (way !== 'proofs' && found?.changes === undefined)) {
      throw new Error(`block ${bytesToHex(hash)} came by ${reader.way}, not ${way}`)
    }
    this.figures.get(way)?.ms.push((user + system) / 1_000)
    this.figures.get(way)?.bytes.push(answers.bytes)
    answers.forget()
  }

  #newReader(): HeadReader {
    return new HeadReader(
      this.#store,
      new ProofFetcher(this.#store, this.#answers, this.#options),
      this.#options,
    )
  }

  async close(): Promise<void> {
    await Promise.all([this.#store.close(), this.#archive.store.close()])
  }
}

/** The blocks of the Amsterdam chain. */
async function measureChain(folder: string, last: number): Promise<Measured> {
  const measured = new Measured(folder, readFileSync(folderOf('genesis.json'), 'utf8'))
  let number = 0
  for await (const { rlp } of readChainFile(folderOf('chain.rlp.gz'))) {
    number++
    if (number > last) break
    if (number === first) measured.warmUp()
    await measured.take(Uint8Array.from(rlp), number >= first)
  }
  await measured.close()
  return measured
}

/** Of each kind of the slowest blocks one, with a store of its own. */
async function measureWorst(folder: string, path: string, isQuick: boolean): Promise<Measured[]> {
  const all: Measured[] = []
  for await (const { text } of readTestFiles(path)) {
    const [test] = Object.values(JSON.parse(text) as Record<string, JsonChainTest>)
    if (test === undefined || (isQuick && all.length === quickWorst)) break
    const measured = new Measured(mkdtempSync(join(folder, 'worst-')), genesisTextOf(test))
    measured.warmUp()
    for (const { rlp } of test.blocks) {
      const bytes = hexToBytes(rlp)
      await measured.take(bytes, Number(parseBlock(bytes).header.gasUsed) >= worstGasMin)
    }
    await measured.close()
    if (measured.gas.length > 0) all.push(measured)
  }
  return all
}

function lineOf(name: string, of: readonly Measured[]): string {
  const lines = ways.map(([way]) => {
    const [ms, bytes] = (['ms', 'bytes'] as const).map((each) =>
      of.flatMap(({ figures }) => figures.get(way)?.[each] ?? []),
    ) as [number[], number[]]
    if (ms.length === 0) return `${way} –`
    const sorted = [...ms].sort((a, b) => a - b)
    const high = sorted[Math.floor(sorted.length * 0.95)] ?? 0
    return (
      `${way} ${(median(ms) ?? 0).toFixed(1)} ms of CPU (95 %: ${high.toFixed(1)}, most ${sorted.at(-1)?.toFixed(0)}), ` +
      `${Math.round((median(bytes) ?? 0) / 1_000)} KB`
    )
  })
  const gas = of.flatMap((each) => each.gas)
  const [middle, most] = [median(gas) ?? 0, Math.max(...gas)].map((value) => Math.round(value / 1e6))
  return `${gas.length} ${name} of ${middle} Mgas (most ${most}): ${lines.join('; ')}`
}

/** `gasFolder`: where the benchmarks of gas are; without it their blocks are left out. */
export const workingSetBlocks = (gasFolder: string | undefined): SpecialScenario => ({
  name: 'working-set-blocks',
  title: 'CPU time and bytes of a head of a gateway, by the way in which it stays current',
  async run({ folder, isQuick }) {
    if (!existsSync(folderOf('chain.rlp.gz'))) throw new Error(`there is no chain in ${folderOf('')}`)
    const chain = await measureChain(folder, isQuick ? 100 : 300)
    const worst =
      gasFolder === undefined ? [] : await measureWorst(folder, join(gasFolder, 'eest.tar.gz'), isQuick)
    const own: Side = { rate: median(chain.figures.get('accessList')?.ms ?? []) ?? 0, rateSpread: 0 }
    const note = [lineOf('blocks', [chain]), ...(worst.length > 0 ? [lineOf('slow blocks', worst)] : [])]
    return { unit: 'ms of CPU a head by access lists', own, rivals: {}, ratios: {}, note: note.join('. ') }
  },
})
