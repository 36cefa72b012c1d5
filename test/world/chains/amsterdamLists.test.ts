/**
 * The chains of the Amsterdam fork, with blocks made from their access lists, so that no contract runs here. Tests
 * which parts of the lists are stored, and who checks them.
 */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import type { BlockDiff } from '../../../src/data/store/blockDiff.js'
import type { ChainReader } from '../../../src/data/store/chainReader.js'
import type { ChainTables } from '../../../src/data/store/tables.js'
import type { Hash32 } from '../../../src/primitives/bytes.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { rlpSpanAt } from '../../../src/primitives/rlp.js'
import {
  type BlockDiffParts,
  decodeBlockDiff,
  encodeBlockDiff,
  readBlockDiffParts,
} from '../../../src/sources/feed/blockDiffCodec.js'
import { BlockDiffVerifier, previousState } from '../../../src/sources/feed/verifyBlockDiff.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { readChainFile } from '../../../src/sources/ingest/blocks/chainFile.js'
import { ChainImporter } from '../../../src/sources/ingest/blocks/importer.js'
import { exportArchives } from '../../../src/sources/ingest/era/exportArchives.js'
import { verifyChain } from '../../../src/sources/ingest/verify/verifyChain.js'
import {
  type AmsterdamBlock,
  amsterdamChains,
  amsterdamFile,
  withoutAmsterdam,
} from '../../ingest/amsterdam.js'
import { importAmsterdam, newAmsterdamStore } from '../../ingest/amsterdamStore.js'
import { makeFolder } from '../../library/folder.js'
import { dumpStore } from '../../store/storeDump.js'

const skip = withoutAmsterdam
const faultsOf = (store: ChainReader) =>
  verifyChain(store, { blocks: 3, seed: 1, onProgress: () => undefined }).faults
const tablesOf = (store: ChainReader) => (store as unknown as { tables: ChainTables }).tables
const listOf = (store: ChainReader, number: number) =>
  store.readBlockAccessList(store.readCanonicalHash(number) as Hash32)

/** Numbers of the blocks whose list the store does not have as go-ethereum does. */
function wrongLists(store: ChainReader, blocks: readonly AmsterdamBlock[]): number[] {
  return blocks.flatMap(({ blockAccessListRlp }, number) => {
    const list = listOf(store, number)
    // go-ethereum has no list for genesis; here it is empty.
    const wanted = number === 0 && list !== undefined ? '0xc0' : blockAccessListRlp
    return (list && bytesToHex(list)) === wanted ? [] : [number]
  })
}

/** The last block of stores that are changed. The fork is at block 40 of a1-cross. */
const last = 60

for (const chain of amsterdamChains) {
  t.test(`${chain}: lists lead from state to state, and are kept`, { skip }, async (t) => {
    const { store, blocks } = await importAmsterdam(t, chain, 'chain-with-bal.rlp.gz')
    t.equal(bytesToHex(store.head.hash), blocks.at(-1)?.hash)
    t.strictSame(wrongLists(store, blocks), [])
    // The other chain crosses the fork, like the stores verified below.
    if (chain === 'a2-genesis') t.strictSame(faultsOf(store), [])
  })
}

t.test('a chain with lists is exported as go-ethereum exports it', { skip }, async (t) => {
  const { store } = await importAmsterdam(t, 'a1-cross', 'chain.rlp.gz', last)
  const folder = makeFolder(t)
  const plan = { network: 'cross', from: 0, to: store.head.number, folder }
  const { value: file } = await exportArchives(store, plan).next()
  const exported = readFileSync(file.path)
  const genesisEnd = rlpSpanAt(exported, 0).end
  const wanted = gunzipSync(readFileSync(amsterdamFile('a1-cross', 'chain-with-bal.rlp.gz')))
  const own = exported.subarray(genesisEnd)
  t.ok(own.length > 0 && own.equals(wanted.subarray(0, own.length)))
  t.equal(plan.to, last)
})

t.test('a list goes with its block', { skip }, async (t) => {
  const { store, schedule, blocks } = await importAmsterdam(t, 'a1-cross', 'chain.rlp.gz', last)
  const above = 45
  const listed = () => [...tablesOf(store).accessLists.getRange()].length
  t.equal(listed(), last - 39)
  const hash = store.readCanonicalHash(above + 1)?.slice() as Hash32
  store.apply(above, [])
  t.equal(listed(), above - 39, 'one for each block that is left')
  t.equal(store.readBlockAccessList(hash), undefined)
  t.strictSame(wrongLists(store, blocks.slice(0, above + 1)), [])
  t.strictSame(faultsOf(store), [])
  // Back before the fork, and over it again.
  store.apply(35, [])
  t.equal(listed(), 0)
  const importer = new ChainImporter(store, schedule)
  for await (const { rlp } of readChainFile(amsterdamFile('a1-cross', 'chain-with-bal.rlp.gz'))) {
    const { number } = await importer.importBlock(parseBlock(rlp))
    if (number === 50) break
  }
  t.equal(listed(), 11)
  t.strictSame(wrongLists(store, blocks.slice(0, 51)), [])
  t.strictSame(faultsOf(store), [])
})

t.test('a list that is missing or another is found by verify', { skip }, async (t) => {
  const { store } = await importAmsterdam(t, 'a2-genesis', 'chain.rlp.gz', 20)
  const { accessLists } = tablesOf(store)
  const [one, other] = [17, 18].map((number) => store.readCanonicalHash(number)?.slice() as Hash32) as [
    Hash32,
    Hash32,
  ]
  const row = accessLists.getBinary(one)?.slice() as Uint8Array
  const damage = (value: Uint8Array | undefined) => {
    store.beginBatch()
    if (value === undefined) accessLists.removeSync(one)
    else accessLists.putSync(one, value)
    return store.commitBatch()
  }
  await damage(undefined)
  t.match(faultsOf(store), [/^block 17: its access list is missing/])
  await damage(accessLists.getBinary(other)?.slice())
  t.match(faultsOf(store), [/^block 17: blockAccessListHash of its content is 0x\S+, the header says 0x/])
  await damage(row.subarray(0, row.length - 1))
  t.match(faultsOf(store), [/^block 17: /])
  await damage(row)
  t.strictSame(faultsOf(store), [])
})

t.test('block diffs carry the lists, and a replica believes none', { skip }, async (t) => {
  const { store, schedule } = await importAmsterdam(t, 'a1-cross', 'chain.rlp.gz', last)
  const fed = newAmsterdamStore(t, 'a1-cross').store
  const verifier = new BlockDiffVerifier(schedule, { sendersChecked: 1 })
  fed.beginBatch()
  let applied: { readonly parts: BlockDiffParts; readonly whole: BlockDiff } | undefined
  for (let number = 1; number <= store.head.number; number++) {
    const parts = readBlockDiffParts(store, number) as BlockDiffParts
    const previous = previousState(fed)
    if (number === 40) {
      const { blockAccessList: list, ...rest } = parts
      const wrong = Uint8Array.from(list as Uint8Array)
      wrong[30] = (wrong[30] as number) ^ 1
      t.throws(() => verifier.verifyBlockDiff(previous, rest), {
        message: /^block 40 .*access list is missing/,
      })
      const changed = { ...parts, blockAccessList: wrong }
      t.throws(() => verifier.verifyBlockDiff(previous, changed), {
        message: /^block 40 .*access list has the hash 0x\S+, expected 0x/,
      })
    }
    if (number === 39) {
      const early = { ...parts, blockAccessList: Uint8Array.of(0xc0) }
      t.throws(() => verifier.verifyBlockDiff(previous, early), {
        message: /^block 39 .*access list has the hash 0x\S+, expected none/,
      })
      t.equal(parts.blockAccessList, undefined)
    }
    const whole = verifier.verifyBlockDiff(previous, decodeBlockDiff(encodeBlockDiff(parts)))
    fed.apply(number - 1, [whole])
    applied = { parts, whole }
  }
  await fed.commitBatch()
  t.equal(applied?.whole.number, last)
  t.strictSame(dumpStore(fed), dumpStore(store))
})
