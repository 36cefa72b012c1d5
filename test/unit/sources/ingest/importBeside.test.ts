/** Blocks that are executed beside the canonical chain, and stored ones that become the head. */
import t from 'tap'
import { toHash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { ExecutedBeside } from '../../../../src/sources/ingest/blocks/executedBeside.js'
import type { MadeBlock } from '../../../ingest/chainMaker.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { differences, dumpStore } from '../../../store/storeDump.js'
import { change, make, merged, mustBeSound, type mustEqualFresh, openImporter, writes } from './importing.js'

const nameOf = ({ number, hash }: MadeBlock) => ({ number, hash: toHash32(hash) })

t.test('blocks of any branch are executed beside the chain, and become the head in any order', async (t) => {
  const maker = await make(t, merged())
  const trunk = await maker.extendBy(maker.genesis, writes(5n, 3))
  const first = await maker.extendBy(trunk[0] as MadeBlock, writes(6n, 3))
  const second = await maker.extendBy(first[0] as MadeBlock, writes(7n, 2))
  const parents = new Map<MadeBlock, MadeBlock>()
  for (const branch of [
    [maker.genesis, ...trunk],
    [trunk[0] as MadeBlock, ...first],
    [first[0] as MadeBlock, ...second],
  ])
    for (const [index, block] of branch.entries())
      if (index > 0) parents.set(block, branch[index - 1] as MadeBlock)
  const all = [maker.genesis, ...trunk, ...first, ...second]
  const dice = new Dice(propertyRuns(1).seed as number)
  // With one byte, no diff is in memory, and branches are executed again.
  for (const besideBytesMax of [2 ** 20, 1]) {
    const { store, importer } = await openImporter(t, maker, { besideBytesMax })
    for (const block of [...trunk, ...first, ...second]) {
      const before = store.readHead()
      t.equal(await importer.importBeside(parseBlock(block.rlp)), 'executed')
      t.equal(await importer.importBeside(parseBlock(block.rlp)), 'known')
      t.strictSame(store.readHead(), before, 'the head stays')
    }
    for (let step = 0; step < 6; step++) {
      const head = all[dice.throw(all.length)] as MadeBlock
      await importer.makeHead(nameOf(head))
      const chain: MadeBlock[] = []
      for (let at: MadeBlock | undefined = head; at !== undefined && at.number > 0; at = parents.get(at))
        chain.unshift(at)
      t.strictSame(store.readHead(), nameOf(head))
      mustBeSound(t, store)
      if (besideBytesMax === 1) continue
      const fresh = await openImporter(t, maker)
      await fresh.importAll(chain)
      const canonical = ['accounts', 'slots', 'changes', 'blocks', 'meta'] as const
      for (const table of canonical)
        t.strictSame(dumpStore(store)[table], dumpStore(fresh.store)[table], table)
    }
    const last = second.at(-1) as MadeBlock
    await importer.makeHead(nameOf(last))
    if (besideBytesMax !== 1)
      await mustBeLike(t, maker, store, [trunk[0] as MadeBlock, first[0] as MadeBlock, ...second])
  }
})

async function mustBeLike(...input: Parameters<typeof mustEqualFresh>): Promise<void> {
  const [t, maker, store, chain] = input
  const fresh = await openImporter(t, maker)
  await fresh.importAll(chain)
  t.strictSame(store.readHead(), fresh.store.readHead())
}

t.test('a bad block beside the chain changes nothing, nor does one whose branch is too long', async (t) => {
  const maker = await make(t, merged())
  const trunk = await maker.extendBy(maker.genesis, writes(5n, 2))
  const branch = await maker.extendBy(maker.genesis, writes(6n, 3))
  const { store, importer, importAll } = await openImporter(t, maker, { branchBlocksMax: 2 })
  await importAll(trunk)
  const [one, two, three] = branch as [MadeBlock, MadeBlock, MadeBlock]
  t.equal(await importer.importBeside(parseBlock(one.rlp)), 'executed')
  const before = dumpStore(store)
  const forged = change(two, { stateRoot: keccak256(Buffer.from('lie')) })
  await t.rejects(importer.importBeside(parseBlock(forged.rlp)), {
    name: 'BadBlockError',
    message: /stateRoot/,
  })
  t.strictSame(differences(dumpStore(store), before), [])
  t.equal(await importer.importBeside(parseBlock(two.rlp)), 'executed')
  t.equal(await importer.importBeside(parseBlock(three.rlp)), 'unexecuted')
  t.notOk(store.hasHeader(toHash32(three.hash)), 'it is not stored')
  await importer.makeHead(nameOf(two))
  t.equal(await importer.importBeside(parseBlock(three.rlp)), 'executed', 'its branch is canonical now')
  mustBeSound(t, store)
})

t.test('block diffs in memory are bounded, the oldest go first', async (t) => {
  const beside = new ExecutedBeside(1_000)
  const diffOf = (tag: number, bytes: number) => ({
    number: 1,
    hash: keccak256(Uint8Array.of(tag)),
    parentHash: keccak256(Uint8Array.of(0)),
    header: new Uint8Array(bytes),
    body: new Uint8Array(0),
    senders: new Uint8Array(0),
    receipts: new Uint8Array(0),
    totalDifficulty: new Uint8Array(0),
    accounts: [],
    slots: [],
    trie: [],
    code: [],
  })
  const diffs = [1, 2, 3].map((tag) => diffOf(tag, 400))
  for (const diff of diffs) beside.add(diff)
  t.strictSame(
    diffs.map(({ hash }) => beside.find(hash) !== undefined),
    [false, true, true],
  )
  t.equal(beside.bytes, 800)
  beside.add(diffOf(4, 5_000))
  t.equal(beside.bytes, 0, 'a diff above the limit leaves none')
})
