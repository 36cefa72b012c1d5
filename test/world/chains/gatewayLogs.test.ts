// @shares
/** Random searches of a gateway that has completed its logs, beside an archive of the same chain. */
import { join } from 'node:path'
import t from 'tap'
import { ForkSchedule, parseGenesisConfig } from '../../../src/data/chain/forks.js'
import { knownIdentity } from '../../../src/data/chain/knownNetworks.js'
import type { LogCriteria } from '../../../src/data/chain/logFilter.js'
import { searchLogs } from '../../../src/data/chain/logSearch.js'
import { openRows } from '../../../src/data/state/provedRows.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import type { BlockName, ChainIdentity, ChainRows } from '../../../src/data/store/chainRows.js'
import type { Address, Hash32 } from '../../../src/primitives/bytes.js'
import { decodeRlp, decodeRlpList, rlpBytes, rlpList } from '../../../src/primitives/rlp.js'
import { importArchives } from '../../../src/sources/ingest/era/importArchives.js'
import { LogFiller } from '../../../src/sources/ingest/gateway/logFiller.js'
import { ProofFetcher } from '../../../src/sources/ingest/gateway/proofFetcher.js'
import { ArchiveNodes, makeGatewayStore } from '../../ingest/archiveNodes.js'
import { sepoliaArchive, withoutSepolia } from '../../ingest/eraArchives.js'
import { makeFolder } from '../../library/folder.js'
import { Dice, propertyRuns } from '../../library/property.js'
import { demoStorePath } from '../../store/storedMessages.js'

interface Log {
  readonly number: number
  readonly address: Address
  readonly topics: readonly Hash32[]
}

/** Every log of a chain, read without the tested code. */
function logsOf(archive: ChainReader, first: number, last: number): Log[] {
  return Array.from(archive.blocksFrom(first, last - first + 1), ({ hash }, index) => {
    const receipts = archive.readReceipts(Uint8Array.from(hash) as Hash32) as Uint8Array
    return decodeRlpList(receipts).flatMap((item) => {
      const bytes = rlpBytes(item)
      const [, , , logs] = rlpList(decodeRlp((bytes[0] as number) >= 0xc0 ? bytes : bytes.subarray(1)))
      return rlpList(logs).map((log): Log => {
        const [address, topics] = rlpList(log)
        return {
          number: first + index,
          address: rlpBytes(address) as Address,
          topics: rlpList(topics).map((topic) => rlpBytes(topic) as Hash32),
        }
      })
    })
  }).flat()
}

function madeLog(dice: Dice): Log {
  const bytes = (count: number) => Uint8Array.from(dice.times(count, () => dice.throw(256)))
  return { number: 0, address: bytes(20) as Address, topics: dice.times(3, () => bytes(32) as Hash32) }
}

/** Criteria that usually match some log: they combine its values with those of other logs. */
function chooseCriteria(logs: readonly Log[], dice: Dice): LogCriteria {
  const any = () => logs[dice.throw(logs.length)] as Log
  const met = any()
  const some = <T>(own: T, other: (log: Log) => T | undefined): T[] => {
    if (dice.throw(3) === 0) return []
    const others = dice.times(dice.throw(3), () => other(any())).filter((each) => each !== undefined)
    return dice.throw(10) === 0 ? others : [own, ...others]
  }
  return {
    addresses: some(met.address, ({ address }) => address),
    topics: met.topics
      .slice(0, dice.throw(met.topics.length + 1))
      .map((topic, at) => some(topic, ({ topics }) => topics[at])),
  }
}

const chains = [
  { name: 'the demo chain', skip: false as const, open: async () => demoStorePath },
  {
    name: 'an archive of Sepolia',
    skip: withoutSepolia,
    async open(folder: string) {
      const storePath = join(folder, 'archive.mdb')
      const identity = knownIdentity('sepolia', undefined) as ChainIdentity
      const archives = [sepoliaArchive]
      const task = {
        storePath,
        mapBytes: 2 ** 30,
        identity,
        archives,
        bytesTotal: 1,
        accumulators: undefined,
      }
      await importArchives(task, { report: () => undefined, signal: new AbortController().signal })
      return storePath
    },
  },
]

for (const { name, skip, open } of chains) {
  t.test(
    `random searches are answered as by the archive, and nobody is asked: ${name}`,
    { skip },
    async (t) => {
      const folder = makeFolder(t)
      const archive = ChainReader.open({ path: await open(folder) })
      t.teardown(() => archive.close())
      const identity = archive.readIdentity() as ChainIdentity
      const schedule = new ForkSchedule(parseGenesisConfig(JSON.parse(identity.config)))
      const path = join(folder, 'gateway.mdb')
      const store = makeGatewayStore(path, archive)
      const nodes = new ArchiveNodes(archive, { one: (receipts) => receipts, other: (receipts) => receipts })
      const fetcher = new ProofFetcher(store, nodes, { schedule, fetchMsMax: 600_000 })
      const filler = new LogFiller(store, fetcher, { from: 0, upstreams: nodes, log: (text) => t.fail(text) })
      filler.wake()
      await filler.idle()
      await store.close()
      // The reader has no upstream: missing data throws.
      const rows = openRows({ path })
      t.teardown(() => rows.close())
      const head = rows.readHead() as BlockName
      const from = rows.readLinkedFrom() as number
      t.strictSame(rows.readLogRanges(), [[from, head.number]])
      const logs = logsOf(archive, from, head.number)
      t.equal(logs.length === 0, archive.countLogIndex() === 0, `${logs.length} logs`)
      const { numRuns, seed } = propertyRuns(500)
      const dice = new Dice(seed as number)
      // The available blocks of Sepolia have transactions and no logs.
      const met = logs.length > 0 ? logs : dice.times(20, () => madeLog(dice))
      let found = 0
      for (let run = 0; run < (numRuns as number); run++) {
        const first = from + dice.throw(head.number - from + 1)
        const last = first + dice.throw(head.number - first + 1)
        const search = { criteria: chooseCriteria(met, dice), head, first, last }
        const bounds = { logsMax: 1 + dice.throw(2_000), logBytesMax: 2 ** 24 }
        const [mine, its] = [rows, archive].map((each: ChainRows) =>
          searchLogs(each, search, bounds, () => false),
        )
        const texts = [mine, its].map((each) => each && Buffer.from(each.json).toString())
        if (texts[0] !== texts[1] || mine?.last !== its?.last) {
          t.fail(`blocks ${first} to ${last}: ${texts[0]}, not ${texts[1]}`, { seed, run })
        }
        found += mine?.count ?? 0
      }
      t.ok(
        logs.length === 0 ? found === 0 : found > (numRuns as number) / 4,
        `${found} logs were found by ${numRuns} searches`,
      )
    },
  )
}
