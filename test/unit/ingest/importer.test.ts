import { join } from 'node:path'
import { createBlock } from '@ethereumjs/block'
import { RLP } from '@ethereumjs/rlp'
import t, { type Test } from 'tap'
import { parseGenesis } from '../../../src/ingest/genesis.js'
import { ChainImporter } from '../../../src/ingest/importer.js'
import { verifyChain } from '../../../src/ingest/verifyChain.js'
import { bytesToHex, hexToBytes, toHash32 } from '../../../src/primitives/bytes.js'
import { keccak256 } from '../../../src/primitives/keccak.js'
import { ChainWriter } from '../../../src/store/chainWriter.js'
import {
  type BlockPlan,
  ChainMaker,
  contracts,
  londonConfig,
  type MadeBlock,
  mergedConfig,
  mergingConfig,
  storeInput,
  testGenesis,
} from '../../chainMaker.js'
import { differences, dumpStore } from '../../storeDump.js'

type GethGenesis = Parameters<typeof ChainMaker.create>[0]

const london = () => testGenesis(londonConfig())
const merged = () => testGenesis(mergedConfig(), { difficulty: '0x0' })
const write = (slot: bigint, value: bigint) => ({ to: contracts.store, data: storeInput(slot, value) })
const writes = (tag: bigint, count: number, more: BlockPlan = {}): BlockPlan[] =>
  Array.from({ length: count }, (_, index) => ({
    transactions: [write(BigInt(index), tag), write(tag, BigInt(index) + 1n)],
    ...more,
  }))

let stores = 0

async function openImporter(t: Test, maker: ChainMaker) {
  const path = join(t.testdirName, `${stores++}.mdb`)
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  const { identity, bundle, schedule } = parseGenesis(maker.genesisText)
  store.initialize(identity, bundle)
  const importer = new ChainImporter(store, schedule)
  const importAll = async (blocks: readonly MadeBlock[]) => {
    const outcomes = []
    for (const { rlp } of blocks) outcomes.push((await importer.importBlock(rlp)).outcome)
    await importer.finish()
    return outcomes.join(' ')
  }
  return { store, importer, importAll }
}

function mustBeSound(t: Test, store: ChainWriter): void {
  t.strictSame(verifyChain(store, { blocks: 100, seed: 1, onProgress: () => undefined }).faults, [])
}

/** A store that took the winning branch alone has to hold the same canonical rows. */
async function mustEqualFresh(t: Test, maker: ChainMaker, store: ChainWriter, blocks: readonly MadeBlock[]) {
  const fresh = await openImporter(t, maker)
  await fresh.importAll(blocks)
  t.strictSame(differences(dumpStore(store), dumpStore(fresh.store)), [])
  mustBeSound(t, store)
}

async function make(t: Test, genesis: GethGenesis) {
  t.testdir()
  return ChainMaker.create(genesis)
}

t.test('blocks that are known already are skipped', async (t) => {
  const maker = await make(t, london())
  const blocks = await maker.extendBy(maker.genesis, writes(5n, 3))
  const { store, importAll, importer } = await openImporter(t, maker)
  t.equal(await importAll(blocks), 'canonical canonical canonical')
  const before = dumpStore(store)
  t.equal(await importAll(blocks), 'known known known')
  t.equal((await importer.importBlock(maker.genesis.rlp)).outcome, 'known')
  t.strictSame(differences(dumpStore(store), before), [])
})

t.test('before the Merge a branch is kept aside until it is heavier', async (t) => {
  const maker = await make(t, london())
  const trunk = await maker.extendBy(maker.genesis, writes(5n, 2))
  const base = trunk[1] as MadeBlock
  const first = await maker.extendBy(base, writes(6n, 3))
  const second = await maker.extendBy(base, [...writes(7n, 2), ...writes(8n, 2)])
  const { store, importAll } = await openImporter(t, maker)
  t.equal(await importAll([...trunk, ...first]), Array(5).fill('canonical').join(' '))
  const before = dumpStore(store)
  // Blocks of one height have the same difficulty here, so the third only draws level.
  t.equal(await importAll(second.slice(0, 3)), 'side side side')
  t.strictSame(differences(dumpStore(store), before), [])
  t.equal(await importAll(second), 'known known known canonical')
  t.equal(
    bytesToHex(store.readHead()?.hash ?? new Uint8Array(0)),
    bytesToHex(second[3]?.hash ?? trunk[0]?.hash ?? base.hash),
  )
  for (const { hash, block } of [...trunk, ...first, ...second]) {
    t.ok(
      store.readHeader(toHash32(hash)) && store.readBody(toHash32(hash)),
      `block ${block.header.number} is readable`,
    )
    t.ok(store.readReceipts(toHash32(hash)), 'and its receipts too')
  }
  await mustEqualFresh(t, maker, store, [...trunk, ...second])
})

t.test('past the Merge the chain follows the last block of a file, back and forth', async (t) => {
  const maker = await make(t, merged())
  const trunk = await maker.extendBy(maker.genesis, writes(5n, 2))
  const base = trunk[1] as MadeBlock
  const first = await maker.extendBy(base, writes(6n, 3))
  const second = await maker.extendBy(base, writes(7n, 2))
  const { store, importAll } = await openImporter(t, maker)
  await importAll([...trunk, ...first])
  t.equal(await importAll([...trunk, ...second]), 'known known canonical canonical')
  await mustEqualFresh(t, maker, store, [...trunk, ...second])
  t.equal(await importAll([...trunk, ...first]), 'known known known known known')
  await mustEqualFresh(t, maker, store, [...trunk, ...first])
  t.equal(await importAll(second), 'known known')
  await mustEqualFresh(t, maker, store, [...trunk, ...second])
})

t.test('a chain that merges on the way switches at the block where the total is reached', async (t) => {
  const maker = await make(t, testGenesis(mergingConfig(4)))
  const blocks = await maker.extendBy(maker.genesis, writes(5n, 6))
  t.equal(blocks[2]?.block.header.difficulty, 0x20000n)
  t.equal(blocks[3]?.block.header.difficulty, 0n)
  const { store, importAll } = await openImporter(t, maker)
  t.equal(await importAll(blocks), Array(6).fill('canonical').join(' '))
  mustBeSound(t, store)
})

t.test('a bad block inside a heavier branch leaves the old chain canonical', async (t) => {
  const maker = await make(t, london())
  const first = await maker.extendBy(maker.genesis, writes(6n, 2))
  const [good, bad, last] = (await maker.extendBy(maker.genesis, writes(7n, 3))) as [
    MadeBlock,
    MadeBlock,
    MadeBlock,
  ]
  const forged = change(bad, { stateRoot: keccak256(Buffer.from('lie')) })
  const child = change(last, { parentHash: forged.hash })
  const { store, importAll } = await openImporter(t, maker)
  await importAll(first)
  const before = dumpStore(store)
  t.equal(await importAll([good, forged]), 'side side')
  for (let attempt = 0; attempt < 2; attempt++) {
    await t.rejects(importAll([child]), {
      name: 'BadBlockError',
      number: 2,
      hash: bytesToHex(forged.hash),
      message: /stateRoot is .* after execution, the header says/,
    })
    t.strictSame(differences(dumpStore(store), before), [])
  }
  mustBeSound(t, store)
  // The importer is not confused by the failure: the true branch still wins.
  t.equal(await importAll([good, bad, last]), 'known side canonical')
  await mustEqualFresh(t, maker, store, [good, bad, last])
})

t.test('a block that is known is refused when its body is not the one its header commits to', async (t) => {
  const maker = await make(t, london())
  const blocks = await maker.extendBy(maker.genesis, writes(5n, 2))
  const { store, importAll } = await openImporter(t, maker)
  await importAll(blocks)
  const before = dumpStore(store)
  const [one] = blocks as [MadeBlock]
  const rlp = RLP.encode([one.block.header.raw(), [], []])
  await t.rejects(importAll([{ ...one, rlp }]), { name: 'BadBlockError', message: /transactionsRoot/ })
  t.strictSame(differences(dumpStore(store), before), [])
})

t.test('a stored branch is checked again before it becomes canonical', async (t) => {
  const maker = await make(t, london())
  const first = await maker.extendBy(maker.genesis, writes(6n, 1))
  const second = await maker.extendBy(maker.genesis, writes(7n, 2))
  const { store, importAll } = await openImporter(t, maker)
  await importAll(first)
  const [side, winner] = second as [MadeBlock, MadeBlock]
  // Kept by a version that knew less: a block whose header breaks a rule, and one that builds on it.
  const header = [...side.block.header.raw()]
  header[12] = new Uint8Array(33)
  const forged = { rlp: RLP.encode(header), hash: keccak256(RLP.encode(header)) }
  store.writeSideBlock({
    number: 1,
    hash: forged.hash,
    parentHash: toHash32(maker.genesis.hash),
    header: forged.rlp,
    body: RLP.encode(side.block.raw().slice(1) as never),
    senders: new Uint8Array(104),
    totalDifficulty: hexToBytes('040000'),
  })
  const child = change(winner, { parentHash: forged.hash })
  await t.rejects(importAll([child]), { name: 'BadBlockError', number: 1, message: /extraData is 33 bytes/ })
  t.equal(
    bytesToHex(store.readHead()?.hash ?? new Uint8Array(0)),
    bytesToHex(first[0]?.hash ?? new Uint8Array(0)),
  )
})

/** The block with other header fields; nothing else of it changes. */
function change(made: MadeBlock, fields: Record<string, unknown>): MadeBlock {
  const { header, transactions, uncleHeaders, withdrawals } = made.block
  const block = createBlock(
    {
      header: { ...header, ...fields } as never,
      transactions,
      uncleHeaders,
      ...(withdrawals === undefined ? {} : { withdrawals }),
    },
    { common: header.common, skipConsensusFormatValidation: true, freeze: false },
  )
  return { ...made, block, rlp: block.serialize(), hash: block.hash() }
}

/** The block with item `index` of its header replaced, whatever that makes of it. */
function withItem(made: MadeBlock, index: number, item: Uint8Array): Uint8Array {
  const items = made.block.raw() as unknown as Uint8Array[][]
  const header = [...(items[0] as Uint8Array[])]
  header[index] = item
  return RLP.encode([header, ...items.slice(1)] as never)
}

const otherHash = keccak256(Buffer.from('other'))
const mutations: readonly (readonly [index: number, field: string, item: Uint8Array])[] = [
  [1, 'sha3Uncles', otherHash],
  [3, 'stateRoot', otherHash],
  [4, 'transactionsRoot', otherHash],
  [5, 'receiptsRoot', otherHash],
  [6, 'logsBloom', new Uint8Array(256).fill(1)],
  [7, 'difficulty', Uint8Array.of(0x77)],
  [8, 'number', Uint8Array.of(0x09)],
  [9, 'gasLimit', hexToBytes('01d00000')],
  [10, 'gasUsed', hexToBytes('5208')],
  [11, 'timestamp', Uint8Array.of(0x01)],
  [12, 'extraData', new Uint8Array(33).fill(1)],
  [15, 'baseFeePerGas', Uint8Array.of(0x07)],
  [16, 'withdrawalsRoot', otherHash],
  [17, 'blobGasUsed', hexToBytes('020000')],
  [18, 'excessBlobGas', hexToBytes('020000')],
  [20, 'requestsHash', otherHash],
]

for (const [name, genesis] of [
  ['proof of work', london()],
  ['merged', merged()],
] as const) {
  t.test(
    `${name}: a block with any header field changed is refused, naming the field and both values`,
    async (t) => {
      const maker = await make(t, genesis)
      const [one, two] = (await maker.extendBy(maker.genesis, writes(5n, 2))) as [MadeBlock, MadeBlock]
      const { store, importAll, importer } = await openImporter(t, maker)
      await importAll([one])
      const before = dumpStore(store)
      const isMerged = name === 'merged'
      for (const [index, field, item] of mutations) {
        if (index > 15 && !isMerged) continue
        const error = await importer.importBlock(withItem(two, index, item)).then(
          () => undefined,
          (error: Error) => error,
        )
        t.match(error, { name: 'BadBlockError', number: index === 8 ? 9 : 2 }, field)
        const values =
          field === 'blobGasUsed'
            ? /blobGasUsed expected=\d+ actual=\d+/
            : new RegExp(`\\b${field} is \\S+.*(expected|the header says) \\S+`)
        t.match(error?.message, values, field)
        t.strictSame(differences(dumpStore(store), before), [], `${field}: the store stays as it was`)
      }
      await t.rejects(importer.importBlock(withItem(two, 0, otherHash)), /its parent .* is not known/)
      if (isMerged)
        await t.rejects(
          importer.importBlock(withItem(two, 14, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1))),
          /nonce is/,
        )
      // Fields that hash to the block and nothing more: they make another, equally valid block before the Merge only.
      const { outcome } = await importer.importBlock(two.rlp)
      t.equal(outcome, 'canonical', 'the true block is taken after all the others')
      t.equal(await importAll([one, two]), 'known known')
    },
  )
}

t.test('what is no block at all is refused, whatever it is', async (t) => {
  const maker = await make(t, london())
  const one = await maker.extend(maker.genesis, { transactions: [write(1n, 1n)] })
  const { store, importer } = await openImporter(t, maker)
  const before = dumpStore(store)
  const [header, transactions] = one.block.raw() as unknown as [Uint8Array[], Uint8Array[]]
  const hashed = (index: number, content: unknown) => {
    const changed = [...header]
    changed[index] = keccak256(RLP.encode(content as never))
    return changed
  }
  const strange: Record<string, unknown> = {
    'an empty list': [],
    'a list of nothing': [[], [], []],
    'a header alone': [header],
    'a header that is bytes': [Uint8Array.of(1, 2), [], []],
    'a short header': [header.slice(0, 14), transactions, []],
    'five items': [header, transactions, [], [], []],
    'transactions that are bytes': [header, Uint8Array.of(1, 2), []],
    'an uncle that is bytes': [hashed(1, [Uint8Array.of(1, 2)]), transactions, [Uint8Array.of(1, 2)]],
    'an uncle without fields': [hashed(1, [[]]), transactions, [[]]],
    'withdrawals too early': [header, transactions, [], []],
  }
  for (const [what, items] of Object.entries(strange)) {
    await t.rejects(
      importer.importBlock(RLP.encode(items as never)),
      { name: /^(BadBlock|InvalidBlock)Error$/ },
      what,
    )
    t.strictSame(differences(dumpStore(store), before), [], what)
  }
  await t.rejects(importer.importBlock(Uint8Array.of(0xc2, 0x01)), { name: /^(BadBlock|InvalidBlock)Error$/ })
})

t.test('transactions that break a rule make their block invalid', async (t) => {
  const genesis = london()
  const maker = await make(t, genesis)
  const one = await maker.extend(maker.genesis, { transactions: [write(1n, 1n)] })
  const { store, importer } = await openImporter(t, maker)
  const { header, transactions } = one.block
  const { createTx } = await import('@ethereumjs/tx')
  const { genTransactionsTrieRoot } = await import('@ethereumjs/block')
  const { testKeys } = await import('../../chainMaker.js')
  const key = testKeys[0] as Uint8Array
  const base = { nonce: 0n, gasLimit: 200_000n, gasPrice: 2_000_000_000n, to: contracts.store, value: 0n }
  const cases: Record<string, Record<string, unknown>> = {
    'a nonce too high': { ...base, nonce: 5n },
    'more value than the sender has': { ...base, value: 10n ** 30n },
    'gas below the intrinsic cost': { ...base, gasLimit: 20_000n },
    'a price below the base fee': { ...base, gasPrice: 1n },
    'more gas than the block has': { ...base, gasLimit: 31_000_000n },
  }
  for (const [what, data] of Object.entries(cases)) {
    const transaction = createTx(data as never, { common: header.common }).sign(key)
    const changed = [transaction, ...transactions.slice(1)]
    const transactionsTrie = await genTransactionsTrieRoot(changed)
    const block = createBlock(
      { header: { ...header, transactionsTrie } as never, transactions: changed },
      { common: header.common, skipConsensusFormatValidation: true },
    )
    await t.rejects(importer.importBlock(block.serialize()), { name: 'BadBlockError', number: 1 }, what)
    t.equal(store.readHead()?.number, 0)
  }
  t.equal((await importer.importBlock(one.rlp)).outcome, 'canonical')
})

t.test('each rule for uncles is kept', async (t) => {
  const maker = await make(t, london())
  const chain = await maker.extendBy(maker.genesis, writes(5n, 9))
  const at = (number: number) => (number === 0 ? maker.genesis : chain[number - 1]) as MadeBlock
  const uncleOf = (number: number, tag: number) =>
    maker.extend(at(number - 1), { extraData: Uint8Array.of(tag), coinbase: `0x${'dd'.repeat(20)}` })
  const { store, importAll, importer } = await openImporter(t, maker)
  await importAll(chain)
  const head = at(9)
  const good = await uncleOf(8, 1)
  const deep = await uncleOf(4, 2)
  const tooDeep = await uncleOf(3, 3)
  const plain = await maker.extend(head)
  const attempt = async (uncles: MadeBlock[], message: RegExp) => {
    const headers = uncles.map((uncle) => uncle.block.header.raw())
    const header = [...plain.block.header.raw()]
    header[1] = keccak256(RLP.encode(headers))
    const rlp = RLP.encode([header, [], headers])
    await t.rejects(importer.importBlock(rlp), { name: 'BadBlockError', number: 10, message })
    t.equal(store.readHead()?.number, 9)
  }
  await attempt([good, good], /uncle 1 .* was included before/)
  await attempt([good, deep, await uncleOf(7, 9)], /has 3 uncles, expected at most 2/)
  await attempt([at(8)], /uncle 0 .* is an ancestor/)
  await attempt([tooDeep], /has no parent among the last 7 ancestors/)
  await attempt(
    [await maker.extend(head, { extraData: Uint8Array.of(1) })],
    /is a child of the block's own parent/,
  )
  await attempt([change(good, { gasLimit: 20_000_000n })], /uncle 0 .* is invalid: gasLimit/)
  await attempt([change(good, { timestamp: 1n })], /is invalid: timestamp/)
  await attempt([change(good, { difficulty: 1n })], /is invalid: difficulty/)
  const block = await maker.extend(head, { uncles: [good, deep] })
  t.equal((await importer.importBlock(block.rlp)).outcome, 'canonical')
  const again = await maker.extend(block, { uncles: [good] })
  await t.rejects(importer.importBlock(again.rlp), /uncle 0 .* was included before/)
  const last = await maker.extend(block, { uncles: [await uncleOf(9, 4)] })
  t.equal((await importer.importBlock(last.rlp)).outcome, 'canonical')
  mustBeSound(t, store)
})

t.test('a branch longer than the limit is refused', async (t) => {
  const maker = await make(t, merged())
  const [trunk] = (await maker.extendBy(maker.genesis, writes(1n, 1))) as [MadeBlock]
  const long = await maker.extendBy(maker.genesis, [{ after: 11 }, {}, {}, {}])
  const path = join(t.testdirName, 'limit.mdb')
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  const { identity, bundle, schedule } = parseGenesis(maker.genesisText)
  store.initialize(identity, bundle)
  const importer = new ChainImporter(store, schedule, { branchBlocksMax: 3 })
  for (const { rlp } of long) await importer.importBlock(rlp)
  await importer.importBlock(trunk.rlp)
  t.equal(store.readHead()?.number, 1, 'the shorter branch replaces the longer one')
  await importer.importBlock((long[3] as MadeBlock).rlp)
  await t.rejects(importer.finish(), { name: 'BadBlockError', message: /a branch of more than 3 blocks/ })
  t.equal(bytesToHex(store.readHead()?.hash ?? new Uint8Array(0)), bytesToHex(trunk.hash))
  await importer.importBlock((long[2] as MadeBlock).rlp)
  await importer.finish()
  t.equal(store.readHead()?.number, 3)
})
