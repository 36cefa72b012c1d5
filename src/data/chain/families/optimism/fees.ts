/**
 * Costs of an OP Stack transaction besides gas: the fee for its data on L1, and the operator's fee. Also adds the
 * members of receipts for them. Sources: specs.optimism.io, protocol/exec-engine, fjord, isthmus, jovian.
 */
import { bytesToBigInt, hexToBytes, padLeft, toMinimalBytes } from '../../../../primitives/bytes.js'
import { type JsonBytes, memberNames } from '../../../../primitives/jsonBytes.js'
import { encodeRlp, type RlpItem } from '../../../../primitives/rlp.js'
import { depositType } from '../../../../primitives/transactionTypes.js'
import type { BlockAccounts, BlockItem, FeeBlock, TransactionFees } from '../../executionRules.js'
import { type ForkName, includesFork } from '../../forkNames.js'
import { shapeOfData } from '../../intrinsicGas.js'
import type { PaidBlock, ReceiptBlock } from '../family.js'
import { attributesContract, attributesOf, type L1Attributes } from './deposits.js'

const vaultOf = (end: string) => hexToBytes(`420000000000000000000000000000000000${end}`)
export const baseFeeVault = vaultOf('0019')
const l1FeeVault = vaultOf('001a')
const operatorVault = vaultOf('001b')

const million = 1_000_000n
/** Fjord: estimated bytes of a transaction in a batch, times a million, from its FastLZ length. */
const sizeMin = 100n * million
const sizeIntercept = -42_585_600n
const sizeFactor = 836_500n

const slots = Object.fromEntries(
  (
    [
      ['baseFee', 1],
      ['scalars', 3],
      ['overhead', 5],
      ['scalar', 6],
      ['blobBaseFee', 7],
      ['operator', 8],
    ] as const
  ).map(([name, slot]) => [name, padLeft(toMinimalBytes(slot), 32)]),
) as Record<'baseFee' | 'scalars' | 'overhead' | 'scalar' | 'blobBaseFee' | 'operator', Uint8Array>

/** The attributes stored in the contract, which the block's first deposit has set. */
function keptAttributes(accounts: BlockAccounts, fork: ForkName): L1Attributes {
  const contract = accounts.account(attributesContract)
  const read = (slot: Uint8Array, start = 0, end = 32) =>
    bytesToBigInt(accounts.slotOf(contract, slot).subarray(start, end))
  const baseFee = read(slots.baseFee)
  const isEcotone = includesFork(fork, 'ecotone')
  const blobBaseFee = isEcotone ? read(slots.blobBaseFee) : 0n
  const scalars = isEcotone ? accounts.slotOf(contract, slots.scalars) : new Uint8Array(32)
  const [baseFeeScalar, blobBaseFeeScalar] = [scalars.subarray(16, 20), scalars.subarray(20, 24)].map(
    bytesToBigInt,
  ) as [bigint, bigint]
  // In Ecotone's first block the contract does not have its new members yet.
  const isBedrock = blobBaseFee === 0n && baseFeeScalar === 0n && blobBaseFeeScalar === 0n
  const hasOperator = includesFork(fork, 'isthmus')
  return {
    baseFee,
    bedrock: isBedrock ? { overhead: read(slots.overhead), scalar: read(slots.scalar) } : undefined,
    blobBaseFee,
    baseFeeScalar,
    blobBaseFeeScalar,
    operatorFeeScalar: hasOperator ? read(slots.operator, 20, 24) : 0n,
    operatorFeeConstant: hasOperator ? read(slots.operator, 24, 32) : 0n,
    daFootprintScalar: undefined,
  }
}

/** The fee for a signed transaction's bytes in wei, and the L1 gas in receipts. */
function l1FeeOf(bytes: Uint8Array, attributes: L1Attributes, fork: ForkName) {
  const { baseFee, bedrock } = attributes
  const isSized = bedrock === undefined && includesFork(fork, 'fjord')
  const { zeros } = isSized ? { zeros: 0 } : shapeOfData(bytes)
  const dataGas = BigInt(4 * zeros + 16 * (bytes.length - zeros))
  if (bedrock !== undefined) {
    const gas = dataGas + bedrock.overhead + (includesFork(fork, 'regolith') ? 0n : 68n * 16n)
    return { fee: (gas * baseFee * bedrock.scalar) / million, gas }
  }
  const { baseFeeScalar, blobBaseFee, blobBaseFeeScalar } = attributes
  const price = 16n * baseFee * baseFeeScalar + blobBaseFee * blobBaseFeeScalar
  if (!isSized) return { fee: (dataGas * price) / (16n * million), gas: dataGas }
  const size = scaledSize(bytes)
  return { fee: (size * price) / million ** 2n, gas: (size * 16n) / million }
}

function operatorFee(gas: bigint, attributes: L1Attributes, fork: ForkName): bigint {
  const { operatorFeeScalar: scalar, operatorFeeConstant: constant } = attributes
  return (includesFork(fork, 'jovian') ? gas * scalar * 100n : (gas * scalar) / million) + constant
}

/** The fees of a transaction (its RLP item). For a message without one, only the base fee has a receiver. */
export function feesOf(
  accounts: BlockAccounts,
  { fork, baseFee }: FeeBlock,
  transaction: RlpItem | undefined,
): TransactionFees {
  const attributes = transaction && keptAttributes(accounts, fork)
  const l1Fee = transaction && attributes ? l1FeeOf(bytesOf(transaction), attributes, fork).fee : 0n
  const operator = (gas: bigint) => (attributes === undefined ? 0n : operatorFee(gas, attributes, fork))
  return {
    taken: (gasLimit) => l1Fee + operator(gasLimit),
    returned: (gasLimit, gasUsed) => operator(gasLimit) - operator(gasUsed),
    pay: (gasUsed) => {
      accounts.credit(accounts.account(baseFeeVault), gasUsed * baseFee)
      if (attributes === undefined) return
      accounts.credit(accounts.account(l1FeeVault), l1Fee)
      if (includesFork(fork, 'isthmus')) accounts.credit(accounts.account(operatorVault), operator(gasUsed))
    },
  }
}

function bytesOf(transaction: RlpItem): Uint8Array {
  return transaction instanceof Uint8Array ? transaction : encodeRlp(transaction)
}

/**
 * Jovian: the transactions' bytes on L1, as gas, by the attributes in the first one. Jovian's first block has the form
 * of Isthmus, and only deposits. Throws RangeError.
 */
export function daFootprint(transactions: readonly BlockItem[], fork: ForkName): bigint {
  if (!includesFork(fork, 'jovian')) return 0n
  const [first] = transactions
  if (first?.type !== depositType.number) throw new RangeError('missing deposit transaction')
  const reported = attributesOf(first.item)
  const scalar = reported?.daFootprintScalar
  if (scalar === undefined && reported?.form !== 'isthmus')
    throw new RangeError(
      `L1 attributes of the form of ${reported?.form}, expected those of Jovian or Isthmus`,
    )
  const others = transactions.filter(({ type }) => type !== depositType.number)
  if (scalar === undefined && others.length > 0) {
    throw new RangeError('unexpected non-deposit transactions in Jovian activation block')
  }
  return others.reduce((sum, { item }) => sum + (scaledSize(bytesOf(item)) / million) * (scalar ?? 0n), 0n)
}

export const receiptForms = {
  l1GasPrice: 'quantity',
  l1GasUsed: 'quantity',
  l1Fee: 'quantity',
  l1FeeScalar: 'decimal',
  l1BaseFeeScalar: 'quantity',
  l1BlobBaseFee: 'quantity',
  l1BlobBaseFeeScalar: 'quantity',
  operatorFeeScalar: 'quantity',
  operatorFeeConstant: 'quantity',
  daFootprintGasScalar: 'quantity',
  blobGasUsed: 'quantity',
} as const
const names = memberNames(...(Object.keys(receiptForms) as (keyof typeof receiptForms)[]))

/** Writes op-geth's receipt members for these fees; none for deposits. */
export function receiptMembers({ first, fork }: ReceiptBlock) {
  const attributes = attributesOf(first)
  if (attributes === undefined) return undefined
  return (json: JsonBytes, transaction: Uint8Array): void => {
    if (transaction[0] === depositType.number) return
    const write = (name: keyof typeof names, value: bigint): void => {
      json.constant(names[name])
      json.quantity(value)
    }
    const { fee, gas } = l1FeeOf(transaction, attributes, fork)
    write('l1GasPrice', attributes.baseFee)
    write('l1GasUsed', gas)
    write('l1Fee', fee)
    if (attributes.bedrock !== undefined) {
      json.constant(names.l1FeeScalar)
      json.text(`"${millionths(attributes.bedrock.scalar)}"`)
    } else {
      write('l1BaseFeeScalar', attributes.baseFeeScalar)
      write('l1BlobBaseFee', attributes.blobBaseFee)
      write('l1BlobBaseFeeScalar', attributes.blobBaseFeeScalar)
    }
    const { operatorFeeScalar, operatorFeeConstant, daFootprintScalar } = attributes
    if (operatorFeeScalar !== 0n || operatorFeeConstant !== 0n) {
      write('operatorFeeScalar', operatorFeeScalar)
      write('operatorFeeConstant', operatorFeeConstant)
    }
    if (daFootprintScalar === undefined) return
    write('daFootprintGasScalar', daFootprintScalar)
    write('blobGasUsed', (scaledSize(transaction) / million) * daFootprintScalar)
  }
}

/** A scalar in millionths in Go's number format: ten digits, without trailing zeros. */
function millionths(scalar: bigint): string {
  const [digits = '', exponent = '0'] = (Number(scalar) / 1e6).toExponential(9).split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 10) return String(Number((Number(scalar) / 1e6).toPrecision(10)))
  const short = digits.replace(/\.?0+$/, '')
  return `${short}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

/** Estimated bytes of a transaction in a batch: op-geth's `EstimatedDASize`, the same at every fork. */
export function dataBytes(transaction: Uint8Array): bigint {
  return scaledSize(transaction) / million
}

function scaledSize(bytes: Uint8Array): bigint {
  const size = sizeIntercept + sizeFactor * BigInt(fastLzLength(bytes))
  return size > sizeMin ? size : sizeMin
}

/** Position of each three-byte hash's last occurrence; cleared for each transaction. */
const seenAt = new Uint32Array(8_192)

/** Length of bytes compressed by FastLZ (level 1, as Solady's `flzCompress`). */
export function fastLzLength(bytes: Uint8Array): number {
  seenAt.fill(0)
  const three = (at: number) =>
    (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16)
  const hash = (value: number) => (Math.imul(2_654_435_769, value) >>> 19) & 0x1fff
  const literals = (count: number) => 33 * Math.floor(count / 32) + (count % 32 === 0 ? 0 : (count % 32) + 1)
  const end = bytes.length < 13 ? 0 : bytes.length - 13
  let length = 0
  let literalsFrom = 0
  let at = 2
  while (at < end) {
    const value = three(at)
    const place = hash(value)
    const before = seenAt[place] as number
    seenAt[place] = at
    if (at - before > 0x1fff || value !== three(before) || at + 1 >= end) {
      at++
      continue
    }
    if (at > literalsFrom) length += literals(at - literalsFrom)
    const most = end + 6 - at
    let same = 0
    while (same < most && bytes[before + 3 + same] === bytes[at + 3 + same]) same++
    // The first differing byte counts, too.
    const matched = same < most ? same + 1 : same
    length += 3 * Math.floor((matched - 1) / 262) + ((matched - 1) % 262 >= 6 ? 3 : 2)
    at += matched
    for (let again = 0; again < 2; again++, at++) seenAt[hash(three(at))] = at
    literalsFrom = at
  }
  return length + literals(bytes.length - literalsFrom)
}

const tipMin = 1_000_000n
const tipMax = 500_000_000_000n

/** As in op-geth: the minimum tip, or, if the head was full, 10% above its median tip. */
export function suggestTip({ header, gasUsed, tips }: PaidBlock): bigint {
  const largest = BigInt(gasUsed.reduce((most, used) => (used > most ? used : most), 0))
  if (header.gasUsed + largest <= header.gasLimit) return tipMin
  const sorted = [...tips].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0n
  const tip = median + median / 10n
  if (tip < tipMin) return tipMin
  return tip < tipMax ? tip : tipMax
}
