/** Transactions as JSON-RPC shows them, straight from their RLP. Field set and spelling follow go-ethereum. */
import { bytesToBigInt, bytesToHex, bytesToQuantity, toQuantity } from '../primitives/bytes.js'
import { decodeRlpList, type RlpItem, rlpBytes, rlpList } from '../primitives/rlp.js'

/** The fields of a transaction that more than its own rendering needs. */
export interface Transaction {
  /** EIP-2718 type; 0 for legacy. */
  readonly type: number
  readonly nonce: Uint8Array
  readonly to: Uint8Array
  /** Wei per gas. Legacy and type 1: the price. Later types: the most the sender pays. */
  readonly maxFeePerGas: bigint
  /** Wei per gas; undefined for legacy and type 1. */
  readonly maxPriorityFeePerGas: bigint | undefined
  /** EIP-4844. */
  readonly blobCount: number
  /** Decoded RLP fields, in the order of the type's definition. */
  readonly fields: readonly RlpItem[]
}

/** Where a transaction stands; constant parts of its JSON. */
export interface TransactionPlace {
  readonly blockHash: Uint8Array
  readonly blockNumber: number
  readonly timestamp: number
  readonly baseFeePerGas: bigint | undefined
  readonly index: number
  readonly sender: Uint8Array
  readonly hash: Uint8Array
}

/** Reads a transaction as a block's body holds it: an RLP list (legacy) or a type byte and an RLP list (EIP-2718). */
export function decodeTransaction(bytes: Uint8Array): Transaction {
  const isLegacy = (bytes[0] as number) >= 0xc0
  const type = isLegacy ? 0 : (bytes[0] as number)
  const fields = decodeRlpList(isLegacy ? bytes : bytes.subarray(1))
  const at = (index: number) => rlpBytes(fields[index])
  switch (type) {
    case 0:
      return {
        type,
        nonce: at(0),
        to: at(3),
        maxFeePerGas: bytesToBigInt(at(1)),
        maxPriorityFeePerGas: undefined,
        blobCount: 0,
        fields,
      }
    case 1:
      return {
        type,
        nonce: at(1),
        to: at(4),
        maxFeePerGas: bytesToBigInt(at(2)),
        maxPriorityFeePerGas: undefined,
        blobCount: 0,
        fields,
      }
    case 2:
    case 3:
    case 4:
      return {
        type,
        nonce: at(1),
        to: at(5),
        maxFeePerGas: bytesToBigInt(at(3)),
        maxPriorityFeePerGas: bytesToBigInt(at(2)),
        blobCount: type === 3 ? rlpList(fields[10]).length : 0,
        fields,
      }
    default:
      throw new RangeError(`transaction type ${type} is not known`)
  }
}

/** Wei per gas that the sender really pays (EIP-1559); the price itself before London. */
export function effectiveGasPrice(transaction: Transaction, baseFeePerGas: bigint | undefined): bigint {
  const { maxFeePerGas, maxPriorityFeePerGas } = transaction
  if (maxPriorityFeePerGas === undefined || baseFeePerGas === undefined) return maxFeePerGas
  const price = baseFeePerGas + maxPriorityFeePerGas
  return price < maxFeePerGas ? price : maxFeePerGas
}

/** The transaction object of the specification, as JSON text. */
export function transactionJson(transaction: Transaction, place: TransactionPlace): string {
  const { type, fields, to } = transaction
  const at = (index: number) => bytesToQuantity(rlpBytes(fields[index]))
  const [gas, value, input, firstSignature] = layouts[type] as readonly [number, number, number, number]
  const v = at(firstSignature)
  let json =
    `{"blockHash":"${bytesToHex(place.blockHash)}","blockNumber":"${toQuantity(place.blockNumber)}"` +
    `,"blockTimestamp":"${toQuantity(place.timestamp)}","from":"${bytesToHex(place.sender)}"` +
    `,"gas":"${at(gas)}","gasPrice":"${toQuantity(effectiveGasPrice(transaction, place.baseFeePerGas))}"`
  if (type >= 2) json += `,"maxFeePerGas":"${at(3)}","maxPriorityFeePerGas":"${at(2)}"`
  if (type === 3) json += `,"maxFeePerBlobGas":"${at(9)}"`
  json +=
    `,"hash":"${bytesToHex(place.hash)}","input":"${bytesToHex(rlpBytes(fields[input]))}"` +
    `,"nonce":"${bytesToQuantity(transaction.nonce)}","to":${to.length === 0 ? 'null' : `"${bytesToHex(to)}"`}` +
    `,"transactionIndex":"${toQuantity(place.index)}","value":"${at(value)}","type":"${toQuantity(type)}"`
  if (type > 0) json += `,"accessList":${accessListJson(rlpList(fields[input + 1]))},"chainId":"${at(0)}"`
  else json += legacyChainId(rlpBytes(fields[firstSignature]))
  if (type === 3) json += `,"blobVersionedHashes":${hashesJson(rlpList(fields[10]))}`
  if (type === 4) json += `,"authorizationList":${authorizationsJson(rlpList(fields[9]))}`
  json += `,"v":"${v}","r":"${at(firstSignature + 1)}","s":"${at(firstSignature + 2)}"`
  return type > 0 ? `${json},"yParity":"${v}"}` : `${json}}`
}

/** Positions of gas, value, input and the first signature field in each type's RLP; an access list follows the input. */
const layouts: readonly (readonly [number, number, number, number])[] = [
  [2, 4, 5, 6],
  [3, 5, 6, 8],
  [4, 6, 7, 9],
  [4, 6, 7, 11],
  [4, 6, 7, 10],
]

/** EIP-155 folds the chain id into v; before it there is none. */
function legacyChainId(v: Uint8Array): string {
  const value = bytesToBigInt(v)
  return value < 35n ? '' : `,"chainId":"${toQuantity((value - 35n) / 2n)}"`
}

function accessListJson(entries: readonly RlpItem[]): string {
  const parts = entries.map((entry) => {
    const [address, keys] = rlpList(entry)
    return `{"address":"${bytesToHex(rlpBytes(address))}","storageKeys":${hashesJson(rlpList(keys))}}`
  })
  return `[${parts.join(',')}]`
}

function authorizationsJson(entries: readonly RlpItem[]): string {
  const parts = entries.map((entry) => {
    const [chainId, address, nonce, yParity, r, s] = rlpList(entry).map(rlpBytes) as Uint8Array[]
    const quantity = (bytes: Uint8Array | undefined) => bytesToQuantity(bytes ?? new Uint8Array(0))
    return (
      `{"chainId":"${quantity(chainId)}","address":"${bytesToHex(address as Uint8Array)}","nonce":"${quantity(nonce)}"` +
      `,"yParity":"${quantity(yParity)}","r":"${quantity(r)}","s":"${quantity(s)}"}`
    )
  })
  return `[${parts.join(',')}]`
}

function hashesJson(hashes: readonly RlpItem[]): string {
  return `[${hashes.map((hash) => `"${bytesToHex(rlpBytes(hash))}"`).join(',')}]`
}
