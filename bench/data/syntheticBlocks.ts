/**
 * A chain of many blocks with transactions in each, the same on every machine, for reads of blocks that were not
 * requested before. Bodies, senders and hashes are those of well-formed transactions, and each has a receipt with the log
 * of a transfer. Signatures and senders are random, there is no state, and the headers' roots do not match.
 */
import { decodeHeader, encodeHeader } from '../../src/data/chain/header.js'
import type { BlockDiff } from '../../src/data/store/blockDiff.js'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { Blooms, encodeReceipt } from '../../src/execution/evm/blocks/receipts.js'
import {
  bytesToHex,
  concatBytes,
  hexToBytes,
  padLeft,
  toMinimalBytes,
  trimLeft,
} from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import { encodeRlp } from '../../src/primitives/rlp.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { keepReady } from '../../src/sources/ingest/thread/taskStore.js'
import { syntheticGenesis } from './diffBuilder.js'
import { accountHex } from './syntheticState.js'

/** Increased with every change of the generated data: it is part of the name of a cached network. */
export const blocksVersion = 3

export const transactionsPerBlock = 10
/** Newest blocks whose answers are ready: more than by default, so that they do not stay in the processor's caches. */
export const readyBlocks = 2_000
/** Blocks written in one transaction of the store. */
const blocksPerCommit = 1_000
const secondsPerBlock = 12
const transferGas = 51_000
const gwei = 10 ** 9
const accounts = 1_000

/** Selector of transfer(address,uint256). */
const transferSelector = hexToBytes('0xa9059cbb')
const transferTopic = keccak256(Buffer.from('Transfer(address,address,uint256)'))
const noBytes = new Uint8Array(0)
const { chainId: chainIdText } = parseGenesis(syntheticGenesis).identity
const chainId = BigInt(chainIdText)

export function noise(salt: number, serial: number): Uint8Array {
  return keccak256(Uint8Array.of(salt, ...toMinimalBytes(serial)))
}

/** Below half of the curve's order, as s of every signature since Homestead. */
function halved(s: Uint8Array): Uint8Array {
  return Uint8Array.of((s[0] as number) >> 1, ...s.subarray(1))
}

/** The transaction number `serial` of a chain, as in the body of its block: a token transfer of type 2. */
function transactionBytes(serial: number): Uint8Array {
  const recipient = padLeft(hexToBytes(accountHex(serial)), 32)
  const amount = padLeft(toMinimalBytes(serial + 1), 32)
  const fields = encodeRlp([
    toMinimalBytes(chainId),
    toMinimalBytes(serial),
    toMinimalBytes(gwei),
    toMinimalBytes(30 * gwei),
    toMinimalBytes(transferGas),
    hexToBytes(accountHex(serial % accounts)),
    noBytes,
    concatBytes(transferSelector, recipient, amount),
    [],
    toMinimalBytes(serial % 2),
    trimLeft(noise(1, serial)),
    trimLeft(halved(noise(2, serial))),
  ])
  return concatBytes(Uint8Array.of(2), fields)
}

/** Hash of the `serial`-th transaction of a chain. */
export function transactionHash(serial: number): string {
  return bytesToHex(keccak256(transactionBytes(serial)))
}

/** Receipts of one block's transactions, and the bloom of their logs. */
function receiptsOf(serials: readonly number[]): Pick<BlockContent, 'receipts' | 'logsBloom'> {
  const blooms = new Blooms()
  const logs = serials.map((serial) => {
    const topics = [transferTopic, noise(4, serial), padLeft(hexToBytes(accountHex(serial)), 32)]
    return {
      address: hexToBytes(accountHex(serial % accounts)),
      topics,
      data: padLeft(toMinimalBytes(serial + 1), 32),
    }
  })
  const receipts = logs.map((log, at) => {
    const receipt = { type: 2, outcome: true, gasUsed: BigInt(transferGas * (at + 1)), logs: [log] }
    return encodeReceipt(receipt, blooms.bloomOf([log]))
  })
  return { receipts, logsBloom: blooms.block }
}

/** Content that differs between blocks. */
export interface BlockContent {
  /** Numbers of its transactions; no two of a chain are the same. */
  readonly serials: readonly number[]
  readonly gasUsed: number
  readonly logsBloom?: Uint8Array
  /** RLP of each; a chain may have none. */
  readonly receipts?: readonly Uint8Array[]
}

/** The block after `parent`. */
function nextBlockDiff(parent: BlockDiff, content: BlockContent): BlockDiff {
  const { serials, gasUsed, receipts = [], logsBloom } = content
  const before = decodeHeader(parent.header)
  const transactions = serials.map((serial) => transactionBytes(serial))
  const number = parent.number + 1
  const header = encodeHeader({
    ...before,
    parentHash: parent.hash,
    number,
    timestamp: Number(before.timestamp) + secondsPerBlock,
    gasUsed: BigInt(gasUsed),
    ...(logsBloom && { logsBloom }),
  })
  const senders = transactions.map((bytes, at) =>
    concatBytes(noise(3, serials[at] as number).subarray(0, 20), keccak256(bytes)),
  )
  return {
    number,
    hash: keccak256(header),
    parentHash: parent.hash,
    header,
    body: encodeRlp([transactions, [], []]),
    senders: concatBytes(...senders),
    receipts: encodeRlp(receipts),
    totalDifficulty: noBytes,
    accounts: [],
    slots: [],
    trie: [],
    code: [],
  }
}

/** Writes blocks 1 to `count` into a new store at `path`, `blocksPerCommit` in one transaction. */
export async function writeSyntheticChain(
  path: string,
  count: number,
  blocksPerCommit: number,
  contentOf: (number: number) => BlockContent,
  blocksReady = 0,
): Promise<void> {
  const store = ChainWriter.openForWriting({ path })
  try {
    const { identity, blockDiff } = parseGenesis(syntheticGenesis)
    store.initialize(identity, blockDiff)
    let parent = blockDiff
    while (parent.number < count) {
      const blockDiffs: BlockDiff[] = []
      const forkNumber = parent.number
      while (blockDiffs.length < blocksPerCommit && parent.number < count) {
        parent = nextBlockDiff(parent, contentOf(parent.number + 1))
        blockDiffs.push(parent)
      }
      store.apply(forkNumber, blockDiffs)
    }
    keepReady(store, { blocks: blocksReady, bytes: Number.MAX_SAFE_INTEGER })
    while (store.cutHistory());
  } finally {
    await store.close()
  }
}

export function writeSyntheticBlocks(path: string, count: number, blocksReady = readyBlocks): Promise<void> {
  const gasUsed = transferGas * transactionsPerBlock
  const contentOf = (number: number) => {
    const first = (number - 1) * transactionsPerBlock
    const serials = Array.from({ length: transactionsPerBlock }, (_, at) => first + at)
    return { serials, gasUsed, ...receiptsOf(serials) }
  }
  return writeSyntheticChain(path, count, blocksPerCommit, contentOf, blocksReady)
}
