/**
 * Strict decoding of a block's transactions: leading zeros, wrong lengths and wrong numbers of fields are errors.
 * Owns fields and signatures; transaction.ts decides whether a transaction may run.
 */
import { forkRules } from '../../../data/chain/forkRules.js'
import { type ForkName, includesFork } from '../../../data/chain/forks.js'
import { bytesToBigInt, bytesToNumber, type Hash32 } from '../../../primitives/bytes.js'
import { decodeRlpList, RlpError, type RlpItem, rlpList } from '../../../primitives/rlp.js'
import { type Conversion, convertField } from '../../../primitives/transactionCodec.js'
import type { FieldForm, LeafForm } from '../../../primitives/transactionTypes.js'
import type { AccessListEntry, Authorization } from '../messages/executionRequest.js'
import { sMax } from './authorizations.js'
import { type RecoveredKeys, transactionHash } from './recoveredKeys.js'
import type { BlockTransaction } from './transaction.js'
import { InvalidTransactionError } from './transactionChecks.js'

export interface SignedTransaction extends BlockTransaction {
  readonly hash: Hash32
  readonly type: number
  /** 0 if its receipt contains the nonce instead. */
  readonly nonce: bigint
  /** The transaction as in its block: a list (legacy), or bytes that begin with the type. */
  readonly item: RlpItem
}

/** A signature that has no sender on this chain. The messages are go-ethereum's. */
export class InvalidSenderError extends InvalidTransactionError {}

const signatureFields = 3

/**
 * Reads one item of a block's transactions: a list (legacy), or bytes that begin with the type (EIP-2718). Recovering
 * the sender takes most of the time, unless `keys` has it cached. Throws {@link InvalidTransactionError}.
 */
export function readSignedTransaction(
  item: RlpItem,
  fork: ForkName,
  chainId: bigint,
  keys: Pick<RecoveredKeys, 'senderOf'>,
): SignedTransaction {
  try {
    return read(item, fork, chainId, keys)
  } catch (error) {
    if (error instanceof RlpError) throw new InvalidTransactionError(`not a transaction: ${error.message}`)
    throw error
  }
}

function read(
  item: RlpItem,
  fork: ForkName,
  chainId: bigint,
  keys: Pick<RecoveredKeys, 'senderOf'>,
): SignedTransaction {
  const isTyped = item instanceof Uint8Array
  const number = isTyped ? (item[0] ?? -1) : 0
  const type = isTyped && number === 0 ? undefined : forkRules(fork).transactionTypes.get(number)
  if (type === undefined) refuse(`transaction type ${number} is not known`)
  const { names, isSigned } = type
  const items = counted(
    isTyped ? decodeRlpList(item.subarray(1)) : item,
    names.length + (isSigned ? signatureFields : 0),
  )
  const values: Record<string, FieldValue> = {}
  for (const [at, name] of names.entries()) {
    const value = convertField(decoding, items[at], type.fields[name] as FieldForm, name)
    if (name === 'chainId') checkChainId(value as bigint, chainId)
    values[name] = value
  }
  const signature = isSigned ? readSignature(items, names.length, number, fork, chainId) : undefined
  const hash = transactionHash(item)
  const read = values as unknown as FieldValues
  const sender = keys.senderOf(item, hash, read.from) ?? refuseSignature()
  return {
    type: number,
    hash,
    item,
    sender,
    ...(signature && isUnsignedForm(signature, sender) && { isImpersonated: true }),
    to: read.to,
    nonce: read.nonce ?? 0n,
    ...(isSigned ? {} : { forced: { mint: read.mint ?? 0n, isSystem: read.isSystemTx === true } }),
    gasLimit: read.gas,
    maxFeePerGas: read.gasPrice ?? read.maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: read.gasPrice ?? read.maxPriorityFeePerGas ?? 0n,
    value: read.value,
    data: read.input,
    accessList: read.accessList,
    maxFeePerBlobGas: read.maxFeePerBlobGas ?? 0n,
    blobVersionedHashes: read.blobVersionedHashes,
    authorizationList: read.authorizationList,
  }
}

/** The fields that execution uses, as far as a type has them: one gas price, or the two prices of the fee market. */
interface FieldValues {
  readonly nonce?: bigint
  readonly gasPrice?: bigint
  readonly maxFeePerGas?: bigint
  readonly maxPriorityFeePerGas?: bigint
  readonly from?: Uint8Array
  readonly mint?: bigint
  readonly isSystemTx?: boolean
  readonly gas: bigint
  readonly to: Uint8Array | undefined
  readonly value: bigint
  readonly input: Uint8Array
  readonly accessList?: readonly AccessListEntry[]
  readonly maxFeePerBlobGas?: bigint
  readonly blobVersionedHashes?: readonly Uint8Array[]
  readonly authorizationList?: readonly Authorization[]
}
type FieldValue = FieldValues[keyof FieldValues] | number | readonly FieldValue[]

/** Strict: sizes and leading zeros are checked. */
const decoding: Conversion<RlpItem, FieldValue> = {
  leaf: readLeaf,
  items: (item, name) =>
    item === undefined || item instanceof Uint8Array ? refuse(`${name} is no list`) : item,
  members: (item, names) => counted(rlpList(item), names.length),
  list: (items) => items,
  object: (members, names) => {
    const object: Record<string, FieldValue> = {}
    for (const [at, name] of names.entries()) object[name] = members[at]
    return object as unknown as FieldValue
  },
}

function readLeaf(item: RlpItem | undefined, form: LeafForm, name: string): FieldValue {
  switch (form) {
    case 'integer':
    case 'optionalInteger':
    case 'trailingInteger':
      return integerOf(item, name)
    case 'integer64':
      return integerOf(item, name, 64)
    case 'integer8':
      return Number(integerOf(item, name, 8))
    case 'address':
      return sized(item, 20)
    case 'hash':
      return sized(item, 32)
    case 'flag':
      return integerOf(item, name, 1) === 1n
    case 'bytes':
      return bytesOf(item, name)
    case 'recipient': {
      const to = bytesOf(item, name)
      if (to.length !== 0 && to.length !== 20) refuse(`${name} has ${to.length} bytes`)
      return to.length === 0 ? undefined : to
    }
  }
}

/** The part of a signature that has no rule of its own. */
interface SignatureNumbers {
  readonly r: bigint
  readonly s: bigint
}

/** In place of a signature in a transaction that a developer chain made for an account without its key. */
export function unsignedForm(sender: Uint8Array): SignatureNumbers {
  return { r: bytesToBigInt(sender), s: 1n }
}

/** No signature that leads to its sender has this form: r would be part of the hash of a key that follows from r. */
function isUnsignedForm({ r, s }: SignatureNumbers, sender: Uint8Array): boolean {
  return s === 1n && r === bytesToBigInt(sender)
}

/** EIP-2, EIP-155. */
function readSignature(
  items: readonly RlpItem[],
  start: number,
  type: number,
  fork: ForkName,
  chainId: bigint,
): SignatureNumbers {
  const v = integerOf(items[start], 'v')
  const r = integerOf(items[start + 1], 'r')
  const s = integerOf(items[start + 2], 's')
  if (includesFork(fork, 'homestead') && s > sMax) refuseSignature()
  if (type > 0) {
    if (v > 1n) refuseSignature()
    return { r, s }
  }
  if (v === 27n || v === 28n) return { r, s }
  if (v < 35n || !includesFork(fork, 'spuriousDragon')) refuseSignature()
  checkChainId((v - 35n) / 2n, chainId)
  return { r, s }
}

function checkChainId(have: bigint, want: bigint): void {
  if (have !== want) throw new InvalidSenderError(`invalid chain id for signer: have ${have} want ${want}`)
}

function refuseSignature(): never {
  throw new InvalidSenderError('invalid transaction v, r, s values')
}

function counted(items: readonly RlpItem[], count: number): readonly RlpItem[] {
  return items.length === count ? items : refuse(`expected ${count} fields, got ${items.length}`)
}

function sized(item: RlpItem | undefined, bytes: number): Uint8Array {
  return item instanceof Uint8Array && item.length === bytes ? item : refuse(`expected ${bytes} bytes`)
}

function bytesOf(item: RlpItem | undefined, name: string): Uint8Array {
  return item instanceof Uint8Array ? item : refuse(`${name} is a list`)
}

function integerOf(item: RlpItem | undefined, name: string, bits = 256): bigint {
  const bytes = bytesOf(item, name)
  if (bytes[0] === 0) refuse(`${name} has leading zeros`)
  const isWide = bits < 8 ? bytes.length > 1 || (bytes[0] ?? 0) >> bits > 0 : bytes.length * 8 > bits
  if (isWide) refuse(`${name} has more than ${bits} bits`)
  return bytes.length <= 6 ? BigInt(bytesToNumber(bytes)) : bytesToBigInt(bytes)
}

function refuse(why: string): never {
  throw new InvalidTransactionError(why)
}
