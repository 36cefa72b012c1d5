import { createHash } from 'node:crypto'
import { ByteVectorType, ContainerType, ListCompositeType, UintBigintType } from '@chainsafe/ssz'
import t from 'tap'
import { EpochTree, type HeaderRecord } from '../../../../src/data/ssz/epochTree.js'
import { verifyHeaderProof } from '../../../../src/data/ssz/verifyHeaderProof.js'
import { bytesToHex, equalBytes, toHash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { EraFile } from '../../../../src/sources/ingest/era/eraFile.js'
import { makeBlocks, sepoliaArchive, withoutSepolia } from '../../../ingest/eraArchives.js'

const headerRecord = new ContainerType({
  blockHash: new ByteVectorType(32),
  totalDifficulty: new UintBigintType(32),
})
const epoch = new ListCompositeType(headerRecord, 8_192)

function rootByLibrary(records: readonly HeaderRecord[]): Uint8Array {
  return epoch.hashTreeRoot(
    records.map(({ hash, totalDifficulty }) => ({ blockHash: hash, totalDifficulty })),
  )
}

/** Folds a branch by the SSZ specification, with OpenSSL's SHA-256. The gindex of a block's hash is (2·8192 + i)·2. */
function fold(leaf: Uint8Array, branch: Uint8Array, index: number): Uint8Array {
  let gindex = (2 * 8_192 + index) * 2
  let node = leaf
  for (let at = 0; at < branch.length; at += 32, gindex >>= 1) {
    const sibling = branch.subarray(at, at + 32)
    const pair = gindex % 2 === 0 ? [node, sibling] : [sibling, node]
    node = createHash('sha256').update(Buffer.concat(pair)).digest()
  }
  return gindex === 1 ? node : new Uint8Array(0)
}

function hexesOf(branch: Uint8Array): string[] {
  return Array.from({ length: branch.length / 32 }, (_, i) =>
    bytesToHex(branch.subarray(i * 32, i * 32 + 32)),
  )
}

t.test('the root of any number of records is that of @chainsafe/ssz', async (t) => {
  const blocks = makeBlocks(9)
  for (let count = 0; count <= blocks.length; count++) {
    const records = blocks.slice(0, count)
    t.equal(bytesToHex(new EpochTree(records).root), bytesToHex(rootByLibrary(records)))
  }
})

t.test('each branch of a short epoch leads to its root', async (t) => {
  const blocks = makeBlocks(5)
  const tree = new EpochTree(blocks)
  for (const [index, { hash, header, number, totalDifficulty }] of blocks.entries()) {
    const branch = tree.branchOf(index)
    t.equal(branch.length, 15 * 32)
    t.ok(equalBytes(fold(hash, branch, index), tree.root))
    const proof = { header: bytesToHex(header), branch: hexesOf(branch) }
    t.strictSame(verifyHeaderProof(proof, bytesToHex(tree.root)), {
      blockHash: bytesToHex(hash),
      blockNumber: number,
      totalDifficulty,
    })
  }
  t.throws(() => tree.branchOf(5), RangeError)
})

t.test('a proof is refused for another header, branch or accumulator', async (t) => {
  const [first, second] = makeBlocks(2)
  if (first === undefined || second === undefined) throw new Error('no blocks')
  const tree = new EpochTree([first, second])
  const root = bytesToHex(tree.root)
  const branch = hexesOf(tree.branchOf(1))
  const header = bytesToHex(second.header)
  t.doesNotThrow(() => verifyHeaderProof({ header, branch }, root))
  t.throws(() => verifyHeaderProof({ header: bytesToHex(first.header), branch }, root), /leads to/)
  t.throws(() => verifyHeaderProof({ header, branch }, bytesToHex(second.hash)), /leads to/)
  t.throws(() => verifyHeaderProof({ header, branch: branch.slice(1) }, root), /14 hashes, expected 15/)
  for (let at = 0; at < branch.length; at++) {
    const changed = branch.with(at, bytesToHex(keccak256(Buffer.from(branch[at] as string))))
    t.throws(() => verifyHeaderProof({ header, branch: changed }, root), /leads to/)
  }
  t.throws(
    () => verifyHeaderProof({ header, branch: branch.with(3, '0x12') }, root),
    /branch\[3\] has 1 bytes/,
  )
})

t.test('all 8,192 proofs of an epoch of Sepolia are right', { skip: withoutSepolia }, async (t) => {
  const archive = new EraFile(sepoliaArchive)
  const blocks = [...archive.blocks()].map(({ header, totalDifficulty }) => ({
    header,
    hash: toHash32(keccak256(header)),
    totalDifficulty: totalDifficulty as bigint,
  }))
  archive.close()
  const { accumulator, first } = archive
  const tree = new EpochTree(blocks)
  t.equal(blocks.length, 8_192)
  t.equal(bytesToHex(rootByLibrary(blocks)), bytesToHex(accumulator as Uint8Array))
  t.equal(bytesToHex(tree.root), bytesToHex(accumulator as Uint8Array))
  let wrong = 0
  for (const [index, { hash, header, totalDifficulty }] of blocks.entries()) {
    const branch = tree.branchOf(index)
    if (!equalBytes(fold(hash, branch, index), tree.root)) wrong++
    const proof = { header: bytesToHex(header), branch: hexesOf(branch) }
    const proved = verifyHeaderProof(proof, bytesToHex(tree.root))
    if (proved.blockNumber !== first + index || proved.totalDifficulty !== totalDifficulty) wrong++
  }
  t.equal(wrong, 0)
})

t.test('the check is exported by the package, without a store', async (t) => {
  const exported = 'tidegate/verifyHeaderProof'
  const { verifyHeaderProof: check } = (await import(
    exported
  )) as typeof import('../../../../src/data/ssz/verifyHeaderProof.js')
  const [first, second] = makeBlocks(2)
  if (first === undefined || second === undefined) throw new Error('no blocks')
  const tree = new EpochTree([first, second])
  const proof = { header: bytesToHex(second.header), branch: hexesOf(tree.branchOf(1)) }
  const root = bytesToHex(tree.root)
  t.strictSame(check(proof, root), verifyHeaderProof(proof, root))
  t.throws(() => check(proof, bytesToHex(second.hash)), /leads to/)
})
