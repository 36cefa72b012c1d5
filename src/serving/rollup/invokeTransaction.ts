/**
 * Invoke transactions of version 3: their canonical form, and parsing of callers' input into it. Owns the rules of
 * every field and names the invalid field; `invokeHash.ts` computes the hash.
 */
import { excerpt, isObject, typeName } from '../../primitives/jsonType.js'
import { decimalToFelt, type Felt, hexToFelt } from './felt.js'

/** Highest amount of one resource for a transaction, and its highest price. Both are hex quantities. */
export interface ResourceBound {
  /** At most 64 bits. */
  readonly max_amount: Quantity
  /** At most 128 bits. */
  readonly max_price_per_unit: Quantity
}

/** `0x` and lower-case digits without leading zeros. */
type Quantity = `0x${string}`

export type AvailabilityMode = 'L1' | 'L2'

/** A transaction as stored and forwarded: the official shape, each integer in its shortest form. */
export interface InvokeTransaction {
  readonly type: 'INVOKE'
  /** {@link invokeVersion} or {@link queryVersion}. */
  readonly version: Felt
  readonly sender_address: Felt
  readonly calldata: readonly Felt[]
  readonly signature: readonly Felt[]
  readonly nonce: Felt
  readonly resource_bounds: {
    readonly l1_gas: ResourceBound
    readonly l2_gas: ResourceBound
    /** Part of the hash if present, even if zero. */
    readonly l1_data_gas?: ResourceBound
  }
  readonly tip: Quantity
  readonly paymaster_data: readonly Felt[]
  readonly account_deployment_data: readonly Felt[]
  readonly nonce_data_availability_mode: AvailabilityMode
  readonly fee_data_availability_mode: AvailabilityMode
  readonly proof_facts?: readonly Felt[]
  /** Base64. */
  readonly proof?: string
}

/** The fields that the hash of a transaction depends on. */
export type HashedFields = Omit<InvokeTransaction, 'type' | 'signature' | 'proof'>

export function toHashedFields({ signature, proof, type, ...fields }: InvokeTransaction): HashedFields {
  return fields
}

/** Versions on the wire: 3, and 2^128 + 3 for a transaction that is only simulated. */
const invokeVersion = '0x3' as Felt
export const queryVersion = '0x100000000000000000000000000000003' as Felt

/** Longest lists, in felts. */
export interface InvokeLimits {
  /** Limit of `calldata` and of the other lists that are hashed. */
  readonly calldataMax: number
  readonly signatureMax: number
}

/**
 * - `calldataMax`: the limit of the rollup's own sequencers; hashing 5,000 felts takes 30 ms.
 * - `signatureMax`: the limit of the rollup's own sequencers.
 */
export const invokeLimitsDefault: InvokeLimits = { calldataMax: 5_000, signatureMax: 4_000 }

/** A field of a transaction is invalid. `message` begins with the field's path. */
export class FieldError extends Error {
  override readonly name = 'FieldError'
}

/** A version whose hash this service cannot compute. */
export class VersionError extends Error {
  override readonly name = 'VersionError'
}

/**
 * Reads a transaction in the official shape or in that of the specification (section 2: bounds as one hex string,
 * signature items as decimal integers). Throws FieldError that names the first invalid field, or VersionError if only
 * the version is wrong.
 */
export function parseInvokeTransaction(value: unknown, limits: InvokeLimits): InvokeTransaction {
  if (!isObject(value)) throw new FieldError(`want an invoke transaction object, got ${typeName(value)}`)
  refuseUnknown(value, fields, '')
  if (text(value, 'type') !== 'INVOKE') throw wrong('type', 'the word INVOKE', value.type)
  const list = (field: string): Felt[] => felts(value, field, limits.calldataMax, felt)
  const transaction = {
    type: 'INVOKE',
    version: felt(value.version, 'version'),
    sender_address: felt(value.sender_address, 'sender_address'),
    calldata: list('calldata'),
    signature: felts(value, 'signature', limits.signatureMax, signatureItem),
    nonce: felt(value.nonce, 'nonce'),
    resource_bounds: resourceBounds(value.resource_bounds),
    tip: quantity(value.tip, 'tip', 64),
    paymaster_data: list('paymaster_data'),
    account_deployment_data: list('account_deployment_data'),
    nonce_data_availability_mode: availabilityMode(value, 'nonce_data_availability_mode'),
    fee_data_availability_mode: availabilityMode(value, 'fee_data_availability_mode'),
    ...proofMembers(value, list),
  } as const
  const { version } = transaction
  if (version !== invokeVersion && version !== queryVersion) throw new VersionError(version)
  return transaction
}

type Fields = Readonly<Record<string, unknown>>

const fields: ReadonlySet<string> = new Set([
  'type',
  'version',
  'sender_address',
  'calldata',
  'signature',
  'nonce',
  'resource_bounds',
  'tip',
  'paymaster_data',
  'account_deployment_data',
  'nonce_data_availability_mode',
  'fee_data_availability_mode',
  'proof_facts',
  'proof',
])
const boundsFields: ReadonlySet<string> = new Set(['l1_gas', 'l2_gas', 'l1_data_gas'])
const boundFields: ReadonlySet<string> = new Set(['max_amount', 'max_price_per_unit'])

/**
 * Price for a bound that is written as one hex string. The specification shows that form without its meaning. Here it
 * is the highest fee for that resource, so amount times price is the value of the string.
 */
const bareBoundPrice: Quantity = '0x1'

function resourceBounds(value: unknown): InvokeTransaction['resource_bounds'] {
  if (!isObject(value)) throw wrong('resource_bounds', 'an object', value)
  refuseUnknown(value, boundsFields, 'resource_bounds.')
  const bound = (name: string): ResourceBound => resourceBound(value[name], `resource_bounds.${name}`)
  const { l1_data_gas: dataGas } = value
  return {
    l1_gas: bound('l1_gas'),
    l2_gas: bound('l2_gas'),
    ...(dataGas !== undefined && { l1_data_gas: bound('l1_data_gas') }),
  }
}

function resourceBound(value: unknown, path: string): ResourceBound {
  if (typeof value === 'string') {
    return { max_amount: quantity(value, path, 64), max_price_per_unit: bareBoundPrice }
  }
  if (!isObject(value)) {
    throw wrong(path, 'an object with max_amount and max_price_per_unit, or a hex string', value)
  }
  refuseUnknown(value, boundFields, `${path}.`)
  return {
    max_amount: quantity(value.max_amount, `${path}.max_amount`, 64),
    max_price_per_unit: quantity(value.max_price_per_unit, `${path}.max_price_per_unit`, 128),
  }
}

/** Both members or neither. */
function proofMembers(
  value: Fields,
  list: (field: string) => Felt[],
): Pick<InvokeTransaction, 'proof_facts' | 'proof'> {
  const { proof, proof_facts: facts } = value
  if (proof === undefined && facts === undefined) return {}
  if (proof === undefined) throw new FieldError('proof: missing, although there are proof_facts')
  if (facts === undefined) throw new FieldError('proof_facts: missing, although there is a proof')
  return { proof_facts: list('proof_facts'), proof: base64(proof) }
}

function base64(value: unknown): string {
  if (typeof value !== 'string' || !isBase64(value)) throw wrong('proof', 'base64 text', value)
  return value
}

/**
 * Searches for an invalid character: a pattern for the whole text would take V8's stack for each group of a long text.
 */
function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.slice(0, text.length - padding))
}

function availabilityMode(value: Fields, field: string): AvailabilityMode {
  const mode = text(value, field)
  if (mode !== 'L1' && mode !== 'L2') throw wrong(field, 'L1 or L2', mode)
  return mode
}

function felts(
  value: Fields,
  field: string,
  max: number,
  parse: (item: unknown, path: string) => Felt,
): Felt[] {
  const items = value[field]
  if (!Array.isArray(items)) throw wrong(field, 'an array', items)
  if (items.length > max) throw new FieldError(`${field}: want at most ${max} items, got ${items.length}`)
  return items.map((item, at) => parse(item, `${field}[${at}]`))
}

const feltExpected = 'a felt in hex (0x and 1 to 64 digits, less than 2^251 + 17·2^192 + 1)'

function felt(value: unknown, path: string): Felt {
  const parsed = typeof value === 'string' ? hexToFelt(value) : undefined
  if (parsed === undefined) throw wrong(path, feltExpected, value)
  return parsed
}

function signatureItem(value: unknown, path: string): Felt {
  const parsed = typeof value === 'string' ? (hexToFelt(value) ?? decimalToFelt(value)) : undefined
  if (parsed === undefined) throw wrong(path, `${feltExpected} or as a decimal integer in a string`, value)
  return parsed
}

function quantity(value: unknown, path: string, bits: 64 | 128): Quantity {
  const parsed = typeof value === 'string' ? hexToFelt(value) : undefined
  if (parsed === undefined || parsed.length - 2 > bits / 4) {
    throw wrong(path, `a hex integer of at most ${bits} bits`, value)
  }
  return parsed
}

function text(value: Fields, field: string): string {
  const found = value[field]
  if (typeof found !== 'string') throw wrong(field, 'a string', found)
  return found
}

function refuseUnknown(value: Fields, known: ReadonlySet<string>, prefix: string): void {
  for (const key of Object.keys(value)) {
    if (!known.has(key)) throw new FieldError(`${prefix}${excerpt(key, quotedMax)}: unknown field`)
  }
}

function wrong(path: string, want: string, got: unknown): FieldError {
  if (got === undefined) return new FieldError(`${path}: missing, want ${want}`)
  return new FieldError(
    `${path}: want ${want}, got ${typeof got === 'string' ? JSON.stringify(excerpt(got, quotedMax)) : typeName(got)}`,
  )
}

/** Longest part of a value that an error message repeats: a felt fits. */
const quotedMax = 80
