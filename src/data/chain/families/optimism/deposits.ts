/**
 * Deposits of the OP Stack: transactions that L1 forces into a block. Owns their form, their place in a block, and the
 * attributes of L1 in the first one (specs.optimism.io, protocol/deposits).
 */
import {
  bytesToBigInt,
  equalBytes,
  hexToBytes,
  padLeft,
  toMinimalBytes,
} from '../../../../primitives/bytes.js'
import { decodeRlpList, type RlpItem, rlpBytes } from '../../../../primitives/rlp.js'
import { depositType } from '../../../../primitives/transactionTypes.js'
import type { RuledTransaction } from '../../executionRules.js'
import { type ForkName, includesFork } from '../../forkNames.js'

/** The sender of the attributes of L1, and the contract that stores them. */
export const attributesDepositor = hexToBytes('deaddeaddeaddeaddeaddeaddeaddeaddead0001')
export const attributesContract = hexToBytes('4200000000000000000000000000000000000015')

/** Attributes in the first deposit of a block, as far as fees depend on them. Wei per gas, and integers. */
export interface L1Attributes {
  readonly baseFee: bigint
  /** Before Ecotone, and in its first block; later blocks have the members below. */
  readonly bedrock: { readonly overhead: bigint; readonly scalar: bigint } | undefined
  readonly blobBaseFee: bigint
  readonly baseFeeScalar: bigint
  readonly blobBaseFeeScalar: bigint
  /** 0 before Isthmus. */
  readonly operatorFeeScalar: bigint
  readonly operatorFeeConstant: bigint
  /** Undefined before Jovian, and in its first block. */
  readonly daFootprintScalar: bigint | undefined
}

interface ReportedAttributes extends L1Attributes {
  /** The fork that introduced this form. */
  readonly form: ForkName
}

/** Forms by selector: bytes of the call data, and the fork that introduced this form. */
const selectors: ReadonlyMap<number, readonly [bytes: number, since: ForkName]> = new Map([
  [0x015d8eb9, [260, 'bedrock']],
  [0x440a5e20, [164, 'ecotone']],
  [0x098999be, [176, 'isthmus']],
  [0x3db6be2b, [178, 'jovian']],
])
const bedrockSelector = 0x015d8eb9
const isthmusBytes = 176
const jovianBytes = 178

/** The selector, 4 bytes, of a fork's newest form. */
export function formOf(fork: ForkName): Uint8Array {
  const [selector = 0] = [...selectors].findLast(([, [, since]]) => includesFork(fork, since)) ?? []
  return padLeft(toMinimalBytes(selector), 4)
}

/** The attributes in `data`; undefined if it has another form. */
function readAttributes(data: Uint8Array): ReportedAttributes | undefined {
  const selector = data.length < 4 ? 0 : Number(bytesToBigInt(data.subarray(0, 4)))
  const [bytes, form] = selectors.get(selector) ?? []
  if (form === undefined || bytes !== data.length) return undefined
  const at = (start: number, end: number) =>
    end <= data.length ? bytesToBigInt(data.subarray(start, end)) : 0n
  const isBedrock = selector === bedrockSelector
  return {
    form,
    baseFee: isBedrock ? at(68, 100) : at(36, 68),
    bedrock: isBedrock ? { overhead: at(196, 228), scalar: at(228, 260) } : undefined,
    blobBaseFee: isBedrock ? 0n : at(68, 100),
    baseFeeScalar: isBedrock ? 0n : at(4, 8),
    blobBaseFeeScalar: isBedrock ? 0n : at(8, 12),
    operatorFeeScalar: !isBedrock && data.length >= isthmusBytes ? at(164, 168) : 0n,
    operatorFeeConstant: !isBedrock && data.length >= isthmusBytes ? at(168, 176) : 0n,
    daFootprintScalar: data.length === jovianBytes ? at(176, 178) : undefined,
  }
}

/** The attributes in the first transaction of a block; undefined if it is no such deposit. */
export function attributesOf(first: RlpItem | undefined): ReportedAttributes | undefined {
  if (!(first instanceof Uint8Array) || first[0] !== depositType.number) return undefined
  return readAttributes(rlpBytes(decodeRlpList(first.subarray(1)).at(-1)))
}

/** Reason why a block must not have these transactions; undefined if it may. */
export function refuseOrder(transactions: readonly RuledTransaction[]): string | undefined {
  const [first] = transactions
  const isDeposit = ({ type }: RuledTransaction) => type === depositType.number
  const isOfAttributes =
    first !== undefined &&
    isDeposit(first) &&
    equalBytes(first.sender, attributesDepositor) &&
    first.to !== undefined &&
    equalBytes(first.to, attributesContract)
  if (!isOfAttributes) return 'its first transaction is not the deposit of the L1 attributes'
  if (readAttributes(first.data) === undefined) return 'its L1 attributes have an unknown form'
  const others = transactions.findIndex((transaction) => !isDeposit(transaction))
  if (others < 0) return undefined
  const late = transactions.findIndex((transaction, index) => index > others && isDeposit(transaction))
  return late < 0 ? undefined : `transaction ${late} is a deposit behind others`
}
