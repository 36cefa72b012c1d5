/** Expected JSON of transactions, computed from RLP by independent code; and the inverse. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCustomCommon, Hardfork, Mainnet } from '@ethereumjs/common'
import { createTxFromRLP, type TransactionType } from '@ethereumjs/tx'
import { fixtureDir } from '../service/fixtures.js'
import type { Json } from './demoChain.js'
import {
  blocks,
  bytesOf,
  type DemoBlock,
  type DemoTransaction,
  encode,
  examples,
  forkBlock,
  hex,
  integer,
  keccak,
  minimalBytes,
  quantity,
  type Raw,
} from './demoChain.js'

const feeMarketFields = [
  'chainId',
  'nonce',
  'maxPriorityFeePerGas',
  'maxFeePerGas',
  'gas',
  'to',
  'value',
  'input',
  'accessList',
]
const signatureFields = ['yParity', 'r', 's']

/** Members in the order of each type's RLP. */
const fieldsOfType: readonly (readonly string[])[] = [
  ['nonce', 'gasPrice', 'gas', 'to', 'value', 'input', 'v', 'r', 's'],
  ['chainId', 'nonce', 'gasPrice', 'gas', 'to', 'value', 'input', 'accessList', ...signatureFields],
  [...feeMarketFields, ...signatureFields],
  [...feeMarketFields, 'maxFeePerBlobGas', 'blobVersionedHashes', ...signatureFields],
  [...feeMarketFields, 'authorizationList', ...signatureFields],
]

interface AccessListEntry {
  readonly address: string
  readonly storageKeys: readonly string[]
}

const authorizationFields = ['chainId', 'address', 'nonce', 'yParity', 'r', 's'] as const
type Authorization = Readonly<Record<(typeof authorizationFields)[number], string>>

function toJson(name: string, raw: Raw): unknown {
  switch (name) {
    case 'to':
      return (raw as Uint8Array).length === 0 ? null : hex(raw as Uint8Array)
    case 'input':
      return hex(raw as Uint8Array)
    case 'accessList':
      return (raw as Raw[][]).map(([address, keys]) => ({
        address: hex(address as Uint8Array),
        storageKeys: (keys as Uint8Array[]).map(hex),
      }))
    case 'blobVersionedHashes':
      return (raw as Uint8Array[]).map(hex)
    case 'authorizationList':
      return (raw as Uint8Array[][]).map((entry) =>
        Object.fromEntries(
          authorizationFields.map((field, index) => [
            field,
            (field === 'address' ? hex : quantity)(entry[index] as Uint8Array),
          ]),
        ),
      )
    default:
      return quantity(raw as Uint8Array)
  }
}

function fromJson(name: string, value: unknown): Raw {
  switch (name) {
    case 'to':
      return value === null ? new Uint8Array(0) : bytesOf(value as string)
    case 'input':
      return bytesOf(value as string)
    case 'accessList':
      return (value as AccessListEntry[]).map(({ address, storageKeys }) => [
        bytesOf(address),
        storageKeys.map(bytesOf),
      ])
    case 'blobVersionedHashes':
      return (value as string[]).map(bytesOf)
    case 'authorizationList':
      return (value as Authorization[]).map((entry) =>
        authorizationFields.map((field) => (field === 'address' ? bytesOf : minimalBytes)(entry[field])),
      )
    default:
      return minimalBytes(value as string)
  }
}

/** A transaction object as the bytes that are hashed and signed. */
export function bytesOfTransactionJson(json: Json): Uint8Array {
  const type = Number(json.type)
  const fields = (fieldsOfType[type] as readonly string[]).map((name) => fromJson(name, json[name]))
  const list = encode(fields)
  return type === 0 ? list : Uint8Array.from([type, ...list])
}

const sendersPath = join(fixtureDir, 'senders.json')

const latestRules = createCustomCommon({ chainId: examples.chainId }, Mainnet, {
  hardfork: Hardfork.Osaka,
  // The content of blobs is not checked here.
  customCrypto: { kzg: {} as never },
})
/** Before Homestead a signature's s may be in the upper half (EIP-2). */
const frontierRules = createCustomCommon({ chainId: examples.chainId }, Mainnet, {
  hardfork: Hardfork.Chainstart,
})

/**
 * Senders by transaction hash; those of the demo chain from {@link writeSenders}, since a recovery takes milliseconds.
 */
const senders = new Map<string, string>(
  existsSync(sendersPath) ? Object.entries(JSON.parse(readFileSync(sendersPath, 'utf8'))) : [],
)

/** The address whose key signed, recovered by @ethereumjs/tx. */
export function recoverSender(bytes: Uint8Array, blockNumber: number): string {
  const hash = keccak(bytes)
  const known = senders.get(hash)
  if (known !== undefined) return known
  const common = blockNumber < forkBlock('homestead') ? frontierRules : latestRules
  const sender = createTxFromRLP<TransactionType>(bytes, { common }).getSenderAddress().toString()
  senders.set(hash, sender)
  return sender
}

/** Recovers the senders of the demo chain once for all later tests. */
export function writeSenders(): void {
  senders.clear()
  for (const { number, transactions } of blocks)
    for (const { bytes } of transactions) recoverSender(bytes, number)
  writeFileSync(sendersPath, JSON.stringify(Object.fromEntries(senders)))
}

/** Wei per gas that the sender pays (EIP-1559). */
export function expectedGasPrice({ type, fields }: DemoTransaction, baseFee: bigint): bigint {
  const at = (index: number) => integer(fields[index] as Uint8Array)
  if (type < 2) return at(type === 0 ? 1 : 2)
  const tip = at(2)
  const most = at(3)
  return baseFee + tip < most ? baseFee + tip : most
}

/** EIP-1559; 0 before London. */
export function baseFeeOf({ header }: DemoBlock): bigint {
  return integer(header[15] ?? new Uint8Array(0))
}

/** The transaction object. */
export function expectedTransaction(block: DemoBlock, index: number): Json {
  const transaction = block.transactions[index] as DemoTransaction
  const { type, fields, bytes, hash } = transaction
  const names = fieldsOfType[type] as readonly string[]
  const json: Json = Object.fromEntries(names.map((name, at) => [name, toJson(name, fields[at] as Raw)]))
  const v = integer(fields[names.indexOf(type === 0 ? 'v' : 'yParity')] as Uint8Array)
  if (type > 0) json.v = quantity(v)
  // EIP-155: v is 35 or 36 more than twice the chain id.
  else if (v > 28n) json.chainId = quantity((v - 35n) >> 1n)
  return {
    ...json,
    type: quantity(type),
    gasPrice: quantity(expectedGasPrice(transaction, baseFeeOf(block))),
    hash,
    from: recoverSender(bytes, block.number),
    blockHash: block.hash,
    blockNumber: quantity(block.number),
    blockTimestamp: quantity(block.header[11] as Uint8Array),
    transactionIndex: quantity(index),
  }
}
