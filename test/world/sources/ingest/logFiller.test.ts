// @shares
/** How a gateway completes its log index, from nodes that may lie or be away. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ForkSchedule, parseGenesisConfig } from '../../../../src/data/chain/forks.js'
import { decodeHeader } from '../../../../src/data/chain/header.js'
import { searchLogs } from '../../../../src/data/chain/logSearch.js'
import { openRows } from '../../../../src/data/state/provedRows.js'
import type { ChainIdentity, ChainRows } from '../../../../src/data/store/chainRows.js'
import type { GatewayWriter } from '../../../../src/data/store/gatewayWriter.js'
import { equalBytes, type Hash32 } from '../../../../src/primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../../../src/primitives/keccak.js'
import { LogFiller, type LogFillerOptions } from '../../../../src/sources/ingest/gateway/logFiller.js'
import { ProofFetcher } from '../../../../src/sources/ingest/gateway/proofFetcher.js'
import { verifyGateway } from '../../../../src/sources/ingest/gateway/verifyGateway.js'
import { ArchiveNodes, makeGatewayStore, type Tell } from '../../../ingest/archiveNodes.js'
import { lieAboutLogs } from '../../../ingest/logLies.js'
import { makeFolder } from '../../../library/folder.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { waitFor } from '../../../library/until.js'
import { demoHead, demoStore } from '../../../unit/execution/evm/demoExecution.js'

const identity = demoStore.readIdentity() as ChainIdentity
const schedule = new ForkSchedule(parseGenesisConfig(JSON.parse(identity.config)))
const honest: Tell = (receipts) => receipts

/** Numbers of the blocks that have transactions. */
const full = Array.from(demoStore.blocksFrom(0, demoHead.number + 1), ({ header }) => decodeHeader(header))
  .filter(({ receiptsRoot }) => !equalBytes(receiptsRoot, emptyTrieRoot))
  .map(({ number }) => number)

interface Rig {
  readonly path: string
  readonly store: GatewayWriter
  readonly filler: LogFiller
  readonly said: string[]
  readonly kept: ProofFetcher['kept']
}

/** A gateway's store with the headers of the demo chain, and its filler with these nodes. */
function openRig(t: Test, nodes: ArchiveNodes, from = 0, options: Partial<LogFillerOptions> = {}): Rig {
  const path = join(makeFolder(t), 'chain.mdb')
  const store = makeGatewayStore(path, demoStore)
  const fetcher = new ProofFetcher(store, nodes, { schedule, fetchMsMax: 600_000 })
  const said: string[] = []
  const log = (text: string) => void said.push(text)
  const filler = new LogFiller(store, fetcher, { from, upstreams: nodes, log, ...options })
  t.teardown(async () => {
    await filler.close()
    await store.close()
  })
  return { path, store, filler, said, kept: fetcher.kept }
}

async function fill({ filler }: Pick<Rig, 'filler'>): Promise<void> {
  filler.wake()
  await filler.idle()
}

const bounds = { logsMax: Number.MAX_SAFE_INTEGER, logBytesMax: Number.MAX_SAFE_INTEGER }

/** All logs from block `first` on. */
function allLogs(rows: ChainRows, first = 0): string {
  const search = { criteria: { addresses: [], topics: [] }, head: demoHead, first, last: demoHead.number }
  const found = searchLogs(rows, search, bounds, () => false)
  if (found === undefined) throw new Error('a search stopped')
  return Buffer.from(found.json).toString()
}

const expected = allLogs(demoStore)

/** The store has the whole index, and answers from it as the archive does. */
async function checkWhole(t: Test, { path, store }: Rig): Promise<void> {
  const { faults, indexed } = verifyGateway(store)
  t.strictSame(faults, [])
  t.equal(indexed, demoHead.number + 1)
  const rows = openRows({ path })
  try {
    t.ok(allLogs(rows) === expected, 'all logs are those of the archive')
  } finally {
    await rows.close()
  }
}

t.test('no more bytes come in a second than may', async (t) => {
  // The highest blocks, as many as three rounds of 32 fetch, and some more.
  const from = full.at(-100) ?? 0
  const rows = Array.from(demoStore.blocksFrom(from, demoHead.number + 1 - from))
  let bytes = 0
  for (const { header } of rows) {
    const hash = keccak256(header)
    bytes += (demoStore.readBody(hash)?.length ?? 0) + (demoStore.readReceipts(hash)?.length ?? 0)
  }
  const seconds = 3
  const rig = openRig(t, new ArchiveNodes(demoStore, { node: honest }), from, {
    bytesPerSecondMax: bytes / seconds,
  })
  const begun = performance.now()
  await fill(rig)
  const spent = (performance.now() - begun) / 1_000
  t.ok(spent >= seconds * 0.99, `${bytes} bytes in ${spent} s`)
})

t.test(
  'each block is fetched once, from all nodes in turn; blocks without transactions are not',
  async (t) => {
    const nodes = new ArchiveNodes(demoStore, { first: honest, second: honest, third: honest })
    const rig = openRig(t, nodes)
    await fill(rig)
    t.strictSame(
      [...nodes.asked.keys()].sort((a, b) => a - b),
      full,
    )
    t.ok([...nodes.asked.values()].every(({ length }) => length === 1))
    for (const name of ['first', 'second', 'third']) {
      const count = [...nodes.asked.values()].filter(([asked]) => asked === name).length
      t.ok(count > full.length / 4, `${name}: ${count} of ${full.length}`)
    }
    t.strictSame(rig.kept, { body: full.length, receipts: full.length })
    await checkWhole(t, rig)
    const before = nodes.questions.length
    await fill(rig)
    t.equal(nodes.questions.length, before, 'nothing is asked once it is filled')
    t.strictSame(rig.said, [])
  },
)

t.test('no lie about logs gets into the index, and each is noticed', async (t) => {
  const { numRuns, seed } = propertyRuns(300)
  const dice = new Dice(seed as number)
  const reported: Record<string, number> = {}
  let count = 0
  const lie: Tell = (receipts) => {
    const { name, reported: lied } = lieAboutLogs(receipts, dice)
    reported[name] = (reported[name] ?? 0) + 1
    count++
    return lied
  }
  while (count < (numRuns as number)) {
    const before = count
    const nodes = new ArchiveNodes(demoStore, { liar: lie, other: lie, honest })
    nodes.isRaw = dice.throw(2) === 0
    const rig = openRig(t, nodes)
    await fill(rig)
    t.equal(nodes.accused.length, count - before, `as many as lied, seed ${seed}`)
    t.ok(nodes.accused.every((what) => /^(liar|other): (receipts|bloom)/.test(what)))
    t.ok(nodes.accused.every((what) => !what.startsWith('honest')))
    await checkWhole(t, rig)
  }
  t.comment(JSON.stringify(reported))
  t.equal(Object.keys(reported).length, 11, 'each kind of lie was told')
})

t.test('what is held comes first, from below, and is not asked for', async (t) => {
  const nodes = new ArchiveNodes(demoStore, { only: honest })
  const rig = openRig(t, nodes)
  const last = 100
  for (let number = 0; number <= last; number++) {
    const hash = demoStore.readCanonicalHash(number) as Hash32
    const { senders } = demoStore.readBlock(hash) as { senders: Uint8Array }
    rig.store.putContent(hash, {
      body: Uint8Array.from(demoStore.readBody(hash) as Uint8Array),
      senders: Uint8Array.from(senders),
    })
    rig.store.putReceipts(hash, { row: demoStore.readReceipts(hash) as Uint8Array })
  }
  let ranges: unknown
  nodes.onAsk = () => {
    ranges ??= rig.store.readLogRanges()
  }
  await fill(rig)
  t.strictSame(ranges, [[0, last]], 'all of it is there before the first question')
  t.strictSame(
    [...nodes.asked.keys()].sort((a, b) => a - b),
    full.filter((number) => number > last),
  )
  await checkWhole(t, rig)
})

t.test('nothing below the lowest block that is wanted is fetched', async (t) => {
  const nodes = new ArchiveNodes(demoStore, { only: honest })
  const rig = openRig(t, nodes, 150)
  await fill(rig)
  t.strictSame(rig.store.readLogRanges(), [[150, demoHead.number]])
  t.strictSame(
    [...nodes.asked.keys()].sort((a, b) => a - b),
    full.filter((number) => number >= 150),
  )
  t.strictSame(verifyGateway(rig.store).faults, [])
  const rows = openRows({ path: rig.path })
  t.ok(allLogs(rows, 150) === allLogs(demoStore, 150))
  t.throws(() => allLogs(rows, 100), { message: /not stored/ })
  await rows.close()
})

t.test('where nobody has a block the rest of its batch is kept, and it is tried again', async (t) => {
  const missing = full.at(-3) as number
  let isAway = true
  const nodes = new ArchiveNodes(demoStore, { only: honest })
  const node = nodes.ask.bind(nodes)
  const hash = demoStore.readCanonicalHash(missing) as Hash32
  const text = Buffer.from(hash).toString('hex')
  nodes.ask = async (method, params, options) => {
    const answer = await node(method, params, options)
    return isAway && String(params[0]).includes(text) ? { ...answer, result: null } : answer
  }
  const rig = openRig(t, nodes)
  rig.filler.wake()
  await waitFor('the failure', () => rig.said.length > 0)
  t.match(rig.said, [/^logs below the head: no upstream gave block 0x/])
  const ranges = rig.store.readLogRanges()
  t.equal(ranges.at(-1)?.[0], missing + 1)
  t.equal(ranges.at(-2)?.[1], missing - 1, 'the others of its batch')
  isAway = false
  await rig.filler.idle()
  t.equal(nodes.asked.get(missing)?.length, 3, 'raw and as JSON, and then raw')
  t.ok([...nodes.asked].every(([number, { length }]) => length === 1 || number === missing))
  await checkWhole(t, rig)
})

t.test('blocks that leave the chain while it is filled leave the index, and come back once', async (t) => {
  const { seed, numRuns } = propertyRuns(4)
  const dice = new Dice(seed as number)
  for (let run = 0; run < (numRuns as number); run++) {
    const nodes = new ArchiveNodes(demoStore, { first: honest, second: honest })
    const rig = openRig(t, nodes)
    rig.store.keepsLogIndex = dice.throw(2) === 0
    const headers = Array.from(demoStore.blocksFrom(0, demoHead.number + 1), ({ header, hash }, number) => ({
      number,
      hash: Uint8Array.from(hash) as Hash32,
      header: Uint8Array.from(header),
      totalDifficulty: undefined,
    }))
    // The chain loses some of its blocks, and gets some or all of them again, amid the questions of the filler.
    nodes.onAsk = () => {
      if (dice.throw(20) > 0) return
      const head = rig.store.readHead()?.number as number
      const fork = dice.throw(3) === 0 ? dice.throw(head) : Math.max(0, head - dice.throw(5))
      const next = Math.min(demoHead.number, fork + 1 + dice.throw(60))
      rig.store.advance(fork, headers.slice(fork + 1, next + 1), false)
      rig.filler.wake()
    }
    rig.filler.wake()
    await waitFor('the end of the storm', async () => {
      await rig.filler.idle()
      return true
    })
    nodes.onAsk = () => undefined
    const head = rig.store.readHead()?.number as number
    rig.store.advance(head, headers.slice(head + 1), false)
    await fill(rig)
    t.comment(`seed ${seed}: ${nodes.questions.length} questions`)
    await checkWhole(t, rig)
  }
})
