import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { ForkSchedule, parseGenesisConfig } from '../../../../../src/data/chain/forks.js'
import { EpochTree } from '../../../../../src/data/ssz/epochTree.js'
import { bytesToHex, equalBytes } from '../../../../../src/primitives/bytes.js'
import { decodeRlpList, rlpList } from '../../../../../src/primitives/rlp.js'
import { BlockChecks, type CheckedBlock } from '../../../../../src/sources/ingest/era/blockChecks.js'
import { EraFileError } from '../../../../../src/sources/ingest/era/e2store.js'
import { EraFile } from '../../../../../src/sources/ingest/era/eraFile.js'
import { EraWriter } from '../../../../../src/sources/ingest/era/exportArchives.js'
import { frame, unframe } from '../../../../../src/sources/ingest/era/snappyFrames.js'
import {
  archivedConfig,
  makeBlocks,
  sepoliaArchive,
  withoutSepolia,
  withWrongChecksum,
  writeArchive,
  writeEre,
} from '../../../../ingest/eraArchives.js'
import { propertyRuns } from '../../../../library/property.js'

const schedule = new ForkSchedule(parseGenesisConfig(archivedConfig))
const blocks = makeBlocks(24)

/** Reads and checks a whole archive, including its accumulator. Returns the fault. */
function faultOf(path: string, rules = schedule): string | undefined {
  try {
    const archive = new EraFile(path)
    try {
      const checks = new BlockChecks(archive, rules)
      const checked: CheckedBlock[] = []
      for (const block of archive.blocks()) {
        checked.push(checks.check(block, archive.first + checked.length, checked.at(-1)))
      }
      const { root } = new EpochTree(checked)
      const { accumulator } = archive
      return accumulator !== undefined && equalBytes(root, accumulator) ? undefined : 'another accumulator'
    } finally {
      archive.close()
    }
  } catch (error) {
    if (error instanceof EraFileError) return error.message
    throw error
  }
}

t.test('snappy frames give back their content, and name the byte of what is damaged', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200_000 }), (content) => {
      const framed = frame(content)
      t.ok(content.length === 0 || equalBytes(unframe(framed), content))
    }),
    propertyRuns(20),
  )
  const zeros = new Uint8Array(100_000)
  t.ok(frame(zeros).length < 10_000)
  t.ok(equalBytes(unframe(frame(zeros)), zeros))
  t.throws(
    () => unframe(withWrongChecksum(zeros.subarray(0, 50))),
    /checksum of a chunk is 0x.{8}, .* at byte 10$/,
  )
  t.throws(() => unframe(Buffer.from('hello')), /identifier is missing at byte 0/)
})

t.test('an archive gives back its blocks', async (t) => {
  const path = join(t.testdir(), 'chain.era1')
  const root = writeArchive(path, blocks)
  const archive = new EraFile(path)
  t.match(archive, { first: 0, count: 24, hasReceipts: true })
  t.equal(bytesToHex(archive.accumulator as Uint8Array), bytesToHex(root))
  for (const [index, read] of [...archive.blocks()].entries()) {
    const { header, body, receipts, totalDifficulty } = blocks[index] as (typeof blocks)[number]
    t.strictSame(
      [read.header, read.body, read.receipts].map((bytes) =>
        Buffer.from(bytes as Uint8Array).toString('hex'),
      ),
      [header, body, receipts].map((bytes) => Buffer.from(bytes).toString('hex')),
    )
    t.equal(read.totalDifficulty, totalDifficulty)
  }
  archive.close()
  t.equal(faultOf(path), undefined)
})

t.test('an ere archive gives back its blocks, with what its profile leaves out missing', async (t) => {
  const path = join(t.testdir(), 'chain.ere')
  const accumulator = new EpochTree(blocks).root
  writeEre(path, blocks, { accumulator })
  t.equal(faultOf(path), undefined)
  const whole = new EraFile(path)
  t.equal(whole.hasReceipts, true)
  for (const [index, { receipts }] of [...whole.blocks()].entries()) {
    t.ok(equalBytes(receipts as Uint8Array, blocks[index]?.receipts as Uint8Array), 'blooms are made anew')
  }
  whole.close()
  writeEre(path, blocks, { receipts: false, accumulator })
  t.equal(faultOf(path), undefined)
  const without = new EraFile(path)
  t.equal(without.hasReceipts, false)
  t.equal([...without.blocks()][5]?.receipts, undefined)
  without.close()
  writeEre(path, blocks, { totals: false })
  t.match(faultOf(path), /header record at byte 8 begins an archive without total difficulties/)
})

t.test('each fault of a block names the record, its byte and both values', async (t) => {
  const [genesis, one, two, five] = [0, 1, 2, 5].map((n) => blocks[n] as (typeof blocks)[number])
  if (!genesis || !one || !two || !five) throw new Error('no blocks')
  const fault = (...chain: (typeof blocks)[number][]) => faultOfChain(t.testdir(), chain)
  t.match(fault(genesis, two), /the header record at byte \d+ has the number 2, expected 1$/)
  const orphan = makeBlocks(1, 1)[0] as typeof one
  t.match(
    fault(genesis, orphan),
    /header record at byte \d+ has the parent 0x0{64}, expected 0x[0-9a-f]{64}$/,
  )
  t.match(fault({ ...genesis, body: five.body }), /body record at byte \d+ has the transactions root 0x/)
  t.match(
    fault({ ...genesis, body: (blocks[7] as typeof one).body }),
    /body record at byte \d+ has the uncles hash 0x/,
  )
  t.match(
    fault({ ...genesis, receipts: five.receipts }),
    /receipts record at byte \d+ has the receipts root 0x/,
  )
  t.match(
    fault(genesis, { ...one, totalDifficulty: 5n }),
    /total difficulty record at byte \d+ has the total difficulty 5, expected 2000$/,
  )
  const path = join(t.testdir(), 'chain.era1')
  writeArchive(path, blocks)
  const other = new ForkSchedule(parseGenesisConfig({ ...archivedConfig, chainId: 9 }))
  t.match(faultOf(path, other), /body record at byte \d+ has a transaction that chain 9 does not: /)
})

function faultOfChain(folder: string, chain: readonly (typeof blocks)[number][]): string | undefined {
  const path = join(folder, 'made.era1')
  writeArchive(path, chain)
  return faultOf(path)
}

/** Whether an archive has exactly these blocks: a changed byte of compressed data may decode to the same content. */
function isSame(path: string): boolean {
  const archive = new EraFile(path)
  const read = [...archive.blocks()]
  archive.close()
  return blocks.every(
    ({ header, body, receipts }, index) =>
      equalBytes(header, read[index]?.header as Uint8Array) &&
      equalBytes(body, read[index]?.body as Uint8Array) &&
      equalBytes(receipts, read[index]?.receipts as Uint8Array),
  )
}

t.test('an archive damaged in any byte, or cut short, is refused', async (t) => {
  const path = join(t.testdir(), 'chain.era1')
  writeArchive(path, blocks)
  const whole = readFileSync(path)
  const change = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }))
  const holds = <T>(property: fc.IProperty<T>, runs: number) =>
    t.doesNotThrow(() => fc.assert(property, propertyRuns(runs)))
  holds(
    fc.property(change, ([at, mask]) => {
      const damaged = Buffer.from(whole)
      damaged[at] = (damaged[at] as number) ^ mask
      writeFileSync(path, damaged)
      return faultOf(path) !== undefined || isSame(path)
    }),
    300,
  )
  holds(
    fc.property(fc.nat(whole.length - 1), (length) => {
      writeFileSync(path, whole.subarray(0, length))
      return faultOf(path) !== undefined
    }),
    100,
  )
})

t.test(
  'an archive of Sepolia is read, checked, and written again as it was',
  { skip: withoutSepolia },
  async (t) => {
    const rules = new ForkSchedule(parseGenesisConfig({ ...archivedConfig, chainId: 11155111 }))
    t.equal(faultOf(sepoliaArchive, rules), undefined)
    const path = join(t.testdir(), 'again.era1')
    const archive = new EraFile(sepoliaArchive)
    const checks = new BlockChecks(archive, rules)
    const writer = new EraWriter(path, archive.first)
    let uncles = 0
    let previous: CheckedBlock | undefined
    for (const block of archive.blocks()) {
      previous = checks.check(block, (previous?.number ?? archive.first - 1) + 1, previous)
      uncles += rlpList(decodeRlpList(block.body)[1]).length
      writer.add({
        ...previous,
        header: block.header,
        body: block.body,
        receipts: block.receipts as Uint8Array,
      })
    }
    writer.finish()
    writer.close()
    archive.close()
    t.equal(uncles, 1_273)
    t.ok(readFileSync(path).equals(readFileSync(sepoliaArchive)))
  },
)
