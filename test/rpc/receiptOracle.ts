/** Expected JSON of receipts, as far as it follows from the block alone, and the inverse to consensus RLP. */
import { createMPT } from '@ethereumjs/mpt'
import type { Json } from './demoChain.js'
import {
  bytesOf,
  type DemoBlock,
  type DemoTransaction,
  encode,
  examples,
  genesis,
  hex,
  integer,
  keccak,
  minimalBytes,
  quantity,
  type Raw,
} from './demoChain.js'
import { baseFeeOf, expectedGasPrice, recoverSender } from './transactionOracle.js'

const gasPerBlob = 131_072n

/** The bytes of a receipt object in the receipts trie. */
export function bytesOfReceiptJson(receipt: Json): Uint8Array {
  const type = Number(receipt.type)
  const outcome =
    receipt.root === undefined ? minimalBytes(receipt.status as string) : bytesOf(receipt.root as string)
  const logs = (receipt.logs as { address: string; topics: string[]; data: string }[]).map((log) => [
    bytesOf(log.address),
    log.topics.map(bytesOf),
    bytesOf(log.data),
  ])
  const list = encode([
    outcome,
    minimalBytes(receipt.cumulativeGasUsed as string),
    bytesOf(receipt.logsBloom as string),
    logs as Raw,
  ])
  return type === 0 ? list : Uint8Array.from([type, ...list])
}

/** The receipts root of receipt objects, by the trie of @ethereumjs. */
export async function receiptsRoot(receipts: readonly Json[]): Promise<string> {
  const trie = await createMPT()
  for (const [index, receipt] of receipts.entries()) {
    await trie.put(
      encode(index === 0 ? new Uint8Array(0) : minimalBytes(quantity(index))),
      bytesOfReceiptJson(receipt),
    )
  }
  return hex(trie.root())
}

/** Address of the contract that a transaction with this nonce creates: the last 20 bytes of Keccak-256 of both. */
export function createdAddress(sender: string, nonce: bigint): string {
  return `0x${keccak(encode([bytesOf(sender), minimalBytes(quantity(nonce))])).slice(26)}`
}

/** The bloom of logs (yellow paper 4.4.1): three bits of Keccak-256 of each address and topic. */
export function bloomOf(logs: readonly { address: string; topics: readonly string[] }[]): string {
  const bloom = new Uint8Array(256)
  for (const text of logs.flatMap(({ address, topics }) => [address, ...topics])) {
    const digest = bytesOf(keccak(bytesOf(text)))
    for (const at of [0, 2, 4]) {
      const bit = (((digest[at] as number) << 8) | (digest[at + 1] as number)) & 2047
      const index = 255 - (bit >> 3)
      bloom[index] = (bloom[index] as number) | (1 << (bit & 7))
    }
  }
  return hex(bloom)
}

/** Price of blob gas after `excess` of it (EIP-4844). */
function blobGasPrice(excess: bigint, fraction: bigint): bigint {
  let sum = 0n
  for (let i = 1n, term = fraction; term > 0n; i++) {
    sum += term
    term = (term * excess) / (fraction * i)
  }
  return sum / fraction
}

/** The fork whose blob schedule applies to a block. */
function blobFork(number: number): string | undefined {
  const forks = examples.forks.filter(
    ({ block, name }) => block <= number && name in genesis.config.blobSchedule,
  )
  return forks.at(-1)?.name
}

/** All members of a receipt except outcome, bloom, logs and cumulative gas, which the receipts root covers. */
export function expectedReceiptFrame(block: DemoBlock, index: number): Json {
  const transaction = block.transactions[index] as DemoTransaction
  const { type, fields, bytes, hash } = transaction
  const from = recoverSender(bytes, block.number)
  const to = fields[[3, 4, 5, 5, 5][type] as number] as Uint8Array
  const nonce = integer(fields[type === 0 ? 0 : 1] as Uint8Array)
  const fork = blobFork(block.number)
  const fraction = fork && genesis.config.blobSchedule[fork]?.baseFeeUpdateFraction
  return {
    blockHash: block.hash,
    blockNumber: quantity(block.number),
    transactionHash: hash,
    transactionIndex: quantity(index),
    from,
    to: to.length === 0 ? null : hex(to),
    contractAddress: to.length === 0 ? createdAddress(from, nonce) : null,
    effectiveGasPrice: quantity(expectedGasPrice(transaction, baseFeeOf(block))),
    type: quantity(type),
    ...(type === 3 &&
      fraction !== undefined && {
        blobGasUsed: quantity(BigInt((fields[10] as Uint8Array[]).length) * gasPerBlob),
        blobGasPrice: quantity(blobGasPrice(integer(block.header[18] as Uint8Array), BigInt(fraction))),
      }),
  }
}

/** Position members of a receipt's logs; `first` counts the earlier logs of the block. */
export function expectedLogFrames(receipt: Json, block: DemoBlock, first: number): Json[] {
  const { blockHash, blockNumber, transactionHash, transactionIndex, logs } = receipt
  return (logs as unknown[]).map((_, at) => ({
    blockHash,
    blockNumber,
    transactionHash,
    transactionIndex,
    blockTimestamp: quantity(block.header[11] as Uint8Array),
    logIndex: quantity(first + at),
    removed: false,
  }))
}
