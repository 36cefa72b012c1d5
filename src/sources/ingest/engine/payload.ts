/**
 * Execution payloads: from the JSON of the Engine API to a block as the importer takes it, and back. Owns the form of a
 * payload. Its rules are those of all blocks, which the importer checks.
 */
import { blockAccessListHash } from '../../../data/chain/blockAccessList.js'
import { familyOf } from '../../../data/chain/families/families.js'
import type { ForkName } from '../../../data/chain/forks.js'
import {
  decodeHeader,
  encodeHeader,
  type Header,
  headerHash,
  toTimestamp,
} from '../../../data/chain/header.js'
import { indexedRoot } from '../../../data/state/trie.js'
import { readBody } from '../../../execution/evm/blocks/blockParts.js'
import { requestsHash } from '../../../execution/evm/blocks/systemCalls.js'
import {
  InvalidSenderError,
  readSignedTransaction,
} from '../../../execution/evm/transactions/signedTransaction.js'
import { InvalidTransactionError } from '../../../execution/evm/transactions/transactionChecks.js'
import {
  bloomBytes,
  bytesToBigInt,
  bytesToHex,
  bytesToQuantity,
  equalBytes,
  type Hash32,
  toQuantity,
  zeroAddress,
} from '../../../primitives/bytes.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import { emptyUnclesHash } from '../../../primitives/keccak.js'
import { decodeRlpList, encodeRlp, RlpError, type RlpItem, rlpList } from '../../../primitives/rlp.js'
import type { Block } from '../blocks/block.js'
import {
  type Json,
  readAddress,
  readBytes,
  readHash,
  readList,
  readObject,
  readOptional,
  readQuantity,
  readWithdrawal,
} from './engineFields.js'

/**
 * The limit of the yellow paper, 4.3.4. A payload with more bytes is not a block, so it has no latest valid ancestor.
 */
const extraDataBytesMax = 32

/** An execution payload whose members have the right form. Members that only some forks have may be absent. */
export interface Payload {
  readonly blockHash: Hash32
  /** Fields of the header that the payload itself has. */
  readonly fields: Omit<Header, 'transactionsRoot' | 'number'> & { readonly number: bigint }
  readonly transactions: readonly Uint8Array[]
  readonly withdrawals: readonly RlpItem[] | undefined
  /** RLP. */
  readonly blockAccessList: Uint8Array | undefined
}

/** Parts of a block that come beside its payload; undefined before their forks. */
export interface PayloadExtras {
  readonly parentBeaconBlockRoot?: Hash32 | undefined
  /** EIP-7685. */
  readonly requests?: readonly Uint8Array[] | undefined
  /** `'any'` if the hash of the block is known, because the hash fixes them. */
  readonly versionedHashes?: readonly Hash32[] | 'any' | undefined
}

/** Throws EngineError for a missing or malformed member; ignores unknown ones. */
export function readPayload(value: unknown): Payload {
  const json = readObject(value, 'executionPayload')
  const one = <T>(read: (value: unknown, name: string) => T, name: string) => read(json[name], name)
  const optional = <T>(read: (value: unknown, name: string) => T, name: string) =>
    readOptional(json[name], name, read)
  const withdrawalsRoot = optional(readHash, 'withdrawalsRoot')
  return {
    blockHash: one(readHash, 'blockHash'),
    transactions: readList(json.transactions, 'transactions', readBytes),
    withdrawals: optional((list, name) => readList(list, name, readWithdrawal), 'withdrawals'),
    blockAccessList: optional(readBytes, 'blockAccessList'),
    fields: {
      parentHash: one(readHash, 'parentHash'),
      unclesHash: emptyUnclesHash,
      miner: one(readAddress, 'feeRecipient'),
      stateRoot: one(readHash, 'stateRoot'),
      receiptsRoot: one(readHash, 'receiptsRoot'),
      logsBloom: one(readBytes, 'logsBloom'),
      difficulty: 0n,
      number: one(readQuantity, 'blockNumber'),
      gasLimit: one(readQuantity, 'gasLimit'),
      gasUsed: one(readQuantity, 'gasUsed'),
      timestamp: toTimestamp(one(readQuantity, 'timestamp')),
      extraData: one(readBytes, 'extraData'),
      mixHash: one(readHash, 'prevRandao'),
      nonce: new Uint8Array(8),
      baseFeePerGas: readQuantity(json.baseFeePerGas, 'baseFeePerGas', 256),
      ...ifDefined('withdrawalsRoot', withdrawalsRoot),
      ...ifDefined('blobGasUsed', optional(readQuantity, 'blobGasUsed')),
      ...ifDefined('excessBlobGas', optional(readQuantity, 'excessBlobGas')),
      ...ifDefined('slotNumber', optional(readQuantity, 'slotNumber')),
    },
  }
}

function ifDefined<N extends string, V>(name: N, value: V | undefined): { readonly [key in N]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [key in N]?: V })
}

/**
 * The block of a payload, for the importer. `fork` is that of its number and time. Throws InvalidBlockError if the
 * payload is no block, has another hash than it says, or does not fit the blob hashes.
 */
export function blockOfPayload(
  payload: Payload,
  extras: PayloadExtras,
  fork: ForkName,
  chainId: bigint,
): Block {
  const { fields, withdrawals, blockAccessList } = payload
  const number = Number(fields.number)
  if (!Number.isSafeInteger(number)) throw new InvalidBlockError(`number ${fields.number} is too large`)
  if (fields.logsBloom.length !== bloomBytes)
    throw new InvalidBlockError(`logsBloom has ${fields.logsBloom.length} bytes, expected ${bloomBytes}`)
  if (fields.extraData.length > extraDataBytesMax)
    throw new InvalidBlockError(
      `extraData has ${fields.extraData.length} bytes, at most ${extraDataBytesMax}`,
    )
  const read = payload.transactions.map((bytes, index) => readTransaction(bytes, index, fork, chainId))
  checkBlobHashes(
    read.flatMap(({ blobHashes }) => blobHashes),
    extras.versionedHashes,
  )
  const { withdrawalsRoot = withdrawals && indexedRoot(withdrawals.map((item) => encodeRlp(item))) } = fields
  const header: Header = {
    ...fields,
    number,
    transactionsRoot: indexedRoot(payload.transactions),
    ...ifDefined('withdrawalsRoot', withdrawalsRoot),
    ...ifDefined('parentBeaconBlockRoot', extras.parentBeaconBlockRoot),
    ...ifDefined('requestsHash', extras.requests && requestsHash(extras.requests)),
    ...ifDefined('blockAccessListHash', blockAccessList && blockAccessListHash(blockAccessList)),
  }
  const headerRlp = encodeHeader(header)
  const hash = headerHash(headerRlp)
  if (!equalBytes(hash, payload.blockHash)) {
    const [computed, given] = [hash, payload.blockHash].map(bytesToHex)
    throw new InvalidBlockError(`blockHash is ${given}, expected ${computed} from the payload`)
  }
  const body = [read.map(({ item }) => item), [], ...(withdrawals === undefined ? [] : [withdrawals])]
  return {
    hash,
    header,
    headerRlp,
    bodyRlp: encodeRlp(body),
    items: [decodeRlpList(headerRlp), ...body],
    blockAccessList,
    // Both roots were computed from the body.
    isContentChecked: fields.withdrawalsRoot === undefined,
  }
}

/** Senders are recovered when the block is executed. */
const noSenders = { senderOf: () => zeroAddress }

/** The item of a transaction in a body, and its blob hashes. Throws InvalidBlockError if it does not decode. */
function readTransaction(
  bytes: Uint8Array,
  index: number,
  fork: ForkName,
  chainId: bigint,
): { readonly item: RlpItem; readonly blobHashes: readonly Uint8Array[] } {
  const fault = (why: string) => new InvalidBlockError(`transaction ${index}: ${why}`)
  const [first] = bytes
  if (first === undefined) throw fault('it is empty')
  try {
    const item = first > 0x7f ? decodeRlpList(bytes) : bytes
    decodeTransaction(item, fork, chainId)
    const place = familyOf(fork).transactionTypes.get(first)?.placeOf('blobVersionedHashes')
    const blobHashes = place === undefined ? [] : rlpList(decodeRlpList(bytes.subarray(1))[place])
    return { item, blobHashes: blobHashes as readonly Uint8Array[] }
  } catch (error) {
    if (error instanceof RlpError || error instanceof InvalidTransactionError) throw fault(error.message)
    throw error
  }
}

/** Checks the form alone. The execution checks whether the signature has a sender on this chain. */
function decodeTransaction(item: RlpItem, fork: ForkName, chainId: bigint): void {
  try {
    readSignedTransaction(item, fork, chainId, noSenders)
  } catch (error) {
    if (!(error instanceof InvalidSenderError)) throw error
  }
}

function checkBlobHashes(found: readonly Uint8Array[], given: PayloadExtras['versionedHashes']): void {
  if (given === 'any') return
  if (given === undefined) {
    if (found.length > 0)
      throw new InvalidBlockError('it has blobs, which need a later version of the method')
    return
  }
  const isSame =
    found.length === given.length && found.every((hash, index) => equalBytes(hash, given[index] as Hash32))
  if (!isSame) throw new InvalidBlockError(`its blob hashes are not the ${given.length} that came with it`)
}

/** A stored or built block as a payload, with the members that its header has. `fork` is that of the block. */
export function payloadJson(
  headerRlp: Uint8Array,
  body: Uint8Array,
  fork: ForkName,
  blockAccessList?: Uint8Array,
): Json {
  const header = decodeHeader(headerRlp)
  const { baseFeePerGas = 0n, blobGasUsed, excessBlobGas, slotNumber } = header
  // In other families the root follows from the withdrawals.
  const withdrawalsRoot = familyOf(fork).proofs.hasWithdrawals(fork) ? undefined : header.withdrawalsRoot
  return {
    parentHash: bytesToHex(header.parentHash),
    feeRecipient: bytesToHex(header.miner),
    stateRoot: bytesToHex(header.stateRoot),
    receiptsRoot: bytesToHex(header.receiptsRoot),
    logsBloom: bytesToHex(header.logsBloom),
    prevRandao: bytesToHex(header.mixHash),
    blockNumber: toQuantity(header.number),
    gasLimit: toQuantity(header.gasLimit),
    gasUsed: toQuantity(header.gasUsed),
    timestamp: toQuantity(header.timestamp),
    extraData: bytesToHex(header.extraData),
    baseFeePerGas: toQuantity(baseFeePerGas),
    blockHash: bytesToHex(headerHash(headerRlp)),
    ...withoutNull(bodyJson(headerRlp, body)),
    ...ifDefined('blobGasUsed', blobGasUsed === undefined ? undefined : toQuantity(blobGasUsed)),
    ...ifDefined('excessBlobGas', excessBlobGas === undefined ? undefined : toQuantity(excessBlobGas)),
    ...ifDefined('slotNumber', slotNumber === undefined ? undefined : toQuantity(slotNumber)),
    ...ifDefined('blockAccessList', blockAccessList && bytesToHex(blockAccessList)),
    ...ifDefined('withdrawalsRoot', withdrawalsRoot && bytesToHex(withdrawalsRoot)),
  }
}

function withoutNull({ transactions, withdrawals }: PayloadBody): Partial<PayloadBody> {
  return withdrawals === null ? { transactions } : { transactions, withdrawals }
}

interface PayloadBody {
  readonly transactions: readonly string[]
  /** Null before Shanghai. */
  readonly withdrawals: readonly Json[] | null
}

/** ExecutionPayloadBodyV1. */
export function bodyJson(headerRlp: Uint8Array, body: Uint8Array): PayloadBody {
  const { transactions, withdrawals } = readBody(body, decodeHeader(headerRlp))
  return {
    transactions: transactions.map((item) => bytesToHex(item instanceof Uint8Array ? item : encodeRlp(item))),
    withdrawals: withdrawals?.map(withdrawalJson) ?? null,
  }
}

function withdrawalJson(item: RlpItem): Json {
  const [index, validatorIndex, address, amount] = rlpList(item) as readonly Uint8Array[] as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]
  return {
    index: bytesToQuantity(index),
    validatorIndex: bytesToQuantity(validatorIndex),
    address: bytesToHex(address),
    amount: toQuantity(bytesToBigInt(amount)),
  }
}
