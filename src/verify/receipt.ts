/** Converts receipts of a block's trie to the JSON of `eth_getTransactionReceipt`. */
import { decodeRlpList, rlpBytes, rlpList } from '../primitives/rlp.js'
import { hexOf, integerOf, quantityOf, refuse } from './bytes.js'
import type { ProvedHeader } from './header.js'
import { type Json, type ProvedTransaction, typeOf } from './transaction.js'

/** EIP-4844. */
const gasPerBlob = 131_072n

interface Receipt {
  readonly type: number
  /** Before Byzantium the state root after the transaction, since then whether it succeeded (EIP-658). */
  readonly outcome: Uint8Array
  readonly cumulativeGas: bigint
  readonly bloom: Uint8Array
  /** For a transaction without a signature, since Canyon: the nonce of its sender, and a version. */
  readonly tail: readonly Uint8Array[]
  readonly logs: readonly (readonly [address: Uint8Array, topics: readonly Uint8Array[], data: Uint8Array])[]
}

/** Throws {@link VerifyError}, or RlpError. */
function readReceipt(raw: Uint8Array): Receipt {
  const type = (raw[0] as number) >= 0xc0 ? 0 : (raw[0] as number)
  const items = decodeRlpList(type === 0 ? raw : raw.subarray(1))
  const tail = typeOf(type)?.receiptFields ?? []
  if (items.length !== 4 && items.length !== 4 + tail.length) refuse('a receipt has another number of fields')
  const [outcome, gas, bloom] = items.slice(0, 3).map(rlpBytes) as [Uint8Array, Uint8Array, Uint8Array]
  const logs = rlpList(items[3]).map((log) => {
    const [address, topics, data] = rlpList(log)
    return [rlpBytes(address), rlpList(topics).map(rlpBytes), rlpBytes(data)] as const
  })
  return { type, outcome, cumulativeGas: integerOf(gas), bloom, tail: items.slice(4).map(rlpBytes), logs }
}

/**
 * The receipt object of a transaction, without members that depend on other data. These are the price of blob gas (the
 * network's forks), and fees of the OP Stack (other transactions). `raw` are the receipts of the block up to its own:
 * its gas and log indexes follow from all of them.
 */
export function receiptJson(
  raw: readonly Uint8Array[],
  transaction: ProvedTransaction,
  header: ProvedHeader,
  index: bigint,
): { readonly [name: string]: Json; readonly logs: readonly Json[] } {
  const receipts = raw.map(readReceipt)
  const receipt = receipts.pop() as Receipt
  if (receipt.type !== transaction.type) refuse('the receipt is of another type than its transaction')
  const gasBefore = receipts.at(-1)?.cumulativeGas ?? 0n
  const logsBefore = receipts.reduce((sum, { logs }) => sum + logs.length, 0)
  const place = {
    blockHash: header.hash,
    blockNumber: quantityOf(header.number),
    transactionHash: transaction.hash,
    transactionIndex: quantityOf(index),
  }
  const { outcome } = receipt
  const { tail } = receipt
  const created = transaction.created(tail[0])
  const names = typeOf(receipt.type)?.receiptFields ?? []
  return {
    ...place,
    ...(transaction.blobs > 0 && { blobGasUsed: quantityOf(BigInt(transaction.blobs) * gasPerBlob) }),
    ...Object.fromEntries(tail.map((value, at) => [names[at], quantityOf(value)])),
    ...(transaction.isForced && tail.length === 0 ? {} : { contractAddress: created ?? null }),
    cumulativeGasUsed: quantityOf(receipt.cumulativeGas),
    effectiveGasPrice: quantityOf(transaction.effectiveGasPrice),
    from: transaction.from,
    gasUsed: quantityOf(receipt.cumulativeGas - gasBefore),
    logs: receipt.logs.map(([address, topics, data], at) => ({
      ...place,
      address: hexOf(address),
      topics: topics.map(hexOf),
      data: hexOf(data),
      blockTimestamp: quantityOf(header.timestamp),
      logIndex: quantityOf(logsBefore + at),
      removed: false,
    })),
    logsBloom: hexOf(receipt.bloom),
    ...(outcome.length === 32 ? { root: hexOf(outcome) } : { status: quantityOf(outcome) }),
    to: transaction.to,
    type: quantityOf(transaction.type),
  }
}
