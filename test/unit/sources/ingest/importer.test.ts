/** The choice of the canonical chain, and the outcome of other branches. */
import { join } from 'node:path'
import { genTransactionsTrieRoot } from '@ethereumjs/block'
import { RLP } from '@ethereumjs/rlp'
import { createTx } from '@ethereumjs/tx'
import t from 'tap'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { bytesToHex, hexToBytes, toHash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../../src/sources/ingest/blocks/importer.js'
import {
  londonConfig,
  type MadeBlock,
  mergingConfig,
  testGenesis,
  testKeys,
} from '../../../ingest/chainMaker.js'
import { differences, dumpStore } from '../../../store/storeDump.js'
import {
  change,
  london,
  make,
  merged,
  mustBeSound,
  mustEqualFresh,
  openImporter,
  writes,
} from './importing.js'

t.test('blocks that are known already are skipped', async (t) => {
  const maker = await make(t, london())
  const blocks = await maker.extendBy(maker.genesis, writes(5n, 3))
  const { store, importAll, importer } = await openImporter(t, maker)
  t.equal(await importAll(blocks), 'canonical canonical canonical')
  const before = dumpStore(store)
  t.equal(await importAll(blocks), 'known known known')
  t.equal((await importer.importBlock(parseBlock(maker.genesis.rlp))).outcome, 'known')
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

t.test('a block that takes too much memory is no bad block', async (t) => {
  const genesis = testGenesis(londonConfig(), { gasLimit: '0x7fffffffffffffff' })
  const maker = await make(t, genesis)
  const { store, importer } = await openImporter(t, maker)
  const empty = await maker.extend(maker.genesis)
  // The initcode is MSTORE at 2^30: more than 1 GiB of memory, which 2^42 gas pay for.
  const made = { nonce: 0n, gasLimit: 2n ** 42n, gasPrice: 10n ** 9n, data: '0x5963400000005200' } as const
  const transaction = createTx(made, { common: empty.block.common }).sign(testKeys[0] as Uint8Array)
  const greedy = change(empty, { transactionsTrie: await genTransactionsTrieRoot([transaction]) }, [
    transaction,
  ])
  await t.rejects(importer.importBlock(parseBlock(greedy.rlp)), {
    name: 'OperatorError',
    message: /^block 1 \(0x[0-9a-f]{64}\) takes more than 1024 MiB of memory to execute/,
  })
  t.equal(store.head.number, 0)
  t.equal((await importer.importBlock(parseBlock(empty.rlp))).outcome, 'canonical')
})

t.test('a branch longer than the limit is refused', async (t) => {
  const maker = await make(t, merged())
  const [trunk] = (await maker.extendBy(maker.genesis, writes(1n, 1))) as [MadeBlock]
  const long = await maker.extendBy(maker.genesis, [{ after: 11 }, {}, {}, {}])
  const path = join(t.testdirName, 'limit.mdb')
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  const { identity, blockDiff, schedule } = parseGenesis(maker.genesisText)
  store.initialize(identity, blockDiff)
  const importer = new ChainImporter(store, schedule, { branchBlocksMax: 3 })
  for (const { rlp } of long) await importer.importBlock(parseBlock(rlp))
  await importer.importBlock(parseBlock(trunk.rlp))
  t.equal(store.readHead()?.number, 1, 'the shorter branch replaces the longer one')
  await importer.importBlock(parseBlock((long[3] as MadeBlock).rlp))
  await t.rejects(importer.finish(), { name: 'BadBlockError', message: /a branch of more than 3 blocks/ })
  t.equal(bytesToHex(store.readHead()?.hash ?? new Uint8Array(0)), bytesToHex(trunk.hash))
  await importer.importBlock(parseBlock((long[2] as MadeBlock).rlp))
  await importer.finish()
  t.equal(store.readHead()?.number, 3)
})
