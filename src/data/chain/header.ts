/** Block headers: their RLP form (yellow paper 4.4 and the EIPs named below) and their hash. */
import { sha256 } from '@noble/hashes/sha2.js'
import {
  bytesToBigInt,
  bytesToHex,
  bytesToNumber,
  type Hash32,
  hexToBytes,
  integerAt,
  toHash32,
  toMinimalBytes,
  toQuantity,
} from '../../primitives/bytes.js'
import { OperatorError } from '../../primitives/faults.js'
import { emptyUnclesHash, keccak256 } from '../../primitives/keccak.js'
import {
  decodeRlpList,
  encodeRlp,
  RlpError,
  type RlpItem,
  rlpBytes,
  rlpEndAt,
  rlpPayloadAt,
} from '../../primitives/rlp.js'
import type { BlockName, ChainRows, Development } from '../store/chainRows.js'
import { type ForkName, includesFork } from './forkNames.js'

/** Unix seconds, of up to 64 bits; a number if they fit into 48. */
export type Timestamp = number | bigint

export function toTimestamp(seconds: bigint): Timestamp {
  return seconds < 2n ** 48n ? Number(seconds) : seconds
}

export interface Header {
  readonly parentHash: Hash32
  readonly unclesHash: Hash32
  readonly miner: Uint8Array
  readonly stateRoot: Hash32
  readonly transactionsRoot: Hash32
  readonly receiptsRoot: Hash32
  /** 256 bytes. */
  readonly logsBloom: Uint8Array
  readonly difficulty: bigint
  readonly number: number
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  readonly timestamp: Timestamp
  readonly extraData: Uint8Array
  readonly mixHash: Hash32
  /** 8 bytes. */
  readonly nonce: Uint8Array
  /** Wei, EIP-1559. */
  readonly baseFeePerGas?: bigint
  /** EIP-4895. */
  readonly withdrawalsRoot?: Hash32
  /** EIP-4844. */
  readonly blobGasUsed?: bigint
  readonly excessBlobGas?: bigint
  /** EIP-4788. */
  readonly parentBeaconBlockRoot?: Hash32
  /** EIP-7685. */
  readonly requestsHash?: Hash32
  /** EIP-7928: Keccak-256 of the block's access list in RLP. */
  readonly blockAccessListHash?: Hash32
  /** EIP-7843: 64 bits, from the consensus layer; no rule binds it to the parent's. */
  readonly slotNumber?: bigint
  /** Further fields, of an unknown later fork; absent if there are none. See {@link unknownForkOf}. */
  readonly unknownFields?: readonly Uint8Array[]
}

/** The block at the head of a store; undefined if there is none. */
export function headOf(
  store: Pick<ChainRows, 'readHead' | 'readHeader'>,
): (BlockName & { header: Header }) | undefined {
  const head = store.readHead()
  const header = head && store.readHeader(head.hash)
  return header && { ...head, header: decodeHeader(header) }
}

/** Requests hash of a block without requests (EIP-7685). */
export const emptyRequestsHash = toHash32(sha256(new Uint8Array(0)))

/** Hash of an empty block access list (EIP-7928), which only a genesis has: Keccak-256 of an empty RLP list. */
export const emptyBlockAccessListHash = emptyUnclesHash

/** Header fields that forks appended, in order, each with its fork; their names are those of JSON-RPC. */
export const fieldForks = {
  baseFeePerGas: 'london',
  withdrawalsRoot: 'shanghai',
  blobGasUsed: 'cancun',
  excessBlobGas: 'cancun',
  parentBeaconBlockRoot: 'cancun',
  requestsHash: 'prague',
  blockAccessListHash: 'amsterdam',
  slotNumber: 'amsterdam',
} as const
type AppendedField = keyof typeof fieldForks
export const appendedFields = Object.keys(fieldForks) as readonly AppendedField[]

/** The values that a header of this fork has. */
export function fieldsAt(
  fork: ForkName,
  values: Partial<Pick<Header, AppendedField>>,
): Partial<Pick<Header, AppendedField>> {
  const due = appendedFields.filter(
    (name) => includesFork(fork, fieldForks[name]) && values[name] !== undefined,
  )
  return Object.fromEntries(due.map((name) => [name, values[name]]))
}

/** All fields of a header in the order of its RLP (yellow paper 4.4), by their names of JSON-RPC. */
export const headerFields = [
  ...(['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot'] as const),
  ...(['logsBloom', 'difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp', 'extraData'] as const),
  ...(['mixHash', 'nonce', ...appendedFields] as const),
] as const
export type HeaderField = (typeof headerFields)[number]

/** The integers among {@link headerFields}. */
export const headerIntegers: ReadonlySet<string> = new Set<HeaderField>([
  ...(['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp'] as const),
  ...(['baseFeePerGas', 'blobGasUsed', 'excessBlobGas', 'slotNumber'] as const),
])

/** A field; undefined if the header lacks it. */
export function headerField(header: Header, name: HeaderField): Uint8Array | bigint | number | undefined {
  return header[name === 'sha3Uncles' ? 'unclesHash' : name]
}

/** Fields before {@link appendedFields}. */
export const fieldsMin = 15
const fieldsKnown = fieldsMin + appendedFields.length
/** Limit of unknown fields: each fork appended one or two, and no version is that old. */
const unknownFieldsMax = 16

/** The chain has a fork that this version does not know. Only a newer version can continue. */
export class UnknownForkError extends OperatorError {}

/**
 * The message for a header with more fields than this version knows; undefined if there are none. Such a header is
 * neither false nor damaged: its hash, links and roots keep their meaning, but the rules of its execution are unknown.
 */
export function unknownForkOf({ number, unknownFields }: Header): string | undefined {
  if (unknownFields === undefined) return undefined
  const count = fieldsKnown + unknownFields.length
  return `this chain has a fork that this version does not know (header of block ${number} has ${count} fields); update Tidegate`
}

/** Throws {@link UnknownForkError} if the rules for executing a block are unknown. */
export function requireKnownFork(header: Header): void {
  const why = unknownForkOf(header)
  if (why !== undefined) throw new UnknownForkError(why)
}

/** Decodes a header's RLP. Throws {@link RlpError} for any other input, also for integers with leading zeros. */
export function decodeHeader(rlp: Uint8Array): Header {
  return headerFromItems(decodeRlpList(rlp))
}

/** The members of a block that are repeated in its transactions and logs. */
export interface BlockFacts {
  readonly number: number
  readonly timestamp: Timestamp
  /** Wei per gas; a number if it fits into 48 bits. */
  readonly baseFeePerGas: number | bigint | undefined
}

/** Indexes of fields in a header's list. */
export const unclesHashIndex = 1
const numberIndex = 8
const timestampIndex = 11
const baseFeeIndex = 15
export const withdrawalsRootIndex = 16

/** The first fields, each of fixed length: five hashes, an address and a bloom. */
const fixedFields = 7
const fixedBytes = 5 * 33 + 21 + 259

/** Offset of a field in a well-formed header; undefined if it has fewer fields. */
export function headerFieldAt(rlp: Uint8Array, index: number): number | undefined {
  let field = rlpPayloadAt(rlp, 0)
  let before = 0
  if (index >= fixedFields) {
    field += fixedBytes
    before = fixedFields
  }
  for (; before < index && field < rlp.length; before++) field = rlpEndAt(rlp, field)
  return field < rlp.length ? field : undefined
}

/** Reads these members from a well-formed header, in a tenth of the time of decoding it. */
export function readBlockFacts(rlp: Uint8Array): BlockFacts {
  let field = rlpPayloadAt(rlp, 0) + fixedBytes
  let index = fixedFields
  const integerOf = (wanted: number): number | bigint | undefined => {
    for (; index < wanted && field < rlp.length; index++) field = rlpEndAt(rlp, field)
    return field < rlp.length ? integerAt(rlp, rlpPayloadAt(rlp, field), rlpEndAt(rlp, field)) : undefined
  }
  const number = Number(integerOf(numberIndex))
  const timestamp = integerOf(timestampIndex) as Timestamp
  return { number, timestamp, baseFeePerGas: integerOf(baseFeeIndex) }
}

/** Reads a header from decoded RLP; see {@link decodeHeader}. */
export function headerFromItems(items: readonly RlpItem[]): Header {
  if (items.length < fieldsMin || items.length > fieldsKnown + unknownFieldsMax) {
    throw new RlpError(`a header has ${fieldsMin} to ${fieldsKnown} fields, got ${items.length}`, 0)
  }
  const at = (index: number, name: string, length?: number): Uint8Array => {
    const bytes = rlpBytes(items[index])
    if (length !== undefined && bytes.length !== length) {
      throw new RlpError(`header field ${name} has ${bytes.length} bytes instead of ${length}`, 0)
    }
    return bytes
  }
  const hash = (index: number, name: string): Hash32 => toHash32(at(index, name, 32))
  const integer = (index: number, name: string): Uint8Array => {
    const bytes = at(index, name)
    if (bytes[0] === 0) throw new RlpError(`header field ${name} has leading zeros`, 0)
    if (bytes.length > 32) throw new RlpError(`header field ${name} is longer than 32 bytes`, 0)
    return bytes
  }
  const shortInteger = (index: number, name: string, bytesMax: number): Uint8Array => {
    const bytes = integer(index, name)
    if (bytes.length > bytesMax) throw new RlpError(`header field ${name} is too large`, 0)
    return bytes
  }
  const header: Record<string, unknown> = {
    parentHash: hash(0, 'parentHash'),
    unclesHash: hash(1, 'sha3Uncles'),
    miner: at(2, 'miner', 20),
    stateRoot: hash(3, 'stateRoot'),
    transactionsRoot: hash(4, 'transactionsRoot'),
    receiptsRoot: hash(5, 'receiptsRoot'),
    logsBloom: at(6, 'logsBloom', 256),
    difficulty: bytesToBigInt(integer(7, 'difficulty')),
    number: bytesToNumber(shortInteger(8, 'number', 6)),
    gasLimit: bytesToBigInt(integer(9, 'gasLimit')),
    gasUsed: bytesToBigInt(integer(10, 'gasUsed')),
    timestamp: toTimestamp(bytesToBigInt(shortInteger(11, 'timestamp', 8))),
    extraData: at(12, 'extraData'),
    mixHash: hash(13, 'mixHash'),
    nonce: at(14, 'nonce', 8),
  }
  for (let index = fieldsMin; index < Math.min(items.length, fieldsKnown); index++) {
    const name = appendedFields[index - fieldsMin] as (typeof appendedFields)[number]
    // EIP-4844 and EIP-7843 limit blob gas and slots.
    const bytesMax = name === 'baseFeePerGas' ? 32 : 8
    header[name] = headerIntegers.has(name)
      ? bytesToBigInt(shortInteger(index, name, bytesMax))
      : hash(index, name)
  }
  if (items.length > fieldsKnown) header.unknownFields = items.slice(fieldsKnown).map(rlpBytes)
  return header as unknown as Header
}

/** The header's RLP; its Keccak-256 is the block hash. */
export function encodeHeader(header: Header): Uint8Array {
  const items: Uint8Array[] = []
  for (const name of headerFields) {
    const value = headerField(header, name)
    if (value === undefined) break
    items.push(value instanceof Uint8Array ? value : toMinimalBytes(value))
  }
  return encodeRlp([...items, ...(header.unknownFields ?? [])])
}

export function headerHash(rlp: Uint8Array): Hash32 {
  return keccak256(rlp)
}

/** Whether a block is a proof-of-stake block (EIP-3675). */
export function isProofOfStake({ difficulty, number }: Header): boolean {
  return difficulty === 0n && number > 0
}

/** Root of the state after a block: its header's, except for the genesis of a {@link Development} chain. */
export function stateRootOf({ number, stateRoot }: Header, development: Development | undefined): Hash32 {
  return number === 0 && development !== undefined ? toHash32(hexToBytes(development.stateRoot)) : stateRoot
}

/**
 * A header in go-ethereum's form for `newHeads` (`types.Header`, gencodec): without `size` and `totalDifficulty`, the
 * hash last, and null for members that the block's fork lacks.
 */
export function headJson(header: Header, hash: Uint8Array): string {
  const members = headerFields.map((name) => {
    const value = headerField(header, name)
    if (value === undefined) return `"${name}":null`
    return `"${name}":"${value instanceof Uint8Array ? bytesToHex(value) : toQuantity(value)}"`
  })
  return `{${members.join()},"hash":"${bytesToHex(hash)}"}`
}
