/**
 * What a head costs a gateway, by the way in which it stays current: CPU time of this thread from the answers of its
 * upstream to what is ready to be stored, and bytes of these answers. The blocks are those of the Amsterdam chain that
 * lies beside the repository, some 30 million gas each.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ForkSchedule } from '../../src/chain/forks.js'
import { parseBlock } from '../../src/ingest/block.js'
import { readChainFile } from '../../src/ingest/chainFile.js'
import { HeadReader } from '../../src/ingest/gateway/headReader.js'
import { HotSet } from '../../src/ingest/gateway/hotSet.js'
import { ProofFetcher } from '../../src/ingest/gateway/proofFetcher.js'
import type { Asking } from '../../src/ingest/gateway/proving.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import type { ChainIdentity } from '../../src/store/chainRows.js'
import { GatewayWriter } from '../../src/store/gatewayWriter.js'
import { heldKey } from '../../src/store/heldRows.js'
import { HeldUse } from '../../src/store/heldUse.js'
import { NodeError, type Upstream } from '../../src/upstream/upstream.js'
import { ArchiveNode, type Offer } from '../../test/ingest/gatewayRig.js'
import type { Side } from '../report/outcome.js'
import { median } from '../report/statistics.js'
import type { SpecialScenario } from './specialScenario.js'

const folderOf = (name: string) => join(packageRoot(), '../shared/amsterdam/chains/a1-cross', name)
/** The first block that is measured: the code that reads them is compiled by then. */
const first = 60
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

export const workingSetBlocks: SpecialScenario = {
  name: 'working-set-blocks',
  title: 'CPU time and bytes of a head of a gateway, by the way in which it stays current',
  async run({ folder, isQuick }) {
    if (!existsSync(folderOf('chain.rlp.gz'))) throw new Error(`there is no chain in ${folderOf('')}`)
    const archive = ArchiveNode.at(
      join(folder, 'archive.mdb'),
      readFileSync(folderOf('genesis.json'), 'utf8'),
      [],
    )
    const identity = archive.store.readIdentity() as ChainIdentity
    const store = GatewayWriter.open({ path: join(folder, 'gateway.mdb'), mapBytes: 2 ** 32 })
    store.begin(identity)
    const use = new HeldUse()
    const hot = new HotSet(use, { units: 4_096, bytes: 2 ** 23 })
    const options = { schedule: ForkSchedule.of(identity), fetchMsMax: 600_000, hot }
    const answers = new Answers(archive)
    const times = new Map(ways.map(([way]) => [way, { ms: [] as number[], bytes: [] as number[] }]))
    const gas: number[] = []
    const last = isQuick ? 100 : 300
    for await (const { rlp } of readChainFile(folderOf('chain.rlp.gz'))) {
      const { header, hash, headerRlp } = parseBlock(Uint8Array.from(rlp))
      const { number } = header
      if (number > last) break
      await archive.take(Uint8Array.from(rlp))
      if (number === first) {
        for (const [address] of archive.store.accounts()) {
          use.note(heldKey('account', address))
          hot.note({ address: Uint8Array.from(address), slots: [] })
          if (hot.questions().length >= hotAccounts) break
        }
      }
      for (const [way, offers] of number < first ? [] : ways) {
        archive.offers = new Set(offers)
        const reader = () => new HeadReader(store, new ProofFetcher(store, answers, options), options)
        await reader().read(hash)
        answers.bytes = 0
        const timed = reader()
        const before = process.cpuUsage()
        const found = await timed.read(hash)
        const { user, system } = process.cpuUsage(before)
        if (timed.way !== way || (way !== 'proofs' && found?.changes === undefined)) {
          throw new Error(`block ${number} came by ${timed.way}, not ${way}`)
        }
        times.get(way)?.ms.push((user + system) / 1_000)
        times.get(way)?.bytes.push(answers.bytes)
        answers.forget()
      }
      if (number >= first) gas.push(Number(header.gasUsed))
      store.advance(
        number - 1,
        [{ number, hash, header: headerRlp, totalDifficulty: undefined }],
        number === 0,
      )
    }
    await Promise.all([store.close(), archive.store.close()])
    const lines = [...times].map(([way, { ms, bytes }]) => {
      const sorted = [...ms].sort((a, b) => a - b)
      const high = sorted[Math.floor(sorted.length * 0.95)] ?? 0
      return `${way} ${(median(ms) ?? 0).toFixed(1)} ms of CPU (95 %: ${high.toFixed(1)}), ${Math.round((median(bytes) ?? 0) / 1_000)} KB`
    })
    const own: Side = { rate: median(times.get('accessList')?.ms ?? []) ?? 0, rateSpread: 0 }
    const note = `${gas.length} blocks of ${Math.round((median(gas) ?? 0) / 1e6)} Mgas (most ${Math.round(Math.max(...gas) / 1e6)}): ${lines.join('; ')}`
    return { unit: 'ms of CPU a head by access lists', own, rivals: {}, ratios: {}, note }
  },
}
