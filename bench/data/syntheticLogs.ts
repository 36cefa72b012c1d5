/**
 * A chain of very many blocks with logs, the same on every machine, for searches. Each block has a transfer of a token
 * that is in every block, between accounts of which each sends ten times in the whole chain, and a log of one of many
 * pools; 10,000 blocks, evenly spread, a log of {@link spreadToken} as well. Transactions are those of
 * syntheticBlocks.ts; there is no state.
 */
import { decodeHeader, encodeHeader } from '../../src/chain/header.js'
import { bytesToHex, concatBytes, padLeft, toMinimalBytes } from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import { encodeRlp } from '../../src/primitives/rlp.js'
import type { BlockDiff } from '../../src/store/blockDiff.js'
import { emptyParts, noise, transactionBytes, writeSyntheticChain } from './syntheticBlocks.js'

/** Raised with every change of what is generated: it is part of the name of a cached network. */
export const logsVersion = 1

/** Blocks written in one transaction of the store; the more, the fewer times each page of random keys is written. */
const blocksPerCommit = 20_000

/** How often an account sends, and how many blocks have a log of {@link spreadToken}. */
export const logsPerSender = 10
export const spreadLogs = 10_000

const pools = 1_000
const secondsPerBlock = 12
const gasUsed = 120_000

type Log = readonly [address: Uint8Array, topics: readonly Uint8Array[], data: Uint8Array]

const addressOf = (salt: number, serial: number) => noise(salt, serial).subarray(12)
const token = addressOf(11, 1)
export const spreadToken = addressOf(12, 1)
const transfer = keccak256(Buffer.from('Transfer(address,address,uint256)'))
const sync = keccak256(Buffer.from('Sync(uint112,uint112)'))

/** Topics of every transfer from the account with this number, in a chain of `count` blocks. */
export function senderTopics(count: number, sender: number): string[] {
  return [transfer, accountTopic(sender % sendersOf(count))].map(bytesToHex)
}

export const tokenAddress = bytesToHex(token)

function sendersOf(count: number): number {
  return Math.max(1, Math.floor(count / logsPerSender))
}

function accountTopic(serial: number): Uint8Array {
  return padLeft(addressOf(13, serial), 32)
}

function logsOf(number: number, count: number): Log[] {
  const senders = sendersOf(count)
  const to = accountTopic(Number.parseInt(bytesToHex(noise(14, number).subarray(0, 4)), 16) % senders)
  const topics = [transfer, accountTopic(number % senders), to]
  const amount = padLeft(toMinimalBytes(number + 1), 32)
  const logs: Log[] = [
    [token, topics, amount],
    [addressOf(15, number % pools), [sync], concatBytes(amount, amount)],
  ]
  const every = Math.max(1, Math.floor(count / spreadLogs))
  if (number % every === 0) logs.push([spreadToken, topics, amount])
  return logs
}

const bloomBits = new Map<string, readonly number[]>()
/** Of these there are few; the rest would only fill the memory. */
const bloomBitsKept = 2_000

function bitsOf(key: Uint8Array): readonly number[] {
  const name = bytesToHex(key)
  const known = bloomBits.get(name)
  if (known !== undefined) return known
  const hash = keccak256(key)
  const bits = [0, 2, 4].map((at) => (((hash[at] as number) << 8) | (hash[at + 1] as number)) & 2047)
  if (bloomBits.size < bloomBitsKept) bloomBits.set(name, bits)
  return bits
}

function bloomOf(logs: readonly Log[]): Uint8Array {
  const bloom = new Uint8Array(256)
  for (const [address, topics] of logs) {
    for (const bit of [address, ...topics].flatMap(bitsOf)) {
      const at = 255 - (bit >> 3)
      bloom[at] = (bloom[at] as number) | (1 << (bit & 7))
    }
  }
  return bloom
}

/** The block after `parent` in a chain of `count`. */
function nextBlockDiff(parent: BlockDiff, chainId: bigint, count: number): BlockDiff {
  const before = decodeHeader(parent.header)
  const number = parent.number + 1
  const logs = logsOf(number, count)
  const logsBloom = bloomOf(logs)
  const header = encodeHeader({
    ...before,
    parentHash: parent.hash,
    number,
    timestamp: Number(before.timestamp) + secondsPerBlock,
    gasUsed: BigInt(gasUsed),
    logsBloom,
  })
  const transaction = transactionBytes(number, chainId)
  const receipt = encodeRlp([Uint8Array.of(1), toMinimalBytes(gasUsed), logsBloom, logs as never])
  return {
    number,
    hash: keccak256(header),
    parentHash: parent.hash,
    header,
    body: encodeRlp([[transaction], [], []]),
    senders: concatBytes(noise(3, number).subarray(0, 20), keccak256(transaction)),
    ...emptyParts,
    receipts: encodeRlp([concatBytes(Uint8Array.of(2), receipt)]),
  }
}

export function writeSyntheticLogs(path: string, count: number): Promise<void> {
  return writeSyntheticChain(path, count, blocksPerCommit, (parent, chainId) =>
    nextBlockDiff(parent, chainId, count),
  )
}
