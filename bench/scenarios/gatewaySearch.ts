/**
 * A search of a gateway that has completed its logs, beside the same search of an archive: 10,000 blocks, of which each
 * has a log that matches, in process and in turns.
 */
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { readBlockFacts } from '../../src/chain/header.js'
import { searchLogs } from '../../src/chain/logSearch.js'
import { type Hash32, toAddress } from '../../src/primitives/bytes.js'
import { openRows } from '../../src/state/provedRows.js'
import { ChainReader } from '../../src/store/chainReader.js'
import type { BlockName, ChainIdentity } from '../../src/store/chainRows.js'
import { GatewayWriter } from '../../src/store/gatewayWriter.js'
import { syntheticLogs } from '../data/benchData.js'
import { spreadToken } from '../data/syntheticLogs.js'
import { compareSides, type Side } from '../report/outcome.js'
import { median, spread } from '../report/statistics.js'
import { rivalBlocks } from './logRun.js'
import type { SpecialScenario } from './specialScenario.js'

/** Rounds that do not count, until the search is compiled. */
const warmUpRounds = 5
/** Blocks of one transaction of the store. */
const blocksPerCommit = 1_000

export const gatewaySearch: SpecialScenario = {
  name: 'gateway-search',
  title: '10,000 logs of 10,000 blocks, of a gateway with complete logs',
  async run({ folder, settings }) {
    const { folder: kept } = await syntheticLogs('logs-short', rivalBlocks)
    const archive = ChainReader.open({ path: join(kept, 'chain.mdb') })
    const path = join(folder, 'gateway.mdb')
    await copyInto(path, archive)
    const gateway = openRows({ path })
    try {
      const head = archive.readHead() as BlockName
      const search = {
        criteria: { addresses: [toAddress(spreadToken)], topics: [] },
        head,
        first: 1,
        last: rivalBlocks,
      }
      const bounds = { logsMax: Number.MAX_SAFE_INTEGER, bytesMax: Number.MAX_SAFE_INTEGER }
      const sides = [gateway, archive].map((rows) => ({
        run: () => searchLogs(rows, search, bounds, () => false),
        rates: [] as number[],
      }))
      const [mine, its] = sides.map(({ run }) => run())
      if (mine === undefined || its === undefined || !Buffer.from(mine.json).equals(Buffer.from(its.json))) {
        throw new Error('the gateway answers otherwise than the archive')
      }
      if (mine.count !== rivalBlocks) throw new Error(`${mine.count} logs were found`)
      for (let round = -warmUpRounds; round < settings.rounds * 5; round++) {
        for (const { run, rates } of round % 2 === 0 ? sides : sides.toReversed()) {
          const startedAtMs = performance.now()
          run()
          if (round >= 0) rates.push(1_000 / (performance.now() - startedAtMs))
        }
      }
      const [own, other] = sides.map(({ rates }) => sideOf(rates)) as [Side, Side]
      const times = other.rate / own.rate
      return {
        unit: 'searches',
        own,
        rivals: { archive: other },
        ratios: { archive: compareSides(own, other) },
        note: `one takes ${(1_000 / own.rate).toFixed(1)} ms, ${times.toFixed(2)} × the archive's; limit is 1.2 ×`,
      }
    } finally {
      await gateway.close()
      await archive.close()
    }
  },
}

function sideOf(rates: readonly number[]): Side {
  return { rate: median(rates) ?? 0, rateSpread: spread(rates), rounds: rates.map((rate) => ({ rate })) }
}

/** Makes a gateway's store with all that the archive has of its blocks, and the index of their logs. */
async function copyInto(path: string, archive: ChainReader): Promise<void> {
  const store = GatewayWriter.open({ path, mapBytes: 2 ** 34 })
  const { number: last } = archive.readHead() as BlockName
  store.begin(archive.readIdentity() as ChainIdentity)
  const blocks = Array.from(archive.blocksFrom(0, last + 1), (row) => {
    const [hash, header, senders] = [row.hash, row.header, row.senders].map((part) => Uint8Array.from(part))
    return { hash: hash as Hash32, header: header as Uint8Array, senders: senders as Uint8Array }
  })
  const headers = blocks.map(({ hash, header }, number) => {
    if (readBlockFacts(header).number !== number) throw new Error(`block ${number} is another one`)
    return { number, hash, header, totalDifficulty: undefined }
  })
  store.advance(-1, headers, true)
  for (let end = last; end >= 0; end -= blocksPerCommit) {
    const first = Math.max(0, end - blocksPerCommit + 1)
    const parts = blocks.slice(first, end + 1).map(({ hash, senders }) => ({
      hash,
      content: { body: Uint8Array.from(archive.readBody(hash) as Uint8Array), senders },
      receipts: Uint8Array.from(archive.readReceipts(hash) as Uint8Array),
    }))
    store.fillLogs(parts, first, end)
  }
  await store.close()
}
