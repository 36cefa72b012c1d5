/** Gas that a transaction pays before its execution. Pure functions of the EIPs they cite. */
import { type ForkName, includesFork } from './forkNames.js'

/** The properties of a transaction that determine its intrinsic gas. */
interface TransactionShape {
  readonly isCreation: boolean
  readonly isToSelf: boolean
  readonly hasValue: boolean
  readonly data: DataShape
  /** Addresses and storage keys of the access list (EIP-2930). */
  readonly listedAddresses: number
  readonly listedSlots: number
  /** Entries of the authorization list (EIP-7702). */
  readonly authorizations: number
}

/** The properties of calldata that determine its gas. */
interface DataShape {
  readonly bytes: number
  readonly zeros: number
}

const transactionGas = 21_000
const creationGas = 32_000
const zeroByteGas = 4
const floorGasPerToken = 10
/** Tokens of a byte other than zero (EIP-7623). */
const tokensPerByte = 4
const initcodeWordGas = 2
const listedAddressGas = 2_400
const listedSlotGas = 1_900
const authorizationGas = 25_000

/** EIP-7976, EIP-7981: for each byte of data and of an access list, whose addresses have 20 and slots 32. */
const floorGasPerByte = 64
/** From Amsterdam on: EIP-2780, EIP-8037 and EIP-8038. */
const amsterdamGas = {
  base: 12_000,
  recipient: 3_000,
  creation: 12_000,
  value: 6_000,
  authorization: 7_816,
  listedAddress: 2_900,
  listedSlot: 2_000,
}

/** Longest initcode of a creation (EIP-3860, EIP-7954), from Shanghai on. */
export function initcodeBytesMax(fork: ForkName): number {
  return includesFork(fork, 'amsterdam') ? 131_072 : 49_152
}

/** Longest code of a contract (EIP-170, EIP-7954), from Spurious Dragon on. */
export function codeBytesMax(fork: ForkName): number {
  return includesFork(fork, 'amsterdam') ? 65_536 : 24_576
}

/** Most gas of one transaction from Osaka on (EIP-7825); from Amsterdam on, without state gas (EIP-8037). */
export const transactionGasMax = 2n ** 24n

/**
 * Highest gas limit of a transaction from Amsterdam on, including state gas; the same as in go-ethereum 1.17.10 and
 * evmone.
 */
export const transactionTotalGasMax = 2n ** 32n - 1n

/** The most gas that a block may have (go-ethereum, params.MaxGasLimit). */
export const gasLimitMax = 2n ** 63n - 1n

/** Most gas of a message: that of `blocks` blocks with this limit. The kernel counts gas in signed 64-bit integers. */
export function messageGasMax(blockGasLimit: bigint, blocks: number): bigint {
  const gas = blockGasLimit * BigInt(blocks)
  return gas < gasLimitMax ? gas : gasLimitMax
}

/**
 * Intrinsic gas: yellow paper 6.2 with EIP-2, EIP-2028, EIP-2930, EIP-3860 and EIP-7702; EIP-2780 from Amsterdam on.
 */
export function intrinsicGas(shape: TransactionShape, fork: ForkName): bigint {
  const { isCreation, data } = shape
  if (includesFork(fork, 'amsterdam')) {
    const { authorization, listedAddress, listedSlot } = amsterdamGas
    let gas = amsterdamBaseGas(shape) + data.zeros * zeroByteGas + (data.bytes - data.zeros) * 16
    if (isCreation) gas += Math.ceil(data.bytes / 32) * initcodeWordGas
    gas += shape.listedAddresses * listedAddress + shape.listedSlots * listedSlot
    gas += listBytes(shape) * floorGasPerByte + shape.authorizations * authorization
    return BigInt(gas)
  }
  let gas = transactionGas + data.zeros * zeroByteGas
  gas += (data.bytes - data.zeros) * (includesFork(fork, 'istanbul') ? 16 : 68)
  if (isCreation && includesFork(fork, 'homestead')) gas += creationGas
  if (isCreation && includesFork(fork, 'shanghai')) gas += Math.ceil(data.bytes / 32) * initcodeWordGas
  gas += shape.listedAddresses * listedAddressGas + shape.listedSlots * listedSlotGas
  gas += shape.authorizations * authorizationGas
  return BigInt(gas)
}

/** EIP-2780: gas for the sender, the recipient and the value. */
function amsterdamBaseGas({ isCreation, isToSelf, hasValue }: TransactionShape): number {
  const { base, creation, recipient, value } = amsterdamGas
  if (isCreation) return base + creation
  return isToSelf ? base : base + recipient + (hasValue ? value : 0)
}

function listBytes({ listedAddresses, listedSlots }: TransactionShape): number {
  return listedAddresses * 20 + listedSlots * 32
}

/**
 * Least gas that a transaction pays for its data, from Prague on (EIP-7623, EIP-7976, EIP-7981); zero before.
 */
export function calldataFloorGas(shape: TransactionShape, fork: ForkName): bigint {
  const { bytes, zeros } = shape.data
  if (includesFork(fork, 'amsterdam')) {
    return BigInt(amsterdamBaseGas(shape) + (bytes + listBytes(shape)) * floorGasPerByte)
  }
  if (!includesFork(fork, 'prague')) return 0n
  const tokens = zeros + (bytes - zeros) * tokensPerByte
  return BigInt(transactionGas + tokens * floorGasPerToken)
}

/** Up to this length, data is counted byte by byte: making V8 lay out its memory for words takes longer. */
const shortDataMax = 256

/** Counts zero bytes: 1.3 ms for 2.5 MB, half the time of a loop over bytes. */
export function shapeOfData(data: Uint8Array): DataShape {
  if (data.length <= shortDataMax) return { bytes: data.length, zeros: countZeros(data, 0, data.length) }
  // Words must be aligned.
  const start = -data.byteOffset & 3
  const words = new Uint32Array(data.buffer, data.byteOffset + start, (data.length - start) >>> 2)
  let zeros = countZeros(data, 0, start) + countZeros(data, start + words.length * 4, data.length)
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as number
    // Sets the top bit of each byte that is zero; the multiplication adds these bits into the top byte.
    const isZero = ~(((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word | 0x7f7f7f7f)
    zeros += Math.imul(isZero >>> 7, 0x01010101) >>> 24
  }
  return { bytes: data.length, zeros }
}

function countZeros(data: Uint8Array, start: number, end: number): number {
  let zeros = 0
  for (let i = start; i < end; i++) if (data[i] === 0) zeros++
  return zeros
}
