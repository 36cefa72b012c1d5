/** Stored answers about the newest blocks: their content, the blocks that have them, and their readers. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Chain, ChainView } from '../../../../src/data/chain/chain.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { closeEnvironment, openEnvironment, openTable } from '../../../../src/data/store/lmdb/environment.js'
import { readyForm } from '../../../../src/data/store/readyRows.js'
import { transactionHashes } from '../../../../src/data/store/storedBlock.js'
import { type ChainTables, metaKeys, openChainTables } from '../../../../src/data/store/tables.js'
import { bytesToHex, type Hash32, toHash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../../src/sources/ingest/blocks/importer.js'
import { keepReady } from '../../../../src/sources/ingest/thread/taskStore.js'
import { verifyReady } from '../../../../src/sources/ingest/verify/verifyReady.js'
import { type BlockPlan, ChainMaker, frontierConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { propertyRuns } from '../../../library/property.js'
import { demoStorePath } from '../../../store/storedMessages.js'
import { make, merged, mustBeSound, openImporter, write, writes } from '../../sources/ingest/importing.js'

const options = { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 0 }
const plenty = { blocks: 1_000, bytes: 2 ** 30 }

const fill = (store: ChainWriter): void => {
  while (store.cutHistory());
}

/** Numbers of the blocks with answers, by the range and by the rows. */
function blocksWithAnswers(store: ChainReader): number[] {
  store.refresh()
  const { first, last } = store.readReadyRange()
  const numbers: number[] = []
  for (let number = 0; number <= (store.readHead()?.number ?? -1) + 1; number++) {
    const isStored = store.readReadyBlock(number) !== undefined
    if (isStored !== (number >= first && number <= last))
      throw new Error(`block ${number} is not as the range says`)
    if (isStored) numbers.push(number)
  }
  return numbers
}

const faultsOf = (store: ChainReader): string[] => {
  const faults: string[] = []
  verifyReady(store, (fault) => faults.push(fault))
  return faults
}

/** Every answer by hash and number about the canonical blocks, ready or rendered. */
function answersOf(store: ChainReader, isRendered: boolean): Map<string, string> {
  const chain = new Chain(store, options)
  if (isRendered) chain.parts.readyFrom = Number.POSITIVE_INFINITY
  const answers = new Map<string, string>()
  const add = (name: string, json: Uint8Array | undefined) =>
    answers.set(name, json === undefined ? 'none' : Buffer.from(json).toString('latin1'))
  for (let number = 0; number <= chain.head.number; number++) {
    const hash = store.readCanonicalHash(number) as Hash32
    const byNumber = chain.readyBlockAt(number) ?? chain.blockJson(hash, false, number)
    add(`block ${number}`, byNumber)
    add(`block ${bytesToHex(hash)}`, chain.blockJson(hash, false))
    for (const transaction of hashesOf(store, hash)) {
      add(`transaction ${bytesToHex(transaction)}`, chain.transactionByHash(transaction))
      add(`receipt ${bytesToHex(transaction)}`, chain.receiptByHash(transaction))
    }
  }
  return answers
}

function hashesOf(store: ChainReader, hash: Hash32): Hash32[] {
  const { senders } = store.readBlock(hash) ?? { senders: new Uint8Array(0) }
  return [...transactionHashes(senders.slice())].map(([, own]) => toHash32(own.slice()))
}

/** A store that keeps answers, and the blocks of a chain in it. */
async function openReady(t: Test, maker: ChainMaker, limits = plenty) {
  const opened = await openImporter(t, maker)
  keepReady(opened.store, limits)
  return opened
}

/** Path of a closed store with blocks of {@link writes}. */
async function makeStore(t: Test, count: number, hasAnswers: boolean): Promise<string> {
  const maker = await make(t, merged())
  const path = join(t.testdirName, 'made.mdb')
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  const { identity, blockDiff, schedule } = parseGenesis(maker.genesisText)
  store.initialize(identity, blockDiff)
  if (hasAnswers) keepReady(store, plenty)
  const importer = new ChainImporter(store, schedule)
  for (const { rlp } of await maker.extendBy(maker.genesis, writes(1n, count)))
    await importer.importBlock(parseBlock(rlp))
  fill(store)
  await store.close()
  return path
}

/** The demo chain with all its answers. */
function openDemo(t: Test): ChainWriter {
  const path = join(t.testdir(), 'chain.mdb')
  copyFileSync(demoStorePath, path)
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  keepReady(store, { blocks: 1_000_000, bytes: 2 ** 40 })
  fill(store)
  return store
}

t.test('of a chain of all forks and types each answer is, byte for byte, the rendered one', async (t) => {
  const store = openDemo(t)
  const head = store.head.number
  t.equal(blocksWithAnswers(store).length, head + 1)
  t.strictSame(answersOf(store, false), answersOf(store, true))
  t.strictSame(faultsOf(store), [])
  const types = new Set<string>()
  for (const [name, json] of answersOf(store, false))
    if (name.startsWith('tr')) types.add(JSON.parse(json).type)
  t.strictSame([...types].sort(), ['0x0', '0x1', '0x2', '0x3', '0x4'])
})

t.test('the form of the answers has a new number where their JSON changed', async (t) => {
  const store = openDemo(t)
  const texts = [...answersOf(store, false)].map(([name, json]) => `${name} ${json}`).join()
  const digest = bytesToHex(keccak256(Buffer.from(texts)).subarray(0, 8))
  const known = new Map([[1, '0x9129201a6fa3857f']])
  t.equal(
    digest,
    known.get(readyForm),
    'if the JSON was changed on purpose, or the demo chain made anew, raise readyForm and add its digest',
  )
})

const anyTransaction = fc.oneof(
  fc.record({
    to: fc.constant(`0x${'0a'.repeat(20)}`),
    value: fc.bigInt(0n, 9n),
    type: fc.constantFrom(0, 1, 2),
  }),
  fc.record({
    data: fc.constant(Buffer.from('6005600c60003960056000f3600160015500', 'hex')),
    type: fc.constantFrom(0, 2),
  }),
  fc.tuple(fc.bigInt(0n, 3n), fc.bigInt(0n, 3n)).map(([slot, value]) => write(slot, value)),
)
const anyPlan: fc.Arbitrary<BlockPlan> = fc.record({
  transactions: fc.array(
    fc.tuple(anyTransaction, fc.nat(2)).map(([plan, from]) => ({ ...plan, from }) as never),
    {
      maxLength: 4,
    },
  ),
})

t.test('random chains have the rendered answers, within any limits', async (t) => {
  t.testdir()
  let compared = 0
  const limits = fc.record({ blocks: fc.nat(7), bytes: fc.constantFrom(0, 8_000, 30_000, 2 ** 30) })
  await fc.assert(
    fc.asyncProperty(fc.array(anyPlan, { minLength: 1, maxLength: 4 }), limits, async (plans, limits) => {
      const maker = await ChainMaker.create(merged())
      const { store, importRlp } = await openReady(t, maker, limits)
      for (const { rlp } of await maker.extendBy(maker.genesis, plans)) {
        await importRlp(rlp)
        const numbers = blocksWithAnswers(store)
        if (numbers.length > limits.blocks) throw new Error(`${numbers.length} blocks`)
        if (store.readReadyRange().bytes > limits.bytes) throw new Error('more bytes')
        if (limits.blocks > 0 && limits.bytes === 2 ** 30 && numbers.at(-1) !== store.head.number)
          throw new Error('not the head')
      }
      const [ready, rendered] = [answersOf(store, false), answersOf(store, true)]
      for (const [name, json] of rendered)
        if (ready.get(name) !== json) throw new Error(`${name}: ${ready.get(name)}`)
      compared += rendered.size
      const faults = faultsOf(store)
      if (faults.length > 0) throw new Error(faults.join())
    }),
    propertyRuns(3),
  )
  t.ok(compared > 0, `${compared} answers`)
})

t.test('receipts with a state root are ready, too', async (t) => {
  const maker = await make(t, testGenesis(frontierConfig()))
  const { store, importAll } = await openReady(t, maker)
  await importAll(await maker.extendBy(maker.genesis, writes(1n, 2)))
  t.equal(blocksWithAnswers(store).length, 3)
  const answers = answersOf(store, false)
  t.strictSame(answers, answersOf(store, true))
  t.match([...answers.values()].join(), /"root":"0x/)
})

t.test('the newest blocks have answers, and older ones are rendered', async (t) => {
  const maker = await make(t, merged())
  const { store, importAll } = await openReady(t, maker, { blocks: 3, bytes: 2 ** 30 })
  await importAll(await maker.extendBy(maker.genesis, writes(1n, 6)))
  t.strictSame(blocksWithAnswers(store), [4, 5, 6])
  t.strictSame(answersOf(store, false), answersOf(store, true))
  t.equal(store.countReady(), 3 * (1 + 2 * 2))
  keepReady(store, { blocks: 5, bytes: 2 ** 30 })
  fill(store)
  t.strictSame(blocksWithAnswers(store), [2, 3, 4, 5, 6])
  keepReady(store, { blocks: 0, bytes: 2 ** 30 })
  fill(store)
  t.strictSame(blocksWithAnswers(store), [])
  t.equal(store.countReady(), 0, 'turned off, they go')
  mustBeSound(t, store)
})

t.test('as many blocks as the bytes allow have answers; a block that exceeds them has none', async (t) => {
  const maker = await make(t, merged())
  const { store, importAll } = await openReady(t, maker)
  await importAll(await maker.extendBy(maker.genesis, writes(1n, 6)))
  const { bytes } = store.readReadyRange()
  keepReady(store, { blocks: 1_000, bytes: Math.floor(bytes / 2) })
  fill(store)
  const half = blocksWithAnswers(store)
  t.ok(half.length >= 2 && half.length <= 4 && half.at(-1) === 6, `${half}`)
  t.ok(store.readReadyRange().bytes <= bytes / 2)
  keepReady(store, { blocks: 1_000, bytes: 1_000 })
  fill(store)
  t.strictSame(blocksWithAnswers(store), [])
  t.equal(store.countReady(), 0)
})

t.test('an import at full speed writes no answers, and completes them afterwards', async (t) => {
  const maker = await make(t, merged())
  const { store, importRlp } = await openReady(t, maker, { blocks: 10, bytes: 2 ** 30 })
  const blocks = await maker.extendBy(maker.genesis, writes(1n, 13))
  store.beginBatch()
  for (const { rlp } of blocks.slice(0, 12)) await importRlp(rlp)
  await store.commitBatch()
  t.strictSame(blocksWithAnswers(store), [])
  await importRlp(blocks[12]?.rlp as Uint8Array)
  t.strictSame(blocksWithAnswers(store), [4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
  t.strictSame(answersOf(store, false), answersOf(store, true))
  mustBeSound(t, store)
})

t.test('answers of blocks that are taken back are gone, and the new ones are ready', async (t) => {
  const maker = await make(t, merged())
  const { store, importAll, importer } = await openReady(t, maker)
  const trunk = await maker.extendBy(maker.genesis, writes(1n, 2))
  const left = await maker.extendBy(trunk.at(-1) as never, writes(2n, 3))
  const right = await maker.extendBy(trunk.at(-1) as never, writes(3n, 4))
  await importAll([...trunk, ...left])
  const chain = new Chain(store, options)
  const leftHash = toHash32(left[2]?.hash as Uint8Array)
  const [leftTransaction] = hashesOf(store, leftHash) as [Hash32]
  const leftBlock = Buffer.from(chain.blockJson(leftHash, false) as Uint8Array)
  t.ok(chain.transactionByHash(leftTransaction))
  await importAll(right)
  chain.refreshHead()
  t.equal(chain.head.number, 6)
  t.equal(chain.transactionByHash(leftTransaction), undefined)
  t.equal(chain.receiptByHash(leftTransaction), undefined)
  t.strictSame(
    Buffer.from(chain.blockJson(leftHash, false) as Uint8Array),
    leftBlock,
    'a block beside is rendered',
  )
  t.strictSame(blocksWithAnswers(store), [0, 1, 2, 3, 4, 5, 6])
  t.strictSame(answersOf(store, false), answersOf(store, true))
  mustBeSound(t, store)
  await importer.makeHead({ number: 5, hash: leftHash })
  chain.refreshHead()
  t.ok(chain.transactionByHash(leftTransaction), 'it is canonical again')
  t.strictSame(answersOf(store, false), answersOf(store, true))
  mustBeSound(t, store)
  await importer.makeHead({ number: 1, hash: toHash32(trunk[0]?.hash as Uint8Array) })
  t.strictSame(blocksWithAnswers(store), [0, 1])
})

t.test('a request that is pinned to a block sees no later one', async (t) => {
  const maker = await make(t, merged())
  const { store, importAll } = await openReady(t, maker)
  const blocks = await maker.extendBy(maker.genesis, writes(1n, 4))
  await importAll(blocks)
  const chain = new Chain(store, options)
  const [, second, , last] = blocks.map(({ hash }) => toHash32(hash)) as [Hash32, Hash32, Hash32, Hash32]
  const view = new ChainView(chain, chain.readHeadAt(second) as never, true)
  const [later] = hashesOf(store, last) as [Hash32]
  const [earlier] = hashesOf(store, second) as [Hash32]
  t.equal(view.transactionByHash(later), undefined)
  t.equal(view.receiptByHash(later), undefined)
  t.equal(view.readyBlockAt(4), undefined)
  t.ok(view.transactionByHash(earlier))
  t.ok(view.readyBlockAt(2))
})

t.test(
  'a reader of an older store, which lacks the table, renders; the next writer completes it',
  async (t) => {
    const path = await makeStore(t, 3, false)
    const environment = openEnvironment({ path, readOnly: false, mapBytes: 2 ** 30 })
    await openTable(environment, 'ready')?.drop()
    await closeEnvironment(environment)
    const reader = ChainReader.open({ path, mapBytes: 2 ** 30 })
    t.strictSame(blocksWithAnswers(reader), [])
    const rendered = answersOf(reader, true)
    t.strictSame(answersOf(reader, false), rendered)
    t.strictSame(faultsOf(reader), [])
    await reader.close()
    const writer = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
    t.teardown(() => writer.close())
    keepReady(writer, plenty)
    fill(writer)
    t.strictSame(blocksWithAnswers(writer), [0, 1, 2, 3])
    t.strictSame(answersOf(writer, false), rendered)
  },
)

t.test('answers go with the bodies and receipts that a store removes', async (t) => {
  const path = await makeStore(t, 6, false)
  const history = { state: 4, trie: 4, receipts: 2, bodies: 3 }
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30, history })
  t.teardown(() => store.close())
  keepReady(store, plenty)
  fill(store)
  t.strictSame(blocksWithAnswers(store), [4, 5, 6])
  mustBeSound(t, store)
})

t.test('verify finds answers that are missing, changed, or of other blocks', async (t) => {
  const path = await makeStore(t, 3, true)
  const environment = openEnvironment({ path, readOnly: false, mapBytes: 2 ** 30 })
  const store = ChainReader.open({ path, mapBytes: 2 ** 30 })
  t.teardown(async () => {
    await store.close()
    await closeEnvironment(environment)
  })
  const { ready, meta } = openChainTables(environment) as ChainTables
  const faults = () => {
    store.refresh()
    return faultsOf(store)
  }
  t.strictSame(faults(), [])
  const rows = [...ready.getRange()].map(
    ({ key, value }) => [Uint8Array.from(key), Uint8Array.from(value)] as const,
  )
  t.equal(rows.length, 1 + 3 * (1 + 2 * 2))
  for (const [key, value] of rows) {
    ready.removeSync(key)
    t.not(faults().length, 0, `without ${bytesToHex(key)}`)
    for (const at of [0, 10, 40, 48, value.length - 1]) {
      const damaged = Uint8Array.from(value)
      damaged[at] = (damaged[at] as number) ^ 1
      ready.putSync(key, damaged)
      t.not(faults().length, 0, `byte ${at} of ${bytesToHex(key)}`)
    }
    ready.putSync(key, value)
  }
  ready.putSync(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 0), Uint8Array.of(readyForm))
  t.match(faults(), [/there are 17 rows/])
  ready.removeSync(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 0))
  meta.removeSync(metaKeys.ready)
  t.match(faults(), [/there are 16 rows, the blocks with answers have 0/])
})

t.test('rows of another version of the program are not read, and replaced', async (t) => {
  const path = await makeStore(t, 3, true)
  const environment = openEnvironment({ path, readOnly: false, mapBytes: 2 ** 30 })
  const { ready, meta } = openChainTables(environment) as ChainTables
  for (const { key, value } of [...ready.getRange()]) {
    const other = Uint8Array.from(value).fill(readyForm + 1, 0, 1)
    // The JSON would be recognised if it were sent.
    ready.putSync(Uint8Array.from(key), other.fill(0x20, 65))
  }
  const range = Uint8Array.from(meta.getBinary(metaKeys.ready) as Uint8Array)
  range[7] = readyForm + 1
  meta.putSync(metaKeys.ready, range)
  await closeEnvironment(environment)
  const writer = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  t.teardown(() => writer.close())
  t.strictSame(answersOf(writer, false), answersOf(writer, true))
  t.strictSame(faultsOf(writer), [], 'it is no fault')
  keepReady(writer, plenty)
  fill(writer)
  t.strictSame(blocksWithAnswers(writer), [0, 1, 2, 3])
  t.strictSame(answersOf(writer, false), answersOf(writer, true))
  mustBeSound(t, writer)
})
