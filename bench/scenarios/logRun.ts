/**
 * Log searches: few logs in a very long chain, compared with anvil on a shorter one; and many logs, compared with
 * rendering alone.
 */
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { readBlockFacts } from '../../src/data/chain/header.js'
import { LogFilter } from '../../src/data/chain/logFilter.js'
import { blockMembers, type LogBlock, writeLog } from '../../src/data/chain/logJson.js'
import { searchLogs } from '../../src/data/chain/logSearch.js'
import { ChainReader } from '../../src/data/store/chainReader.js'
import { receiptLogsAt } from '../../src/data/store/layouts/logKeys.js'
import type { StoredBlock } from '../../src/data/store/storedBlock.js'
import { type Hash32, toAddress } from '../../src/primitives/bytes.js'
import { JsonBytes } from '../../src/primitives/jsonBytes.js'
import { rlpEndAt, rlpPayloadAt } from '../../src/primitives/rlp.js'
import { findNetwork, readThrough } from '../data/networks.js'
import { logsPerSender, senderTopics, spreadLogs, spreadToken, tokenAddress } from '../data/syntheticLogs.js'
import { saturate, targetOf, withConnections } from '../load/httpLoader.js'
import { askBody, resultsOf, rpc } from '../load/rpc.js'
import { compareSides, type Side, sideOf } from '../report/outcome.js'
import { findDifference, startAnvil } from '../servers/anvil.js'
import { startTidegate, withoutCaches } from '../servers/tidegateServer.js'
import type { SpecialScenario } from './specialScenario.js'

/** Number of blocks in anvil. */
export const rivalBlocks = 10_000
/** Rounds that do not count, in which a store of 3 GB is mapped and the search is compiled. */
const warmUpRounds = 3
/** Target for a search for ten logs. */
const msMax = 10

/** A request for the ten transfers of an account. */
function question(blocks: number, n: number): string {
  const topics = senderTopics(blocks, n * 7_919)
  return rpc('eth_getLogs', [{ address: tokenAddress, topics, fromBlock: '0x1', toBlock: 'latest' }])
}

export const fewLogs: SpecialScenario = {
  name: 'logs',
  title: 'ten logs out of a million blocks',
  seconds: ({ rounds, seconds }) => 20 + (3 + rounds) * 3 * seconds,
  async run({ folder, settings, server: options }) {
    const { logBlocks } = settings
    const long = await findNetwork('logs', { kind: 'logs', count: logBlocks })
    const short = await findNetwork('logs-short', { kind: 'logs', count: rivalBlocks })
    for (const network of [long, short]) await readThrough(network)
    const limits = { ...options.limits, ...withoutCaches }
    const server = await startTidegate(folder, [long, short], { ...options, limits })
    const shortUrl = new URL('/logs-short', server.said).href
    const anvil = await startAnvil(folder, short, shortUrl)
    const anvilUrl = `http://127.0.0.1:${anvil.said}/`
    try {
      for (const n of [0, 1, 2]) {
        const [[mine], [theirs]] = (await Promise.all(
          [shortUrl, anvilUrl].map(async (url) => resultsOf(await askBody(url, question(rivalBlocks, n)))),
        )) as [unknown[], unknown[]]
        if ((mine as unknown[]).length !== logsPerSender) throw new Error('an account has not ten transfers')
        const difference = findDifference(mine, theirs)
        if (difference !== undefined) throw new Error(`anvil differs: ${difference}`)
      }
      const places = [
        [new URL('/logs', server.said).href, logBlocks],
        [shortUrl, rivalBlocks],
        [anvilUrl, rivalBlocks],
      ] as const
      const rates: number[][] = [[], [], []]
      let n = 0
      for (let round = -warmUpRounds; round < settings.rounds; round++) {
        for (const [at, [url, blocks]] of places.entries()) {
          // One connection that sends the next request at once, so that the rate gives the time of an answer.
          const { answers, seconds } = await withConnections(targetOf(url), 1, (open) =>
            saturate(open, settings.seconds, () => question(blocks, n++)),
          )
          if (round >= 0) rates[at]?.push(answers / seconds)
        }
      }
      const [own, mine, theirs] = rates.map(sideOf) as [Side, Side, Side]
      return {
        unit: 'searches',
        own,
        rivals: { 'short chain': mine, anvil: theirs },
        ratios: {
          limit: { value: (own.rate * msMax) / 1_000, by: 'rate' },
          anvil: compareSides(mine, theirs),
        },
        note: `in ${logBlocks} blocks one takes ${(1_000 / own.rate).toFixed(2)} ms; limit is ${msMax} ms; anvil and what it is compared with hold ${rivalBlocks} blocks`,
      }
    } finally {
      await anvil.stop()
      await server.stop()
    }
  },
}

/** A log at a known place. */
interface Found {
  readonly number: number
  readonly hash: Hash32
  readonly transaction: number
  readonly logIndex: number
  /** Offset of the log's RLP in the receipts. */
  readonly at: number
}

export const manyLogs: SpecialScenario = {
  name: 'logs-many',
  title: '10,000 logs out of a million blocks, beside rendering them',
  seconds: () => 10,
  async run({ settings: { rounds, logBlocks } }) {
    const { folder } = await findNetwork('logs', { kind: 'logs', count: logBlocks })
    const store = ChainReader.open({ path: join(folder, 'chain.mdb') })
    try {
      const head = store.readHead()
      if (head === undefined) throw new Error('the chain has no head')
      const criteria = { addresses: [toAddress(spreadToken)], topics: [] }
      const bounds = { logsMax: Number.MAX_SAFE_INTEGER, logBytesMax: Number.MAX_SAFE_INTEGER }
      const search = () =>
        searchLogs(store, { criteria, head, first: 0, last: head.number }, bounds, () => false)?.json.length
      const known = findAll(store, head.number, new LogFilter(criteria))
      if (known.length !== Math.min(spreadLogs, logBlocks)) throw new Error(`${known.length} logs were found`)
      const render = () => renderAll(store, known)
      if (search() !== render()) throw new Error('both have to make the same text')
      const ms: number[][] = [[], []]
      for (let round = -2; round < rounds * 3; round++) {
        for (const [at, work] of [search, render].entries()) {
          const startedAtMs = performance.now()
          work()
          if (round >= 0) ms[at]?.push(1_000 / (performance.now() - startedAtMs))
        }
      }
      const [own, rendering] = ms.map(sideOf) as [Side, Side]
      return {
        unit: 'searches',
        own,
        rivals: { rendering },
        ratios: { rendering: compareSides(own, rendering) },
      }
    } finally {
      await store.close()
    }
  },
}

/** Every log that matches, found without the index. */
function findAll(store: ChainReader, last: number, filter: LogFilter): Found[] {
  const found: Found[] = []
  for (let number = 1; number <= last; number++) {
    const hash = store.readCanonicalHash(number) as Hash32
    const receipts = store.readReceipts(hash) as Uint8Array
    const end = rlpEndAt(receipts, 0)
    let transaction = 0
    let logIndex = 0
    for (let receipt = rlpPayloadAt(receipts, 0); receipt < end; receipt = rlpEndAt(receipts, receipt)) {
      const logs = receiptLogsAt(receipts, receipt)
      for (
        let at = rlpPayloadAt(receipts, logs);
        at < rlpEndAt(receipts, logs);
        at = rlpEndAt(receipts, at)
      ) {
        if (filter.matchesAt(receipts, at)) found.push({ number, hash, transaction, logIndex, at })
        logIndex++
      }
      transaction++
    }
  }
  return found
}

/** Reads and renders logs at known places. Returns the length of the text. */
function renderAll(store: ChainReader, known: readonly Found[]): number {
  const json = new JsonBytes(16 * 1024)
  json.text('[')
  for (const [index, { number, hash, transaction, logIndex, at }] of known.entries()) {
    const receipts = store.readReceipts(hash) as Uint8Array
    const { header, senders } = store.readBlock(hash, number) as StoredBlock
    const { timestamp } = readBlockFacts(header)
    const block: LogBlock = { hash, header: { number, timestamp } }
    if (index > 0) json.text(',')
    writeLog(json, receipts, at, { senders, index: transaction }, blockMembers(block), logIndex)
  }
  json.text(']')
  return json.finish().length
}
