/**
 * Imports a finished chain from its bytes with a fresh engine, and compares all fields of its headers. Roots, gas,
 * bloom and requests are compared by execution, the rest by rules that are written here again.
 */
import { type Block, type BlockHeader, createBlockFromRLP } from '@ethereumjs/block'
import type { KZG } from '@ethereumjs/util'
import { runBlock } from '@ethereumjs/vm'
import { bytesToHex, equalBytes } from '../../src/primitives/bytes.js'
import { rlpSpanAt } from '../../src/primitives/rlp.js'
import { blobGasPerBlob } from './chainBuilder.js'
import { createEngine } from './engine.js'
import { forkBlocks } from './forks.js'
import type { Genesis } from './genesis.js'

function must(holds: boolean, block: BlockHeader, what: string): void {
  if (!holds) throw new Error(`block ${block.number}: ${what}`)
}

/** Each block's bytes, as views. */
function splitChain(chain: Uint8Array): Uint8Array[] {
  const blocks: Uint8Array[] = []
  for (let offset = 0; offset < chain.length; ) {
    const { end } = rlpSpanAt(chain, offset)
    blocks.push(chain.subarray(offset, end))
    offset = end
  }
  return blocks
}

function checkHeader(header: BlockHeader, parent: BlockHeader): void {
  must(header.number === parent.number + 1n, header, 'number does not follow')
  must(equalBytes(header.parentHash, parent.hash()), header, 'parent hash does not match')
  must(header.timestamp > parent.timestamp, header, 'is not later than its parent')
  must(header.extraData.length <= 32, header, 'extra data too long')
  header.validateGasLimit(parent)
  if (header.number < BigInt(forkBlocks.merge)) {
    must(header.difficulty === header.ethashCanonicalDifficulty(parent), header, 'wrong difficulty')
  } else {
    must(header.difficulty === 0n, header, 'difficulty after the Merge')
  }
  if (header.number > BigInt(forkBlocks.london)) {
    must(header.baseFeePerGas === parent.calcNextBaseFee(), header, 'wrong base fee')
  }
  if (header.excessBlobGas !== undefined) {
    must(
      header.excessBlobGas === parent.calcNextExcessBlobGas(header.common),
      header,
      'wrong excess blob gas',
    )
  }
}

/** The header counts the blobs of its transactions, and no more of them than the fork allows (EIP-4844). */
function checkBlobs(block: Block): void {
  const { header } = block
  if (header.blobGasUsed === undefined) return
  let blobs = 0
  for (const tx of block.transactions) if ('blobVersionedHashes' in tx) blobs += tx.blobVersionedHashes.length
  must(header.blobGasUsed === BigInt(blobs) * blobGasPerBlob, header, 'wrong blob gas')
  must(header.blobGasUsed <= header.common.getBlobGasSchedule().maxBlobGasPerBlock, header, 'too many blobs')
}

/** Uncles share an ancestor within seven generations, are no ancestors, and come in once (yellow paper, 11.1). */
function checkUncles(block: Block, blocks: readonly Block[], seen: Set<string>): void {
  must(block.uncleHeaders.length <= 2, block.header, 'too many uncles')
  for (const uncle of block.uncleHeaders) {
    const depth = Number(block.header.number - uncle.number)
    must(depth >= 1 && depth <= 6, block.header, `uncle ${depth} heights down`)
    const sibling = blocks[Number(uncle.number)] as Block
    const parent = blocks[Number(uncle.number) - 1] as Block
    const hash = bytesToHex(uncle.hash())
    must(hash !== bytesToHex(sibling.hash()) && !seen.has(hash), block.header, 'uncle known already')
    seen.add(hash)
    checkHeader(uncle, parent.header)
  }
}

/** Throws at the first block that a strict client would refuse. Executes every transaction; about 10 s. */
export async function selfCheck(genesis: Genesis, kzg: KZG, chain: Uint8Array): Promise<void> {
  const engine = await createEngine(genesis, kzg)
  const blocks: Block[] = [engine.genesisBlock]
  const uncles = new Set<string>()
  let totalDifficulty = engine.genesisBlock.header.difficulty
  const terminal = BigInt(genesis.config.terminalTotalDifficulty as number)
  for (const bytes of splitChain(chain)) {
    const parent = blocks[blocks.length - 1] as Block
    const block = createBlockFromRLP(bytes, { common: engine.rules.copy(), setHardfork: true })
    const isStaked = block.header.number >= BigInt(forkBlocks.merge)
    must(equalBytes(block.serialize(), bytes), block.header, 'encodes to other bytes')
    must(totalDifficulty >= terminal === isStaked, block.header, 'on the wrong side of the Merge')
    checkHeader(block.header, parent.header)
    checkBlobs(block)
    checkUncles(block, blocks, uncles)
    await runBlock(engine.vm, { block, skipHeaderValidation: true })
    await engine.blockchain.putBlock(block)
    totalDifficulty += block.header.difficulty
    blocks.push(block)
  }
}
