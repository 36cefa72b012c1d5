/**
 * Strict decoding of a block's transactions: leading zeros, wrong lengths and wrong numbers of fields are errors.
 * Owns fields and signatures; transaction.ts decides whether a transaction may run.
 */
import { familyOf } from '../../../data/chain/families/families.js'
import { type ForkName, includesFork } from '../../../data/chain/forks.js'
import { bytesToBigInt, bytesToNumber, type Hash32 } from '../../../primitives/bytes.js'
import { decodeRlpList, RlpError, type RlpItem, rlpList } from '../../../primitives/rlp.js'
import type { FieldForm } from '../../../primitives/transactionTypes.js'
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
  /** As in its block: a list (legacy), or bytes that begin with the type. */
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
  const type = isTyped && number === 0 ? undefined : familyOf(fork).transactionTypes.get(number)
  if (type === undefined) refuse(`transaction type ${number} is not known`)
  const { names, isSigned } = type
  const fields = new Fields(
    isTyped ? decodeRlpList(item.subarray(1)) : item,
    names.length + (isSigned ? signatureFields : 0),
  )
  const values: Record<string, FieldValue> = {}
  for (const name of names) {
    const value = readField(fields, name, type.fields[name] as FieldForm)
    if (name === 'chainId') checkChainId(value as bigint, chainId)
    values[name] = value
  }
  const signature = isSigned ? readSignature(fields, number, fork, chainId) : undefined
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
type FieldValue = FieldValues[keyof FieldValues]

function readField(fields: Fields, name: string, form: FieldForm): FieldValue {
  switch (form) {
    case 'integer':
    case 'optionalInteger':
      return fields.integer(name)
    case 'address':
      return sized(fields.bytes(name), 20)
    case 'hash':
      return sized(fields.bytes(name), 32)
    case 'flag':
      return fields.integer(name, 1) === 1n
    case 'integer64':
      return fields.integer(name, 64)
    case 'bytes':
      return fields.bytes(name)
    case 'recipient': {
      const to = fields.bytes(name)
      if (to.length !== 0 && to.length !== 20) refuse(`${name} has ${to.length} bytes`)
      return to.length === 0 ? undefined : to
    }
    case 'hashes':
      return fields.list(name).map((hash) => sized(hash, 32))
    case 'accessList':
      return fields.list(name).map(readAccess)
    case 'authorizations':
      return fields.list(name).map(readAuthorization)
  }
}

/** EIP-2, EIP-155. */
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

function readSignature(fields: Fields, type: number, fork: ForkName, chainId: bigint): SignatureNumbers {
  const v = fields.integer('v')
  const r = fields.integer('r')
  const s = fields.integer('s')
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

function readAccess(item: RlpItem): { address: Uint8Array; storageKeys: Uint8Array[] } {
  const fields = new Fields(rlpList(item), 2)
  const address = sized(fields.bytes('address'), 20)
  return { address, storageKeys: fields.list('storageKeys').map((key) => sized(key, 32)) }
}

function readAuthorization(item: RlpItem): Authorization {
  const fields = new Fields(rlpList(item), 6)
  return {
    chainId: fields.integer('chainId'),
    address: sized(fields.bytes('address'), 20),
    nonce: fields.integer('nonce', 64),
    yParity: Number(fields.integer('yParity', 8)),
    r: fields.integer('r'),
    s: fields.integer('s'),
  }
}

function sized(item: RlpItem, bytes: number): Uint8Array {
  if (!(item instanceof Uint8Array) || item.length !== bytes) refuse(`expected ${bytes} bytes`)
  return item
}

/** Reads the fields of a list one after the other. */
class Fields {
  #next = 0
  readonly #items: readonly RlpItem[]

  constructor(items: readonly RlpItem[], count: number) {
    this.#items = items
    if (items.length !== count) refuse(`expected ${count} fields, got ${items.length}`)
  }

  bytes(name: string): Uint8Array {
    const item = this.#items[this.#next++]
    if (!(item instanceof Uint8Array)) refuse(`${name} is a list`)
    return item
  }

  list(name: string): readonly RlpItem[] {
    const item = this.#items[this.#next++]
    if (item === undefined || item instanceof Uint8Array) refuse(`${name} is no list`)
    return item
  }

  integer(name: string, bits = 256): bigint {
    const bytes = this.bytes(name)
    if (bytes[0] === 0) refuse(`${name} has leading zeros`)
    const isWide = bits < 8 ? bytes.length > 1 || (bytes[0] ?? 0) >> bits > 0 : bytes.length * 8 > bits
    if (isWide) refuse(`${name} has more than ${bits} bits`)
    return bytes.length <= 6 ? BigInt(bytesToNumber(bytes)) : bytesToBigInt(bytes)
  }
}

function refuse(why: string): never {
  throw new InvalidTransactionError(why)
}
