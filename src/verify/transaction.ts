/** Converts a transaction of a block's trie to the JSON of `eth_getTransactionByBlockHashAndIndex`. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpBytes, rlpList } from '../primitives/rlp.js'
import { type Conversion, convertField } from '../primitives/transactionCodec.js'
import {
  depositType,
  type FieldForm,
  isQuantityForm,
  type LeafForm,
  type TransactionType,
  transactionTypes,
} from '../primitives/transactionTypes.js'
import { hexOf, integerOf, minimalBytes, quantityOf, refuse } from './bytes.js'
import type { ProvedHeader } from './header.js'

export type Json = string | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** A transaction with the data that its receipt repeats. */
export interface ProvedTransaction {
  readonly type: number
  readonly json: { readonly [name: string]: Json }
  readonly hash: string
  readonly from: string
  /** Null for a creation. */
  readonly to: string | null
  /** Whether the nonce is in the receipt, because the transaction has no signature. */
  readonly isForced: boolean
  /**
   * Address of the created contract, given the nonce in its receipt; null for other transactions, undefined without a
   * nonce.
   */
  readonly created: (reported: Uint8Array | undefined) => string | null | undefined
  readonly effectiveGasPrice: bigint
  readonly blobs: number
}

/** Undefined for types that are not known here. */
export function typeOf(number: number): TransactionType | undefined {
  return number === depositType.number ? depositType : transactionTypes.get(number)
}

/** `raw` is RLP (legacy), or a type byte and RLP (EIP-2718). Throws {@link VerifyError}. */
export function readTransaction(raw: Uint8Array, header: ProvedHeader, index: bigint): ProvedTransaction {
  const type = (raw[0] as number) >= 0xc0 ? 0 : (raw[0] as number)
  const known = typeOf(type)
  if (known === undefined) return refuse(`transactions of type ${type} are not known`)
  const { names, isSigned } = known
  const items = decodeRlpList(type === 0 ? raw : raw.subarray(1))
  if (items.length !== names.length + (isSigned ? 3 : 0))
    refuse('the transaction has another number of fields')
  const fields = new Map(names.map((name, at) => [name, items[at] as RlpItem]))
  const signature = isSigned ? items.slice(-3).map(rlpBytes) : [noBytes, noBytes, noBytes]
  const [v, r, s] = signature as [Uint8Array, Uint8Array, Uint8Array]
  const bytesOf = (name: string) => rlpBytes(fields.get(name))
  const from = isSigned ? recoverSender(type, items.slice(0, -3), { v: integerOf(v), r, s }) : bytesOf('from')
  const effectiveGasPrice = priceOf(fields, header.baseFee ?? 0n)
  const to = bytesOf('to').length === 0 ? null : hexOf(bytesOf('to'))
  const hash = hexOf(keccak_256(raw))
  const json: Record<string, Json> = {
    blockHash: header.hash,
    blockNumber: quantityOf(header.number),
    blockTimestamp: quantityOf(header.timestamp),
    from: hexOf(from),
    hash,
    transactionIndex: quantityOf(index),
    type: quantityOf(type),
  }
  for (const [name, item] of fields) {
    const form = known.fields[name] as FieldForm
    if (form !== 'flag' || rlpBytes(item).length > 0) json[name] = convertField(toJson, item, form, name)
  }
  json.gasPrice = quantityOf(effectiveGasPrice)
  if (type > 0 && isSigned) json.yParity = quantityOf(v)
  else if (integerOf(v) >= 35n) json.chainId = quantityOf((integerOf(v) - 35n) / 2n)
  Object.assign(json, { v: quantityOf(v), r: quantityOf(r), s: quantityOf(s) })
  return {
    type,
    json,
    hash,
    from: hexOf(from),
    to,
    created: (reported) => {
      if (to !== null) return null
      const nonce = isSigned ? bytesOf('nonce') : reported
      return nonce && hexOf(keccak_256(encodeRlp([from, nonce])).subarray(12))
    },
    isForced: !isSigned,
    effectiveGasPrice,
    blobs: fields.has('blobVersionedHashes') ? rlpList(fields.get('blobVersionedHashes')).length : 0,
  }
}

/** Wei per gas; a transaction without a signature pays nothing. */
function priceOf(fields: ReadonlyMap<string, RlpItem>, baseFee: bigint): bigint {
  const integer = (name: string) => (fields.has(name) ? integerOf(rlpBytes(fields.get(name))) : 0n)
  if (!fields.has('maxFeePerGas')) return integer('gasPrice')
  return smaller(integer('maxFeePerGas'), integer('maxPriorityFeePerGas') + baseFee)
}

const toJson: Conversion<RlpItem, Json> = {
  leaf: leafJson,
  items: rlpList,
  members: rlpList,
  list: (items) => items,
  object: (members, names) => Object.fromEntries(names.map((name, at) => [name, members[at] as Json])),
}

function leafJson(item: RlpItem | undefined, form: LeafForm): Json {
  const bytes = rlpBytes(item)
  if (form === 'flag') return bytes.length > 0
  if (form === 'recipient' && bytes.length === 0) return null
  return isQuantityForm(form) ? quantityOf(bytes) : hexOf(bytes)
}

interface Signature {
  readonly v: bigint
  readonly r: Uint8Array
  readonly s: Uint8Array
}

/**
 * The sender, which is in no field: the owner of the key that signed the others (yellow paper, appendix F; EIP-155).
 */
function recoverSender(type: number, unsigned: readonly RlpItem[], { v, r, s }: Signature): Uint8Array {
  const isReplayable = type === 0 && v < 35n
  const parity = type > 0 ? v : isReplayable ? v - 27n : (v - 35n) % 2n
  const chain = type > 0 || isReplayable ? [] : [minimalBytes((v - 35n) / 2n), noBytes, noBytes]
  const rlp = encodeRlp([...unsigned, ...chain])
  const hash = keccak_256(type === 0 ? rlp : concatBytes(Uint8Array.of(type), rlp))
  const signature = new secp256k1.Signature(integerOf(r), integerOf(s), Number(parity))
  const key = signature.recoverPublicKey(hash).toBytes(false)
  return keccak_256(key.subarray(1)).subarray(12)
}

const noBytes = new Uint8Array(0)

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
