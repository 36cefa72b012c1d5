/** Small chains for archives, made without execution, and .ere files, which the program can only read. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLegacyTx } from '@ethereumjs/tx'
import { compressSync } from 'snappy'
import { forksUpToLondon } from '../../src/data/chain/forks.js'
import { encodeHeader, type Header } from '../../src/data/chain/header.js'
import { uint256Bytes } from '../../src/data/ssz/epochTree.js'
import { indexedRoot } from '../../src/data/state/trie.js'
import type { ChainReader } from '../../src/data/store/chainReader.js'
import { Blooms, encodeReceipt } from '../../src/execution/evm/blocks/receipts.js'
import { bytesToBigInt, hexToBytes, toHash32, toMinimalBytes } from '../../src/primitives/bytes.js'
import { emptyTrieRoot, emptyUnclesHash, keccak256 } from '../../src/primitives/keccak.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { encodeRlp } from '../../src/primitives/rlp.js'
import { type ArchivedBlock, EraWriter } from '../../src/sources/ingest/era/exportArchives.js'
import { frame } from '../../src/sources/ingest/era/snappyFrames.js'

/** 8,192 blocks of Sepolia, beside the package in its development environment. */
export const sepoliaArchive = join(packageRoot(), '../shared/data/sepolia-00021-b8814b14.era1')
export const withoutSepolia: false | string = existsSync(sepoliaArchive)
  ? false
  : `there is no ${sepoliaArchive}`

/** The rules of the chains that {@link makeBlocks} makes. */
export const archivedConfig = {
  chainId: 1,
  ...forksUpToLondon,
} as const

export interface MadeBlock extends ArchivedBlock {
  readonly number: number
  readonly slimReceipts: Uint8Array
}

const difficulty = 1_000n
const logged = { address: new Uint8Array(20).fill(0x10), topics: [new Uint8Array(32).fill(7)] }
const zeroHash = toHash32(new Uint8Array(32))

/**
 * `count` blocks from number `first` on. Of the first 20 in each 512, two have a transaction with a log, two an uncle.
 */
export function makeBlocks(count: number, first = 0, parent: MadeBlock | undefined = undefined): MadeBlock[] {
  const blocks: MadeBlock[] = []
  let last = parent
  for (let number = first; number < first + count; number++) {
    last = makeBlock(number, last)
    blocks.push(last)
  }
  return blocks
}

function makeBlock(number: number, parent: MadeBlock | undefined): MadeBlock {
  const isFull = number % 512 < 20
  const transactions = isFull && number % 10 === 5 ? [makeTransaction(number)] : []
  const base = makeHeader(number, parent)
  const uncles = isFull && number % 10 === 7 ? [hexListOf({ ...base, extraData: Uint8Array.of(1) })] : []
  const outcome = { type: 0, outcome: true, gasUsed: 21_000n, logs: [{ ...logged, data: new Uint8Array(3) }] }
  const blooms = new Blooms()
  const receipts = transactions.map(() => encodeReceipt(outcome, blooms.bloomOf(outcome.logs)))
  const header = encodeHeader({
    ...base,
    transactionsRoot: indexedRoot(transactions.map((fields) => encodeRlp(fields))),
    unclesHash: uncles.length === 0 ? emptyUnclesHash : keccak256(encodeRlp(uncles)),
    receiptsRoot: indexedRoot(receipts),
    logsBloom: blooms.block,
  })
  const slim = transactions.map(() => [
    new Uint8Array(0),
    Uint8Array.of(1),
    toMinimalBytes(21_000),
    [[logged.address, logged.topics, new Uint8Array(3)]],
  ])
  return {
    number,
    hash: keccak256(header),
    header,
    body: encodeRlp([transactions, uncles]),
    receipts: encodeRlp(receipts),
    slimReceipts: encodeRlp(slim),
    totalDifficulty: (parent?.totalDifficulty ?? difficulty * BigInt(number)) + difficulty,
  }
}

function makeHeader(number: number, parent: MadeBlock | undefined): Header {
  return {
    parentHash: parent === undefined ? zeroHash : toHash32(parent.hash),
    unclesHash: emptyUnclesHash,
    miner: new Uint8Array(20),
    stateRoot: emptyTrieRoot,
    transactionsRoot: emptyTrieRoot,
    receiptsRoot: emptyTrieRoot,
    logsBloom: new Uint8Array(256),
    difficulty,
    number,
    gasLimit: 30_000_000n,
    gasUsed: 0n,
    timestamp: 1_600_000_000 + number,
    extraData: new Uint8Array(0),
    mixHash: zeroHash,
    nonce: new Uint8Array(8),
    baseFeePerGas: 7n,
  }
}

function hexListOf(header: Header): Uint8Array[] {
  const { baseFeePerGas: _, ...legacy } = header
  return [
    legacy.parentHash,
    legacy.unclesHash,
    legacy.miner,
    legacy.stateRoot,
    legacy.transactionsRoot,
    legacy.receiptsRoot,
    legacy.logsBloom,
    toMinimalBytes(legacy.difficulty),
    toMinimalBytes(legacy.number),
    toMinimalBytes(legacy.gasLimit),
    toMinimalBytes(legacy.gasUsed),
    toMinimalBytes(legacy.timestamp),
    legacy.extraData,
    legacy.mixHash,
    legacy.nonce,
  ]
}

function makeTransaction(nonce: number): Uint8Array[] {
  const fields = { nonce, gasPrice: 10, gasLimit: 21_000, to: `0x${'11'.repeat(20)}` as const, value: 1 }
  return createLegacyTx(fields)
    .sign(hexToBytes('01'.padStart(64, '0')))
    .raw() as Uint8Array[]
}

/** All canonical blocks of a store. */
export function storedBlocks(store: ChainReader): (ArchivedBlock & { readonly number: number })[] {
  const head = store.readHead()?.number ?? -1
  return Array.from({ length: head + 1 }, (_, number) => {
    const hash = store.readCanonicalHash(number)
    const block = hash && store.readBlock(hash)
    const body = hash && store.readBody(hash)
    const receipts = hash && store.readReceipts(hash)
    if (!hash || !block || !body || !receipts) throw new Error(`block ${number} is not whole`)
    return {
      number,
      hash: toHash32(Uint8Array.from(hash)),
      header: Uint8Array.from(block.header),
      body: Uint8Array.from(body),
      receipts: Uint8Array.from(receipts),
      totalDifficulty: bytesToBigInt(block.totalDifficulty),
    }
  })
}

/** Writes an era1 archive and returns its accumulator. */
export function writeArchive(
  path: string,
  blocks: readonly (ArchivedBlock & { readonly number: number })[],
): Uint8Array {
  const writer = new EraWriter(path, blocks[0]?.number ?? 0)
  try {
    for (const block of blocks) writer.add(block)
    return writer.finish()
  } finally {
    writer.close()
  }
}

/** Writes an .ere archive with the parts of its profile. */
export function writeEre(
  path: string,
  blocks: readonly MadeBlock[],
  { receipts = true, totals = true, accumulator = undefined as Uint8Array | undefined } = {},
): void {
  const parts: Uint8Array[] = []
  let bytes = 0
  const add = (type: number, data: Uint8Array): number => {
    const header = Buffer.alloc(8)
    header.writeUInt16LE(type, 0)
    header.writeUInt32LE(data.length, 2)
    parts.push(header, data)
    bytes += 8 + data.length
    return bytes - 8 - data.length
  }
  add(0x3265, new Uint8Array(0))
  const offsets = [
    blocks.map(({ header }) => add(0x03, frame(header))),
    blocks.map(({ body }) => add(0x04, frame(body))),
    ...(receipts ? [blocks.map(({ slimReceipts }) => add(0x0a, frame(slimReceipts)))] : []),
    ...(totals ? [blocks.map(({ totalDifficulty }) => add(0x06, uint256Bytes(totalDifficulty)))] : []),
  ]
  if (accumulator !== undefined) add(0x07, accumulator)
  const index = Buffer.alloc(8 * (3 + blocks.length * offsets.length))
  index.writeBigUInt64LE(BigInt(blocks[0]?.number ?? 0), 0)
  for (let block = 0; block < blocks.length; block++) {
    for (const [component, list] of offsets.entries()) {
      const at = 8 * (1 + block * offsets.length + component)
      index.writeBigInt64LE(BigInt((list[block] as number) - bytes), at)
    }
  }
  index.writeBigUInt64LE(BigInt(offsets.length), index.length - 16)
  index.writeBigUInt64LE(BigInt(blocks.length), index.length - 8)
  add(0x3267, index)
  writeFileSync(path, Buffer.concat(parts))
}

/** A snappy stream of one compressed chunk with a wrong checksum. */
export function withWrongChecksum(content: Uint8Array): Buffer {
  const body = compressSync(Buffer.from(content))
  const header = Buffer.alloc(8)
  header.writeUIntLE(4 + body.length, 1, 3)
  return Buffer.concat([Buffer.from('ff060000734e61507059', 'hex'), header, body])
}
