/**
 * Decoders of parameters, with go-ethereum's rules and messages. Each is a required {@link Param}; wrap it in
 * {@link optional} to give it a default. Unless stated otherwise, they throw FaultError of kind InvalidArgument for an
 * invalid value. Messages repeat only a short part of the value.
 */
import { type BlockId, type BlockTag, blockTags } from '../../../data/chain/chainBlocks.js'
import {
  type Address,
  addressBytes,
  digitOf,
  digitsToBytes,
  type Hash32,
  hashBytes,
  toAddress,
  toHash32,
  writeDigits,
} from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { excerpt, isObject, typeName } from '../../../primitives/jsonType.js'
import type { Param } from '../method.js'
import { byteAt, isAt, type Pattern, patternOf, readDigits } from '../reading/callText.js'
import { booleanSchema, listSchema, nullable, type Schema, textSchema } from './schema.js'

/** A required parameter; without a schema, any JSON value. */
export function required<T>(
  decode: (value: unknown, index: number) => T,
  schema: Schema = {},
  read?: Param<T>['read'],
): Param<T> {
  return { name: '', required: true, fallback: undefined, schema, decode, as, ...(read && { read }) }
}

function as<T>(this: Param<T>, name: string): Param<T> {
  return { ...this, name }
}

/** The same parameter, but it may be absent or null; then the argument is `fallback`. */
export function optional<T>(param: Param<T>): Param<T | undefined>
export function optional<T, F>(param: Param<T>, fallback: F): Param<T | F>
export function optional(param: Param<unknown>, fallback?: unknown): Param<unknown> {
  return { ...param, required: false, fallback }
}

/** The fault for argument `index` (from 0): `invalid argument N: why`. */
export function invalidArgument(index: number, why: string): FaultError {
  return new FaultError({ kind: 'InvalidArgument', index, why })
}

/** Throws FaultError InvalidArgument for a value that is not a JSON object; `what` names the expected object. */
export function objectOf(value: unknown, index: number, what: string): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw invalidArgument(index, `want ${what}, got ${typeName(value)}`)
  return value
}

/** Maximum length of a member's name in an error message. */
const quotedNameMax = 64

/**
 * The members of objects of one kind. As in Go, the case of names is ignored; of several members with the same name the
 * last counts.
 */
export class ObjectForm {
  readonly #what: string
  readonly #names: readonly string[]
  readonly #known: ReadonlySet<string>
  readonly #byFolded: ReadonlyMap<string, string>
  readonly #isStrict: boolean

  /** `what` completes the fault `want …`. `isStrict`: unknown members are refused; otherwise they are ignored. */
  constructor(what: string, names: readonly string[], isStrict = false) {
    this.#what = what
    this.#names = names
    this.#known = new Set(names)
    this.#byFolded = new Map(names.map((name) => [folded(name), name]))
    this.#isStrict = isStrict
  }

  /**
   * The members under their own names. Throws FaultError InvalidArgument for a value that is not an object, and for
   * unknown names if strict.
   */
  read(value: unknown, index: number): Readonly<Record<string, unknown>> {
    const object = objectOf(value, index, this.#what)
    for (const name in object) if (!this.#known.has(name)) return this.#renamed(object, index)
    return object
  }

  #renamed(object: Readonly<Record<string, unknown>>, index: number): Readonly<Record<string, unknown>> {
    const members: Record<string, unknown> = {}
    for (const [given, value] of Object.entries(object)) {
      const name = this.#byFolded.get(folded(given))
      if (name !== undefined) members[name] = value
      else if (this.#isStrict) {
        const quoted = JSON.stringify(excerpt(given, quotedNameMax))
        const known = this.#names.length === 0 ? 'none' : this.#names.join(', ')
        throw invalidArgument(index, `unknown member ${quoted}; ${this.#what} takes ${known}`)
      }
    }
    return members
  }
}

/** A name in lower case. Go also accepts the long s as an s, and the Kelvin sign as a k. */
function folded(name: string): string {
  return name.toLowerCase().replaceAll('\u017f', 's')
}

const quote = 0x22
const hexDigitsPattern = /^[0-9a-fA-F]*$/

function hasHexPrefix(text: string): boolean {
  return text.charCodeAt(0) === 0x30 && (text.charCodeAt(1) | 0x20) === 0x78
}

/** A string that begins with `0x`. */
function prefixedText(value: unknown, index: number, what: string): string {
  if (typeof value !== 'string') throw invalidArgument(index, `want ${what}, got ${typeName(value)}`)
  if (value === '') throw invalidArgument(index, 'empty hex string')
  if (!hasHexPrefix(value)) throw invalidArgument(index, 'hex string without 0x prefix')
  return value
}

/** Exactly `width` bytes as `0x` and two digits per byte, upper or lower case. */
export function fixedBytes(value: unknown, index: number, width: number, what: string): Uint8Array {
  const text = prefixedText(value, index, `a hex string for ${what}`)
  const digits = text.length - 2
  if (digits % 2 === 1) throw invalidArgument(index, 'hex string of odd length')
  if (digits !== width * 2) {
    throw invalidArgument(index, `hex string has length ${digits}, want ${width * 2} for ${what}`)
  }
  const bytes = new Uint8Array(width)
  if (!writeDigits(text, 2, bytes)) throw invalidArgument(index, 'invalid hex string')
  return bytes
}

/** Like {@link fixedBytes}, but for a string of the call. */
function readFixed(start: number, end: number, width: number): Uint8Array | undefined {
  if (end - start !== 2 * width + 4 || !isHexAt(start)) return undefined
  const value = new Uint8Array(width)
  return readDigits(start + 3, end - 1, value) ? value : undefined
}

function readHash(start: number, end: number): Hash32 | undefined {
  return readFixed(start, end, hashBytes) as Hash32 | undefined
}

/** Whether a string that begins with `0x` is at `at`. A value that begins with a quote also ends with one. */
function isHexAt(at: number): boolean {
  return byteAt(at) === quote && byteAt(at + 1) === 0x30 && (byteAt(at + 2) | 0x20) === 0x78
}

function writtenHex(pattern: string, title: string): Schema {
  return { type: 'string', title, pattern: `^0[xX]${pattern}$` }
}
const writtenQuantity = writtenHex('(0|[1-9a-fA-F][0-9a-fA-F]*)', 'hex quantity')
const writtenHash = writtenHex('[0-9a-fA-F]{64}', '32 bytes')

/** 20 bytes; a mixed-case checksum is not checked, as in go-ethereum. */
export const address: Param<Address> = required(
  (value, index) => toAddress(fixedBytes(value, index, addressBytes, 'address')),
  writtenHex('[0-9a-fA-F]{40}', 'address'),
  (start, end) => readFixed(start, end, addressBytes) as Address | undefined,
)

export const hash32: Param<Hash32> = required(
  (value, index) => toHash32(fixedBytes(value, index, hashBytes, 'hash')),
  writtenHash,
  readHash,
)

export const boolean: Param<boolean> = required(
  (value, index) => {
    if (typeof value !== 'boolean') throw invalidArgument(index, `want a boolean, got ${typeName(value)}`)
    return value
  },
  booleanSchema,
  (start, end) => (isText(start, end, trueText) ? true : isText(start, end, falseText) ? false : undefined),
)

const trueText = patternOf(Buffer.from('true'))
const falseText = patternOf(Buffer.from('false'))

function isText(start: number, end: number, text: Pattern): boolean {
  return end - start === text.length && isAt(start, text)
}

/** Any value, decoded later. */
export const anything: Param<unknown> = required((value) => value)

/** Any text. `what` completes the fault `want …`. */
export function text(what: string): Param<string> {
  return required((value, index) => {
    if (typeof value !== 'string') throw invalidArgument(index, `want ${what}, got ${typeName(value)}`)
    return value
  }, textSchema)
}

/** Any list, whose items are decoded later. `what` completes the fault `want an array of …`. */
export function list(what: string): Param<readonly unknown[]> {
  return required((value, index) => {
    if (!Array.isArray(value)) {
      throw invalidArgument(index, `want an array of ${what}, got ${typeName(value)}`)
    }
    return value
  }, listSchema({}))
}

/** Bytes of any length as `0x` and two digits per byte. */
export const bytes: Param<Uint8Array> = required(
  (value, index) => {
    const text = prefixedText(value, index, 'a hex string')
    if (text.length % 2 === 1) throw invalidArgument(index, 'hex string of odd length')
    const decoded = digitsToBytes(text, 2)
    if (decoded === undefined) throw invalidArgument(index, 'invalid hex string')
    return decoded
  },
  writtenHex('([0-9a-fA-F]{2})*', 'bytes'),
)

/** The digits of a hex quantity, which has `0x`, at least one digit, no leading zeros, and at most `bits`. */
function quantityDigits(value: unknown, index: number, bits: number): string {
  const digits = prefixedText(value, index, 'a hex quantity').slice(2)
  if (digits === '') throw invalidArgument(index, 'hex string "0x"')
  if (digits.length > 1 && digits.startsWith('0')) {
    throw invalidArgument(index, 'hex number with leading zero digits')
  }
  if (!hexDigitsPattern.test(digits)) throw invalidArgument(index, 'invalid hex string')
  if (digits.length > bits / 4) throw invalidArgument(index, `hex number > ${bits} bits`)
  return digits
}

/** A hex quantity of at most `bits` bits (a multiple of 4), as a bigint. */
export function quantity({ bits = 64 }: { readonly bits?: number } = {}): Param<bigint> {
  return required((value, index) => BigInt(`0x${quantityDigits(value, index, bits)}`), writtenQuantity)
}

/** An integer, at most the largest safe integer; no index or block number is as large. */
function toSafeInteger(digits: string): number {
  return Math.min(Number.parseInt(digits, 16), Number.MAX_SAFE_INTEGER)
}

/** An index (of a transaction, an uncle): a hex quantity of at most 64 bits; larger ones become 2^53 − 1. */
export const position: Param<number> = required(
  (value, index) => toSafeInteger(quantityDigits(value, index, 64)),
  writtenQuantity,
  readQuantity,
)

/**
 * Like {@link quantityDigits}, but for a string of the call, as a number. Reads up to 12 digits, so that the number is
 * exact.
 */
function readQuantity(start: number, end: number): number | undefined {
  const first = start + 3
  const digits = end - 1 - first
  if (digits < 1 || digits > 12 || !isHexAt(start)) return undefined
  if (digits > 1 && byteAt(first) === 0x30) return undefined
  let value = 0
  for (let at = first; at < end - 1; at++) {
    const digit = digitOf(byteAt(at))
    if (digit < 0) return undefined
    value = value * 16 + digit
  }
  return value
}

/** A non-negative integer, as a JSON number or a hex quantity. `what` completes the fault `want …`. */
export function integer(what: string, max = Number.MAX_SAFE_INTEGER): Param<number> {
  return required(
    (value, index) => {
      const number = typeof value === 'number' ? value : toSafeInteger(quantityDigits(value, index, 64))
      if (!Number.isSafeInteger(number) || number < 0 || number > max) {
        throw invalidArgument(index, `want ${what} from 0 to ${max}, got ${number}`)
      }
      return number
    },
    { anyOf: [{ type: 'integer', minimum: 0, maximum: max }, writtenQuantity] },
  )
}

/** A storage slot, and its number of bytes as written (`0x0` counts as one). */
interface StorageKey {
  readonly slot: Hash32
  readonly writtenBytes: number
}

/** Maximum length of a storage key in an error message. */
const quotedKeyMax = 256

function storageKeyFault(kind: 'StorageKeyTooLong' | 'StorageKeyNotHex', text: string): FaultError {
  return new FaultError({ kind, key: excerpt(text, quotedKeyMax) })
}

/** As go-ethereum's `decodeStorageKey`: with or without `0x`, any number of digits; no digits mean zero. */
function decodeStorageKey(value: unknown, index: number): StorageKey {
  if (typeof value !== 'string') throw invalidArgument(index, `want a storage key, got ${typeName(value)}`)
  const start = hasHexPrefix(value) ? 2 : 0
  const writtenBytes = (value.length - start + 1) >> 1
  if (writtenBytes > 32) throw storageKeyFault('StorageKeyTooLong', value)
  const slot = new Uint8Array(32)
  if (!writeDigits(value, start, slot)) throw storageKeyFault('StorageKeyNotHex', value)
  return { slot: toHash32(slot), writtenBytes }
}

const writtenKey: Schema = { type: 'string', title: 'storage key', pattern: '^(0[xX])?[0-9a-fA-F]{0,64}$' }

/** A storage slot of up to 32 bytes. Throws StorageKeyTooLong and StorageKeyNotHex. */
export const storageKey: Param<Hash32> = required(
  (value, index) => decodeStorageKey(value, index).slot,
  writtenKey,
  (start, end) => {
    const first = isHexAt(start) ? start + 3 : start + 1
    if (byteAt(start) !== quote || end - 1 - first > 2 * hashBytes) return undefined
    const slot = new Uint8Array(hashBytes)
    return readDigits(first, end - 1, slot) ? toHash32(slot) : undefined
  },
)

/** Up to `max` storage slots. Throws TooManyStorageKeys, StorageKeyTooLong and StorageKeyNotHex. */
export function storageKeys(max: number): Param<readonly StorageKey[]> {
  return required(
    (value, index) => {
      if (!Array.isArray(value)) throw invalidArgument(index, `want an array, got ${typeName(value)}`)
      if (value.length > max) throw new FaultError({ kind: 'TooManyStorageKeys', max, got: value.length })
      return value.map((key) => decodeStorageKey(key, index))
    },
    { ...listSchema(writtenKey), maxItems: max },
  )
}

interface BlockIdOptions {
  /** Whether a plain 32-byte hash is accepted; objects with a hash always are. */
  readonly acceptsHash?: boolean
  /** Whether a decimal integer is accepted, as a JSON number or as digits in a string. */
  readonly acceptsDecimal?: boolean
  /** Tag for an absent or null value; without it the parameter is required. */
  readonly default?: BlockTag
}

const tagIds: ReadonlyMap<string, BlockId> = new Map(
  blockTags.map((tag) => [tag, { kind: 'tag', tag } as const]),
)
const tagTexts = [...tagIds].map(([tag, id]) => ({ text: patternOf(Buffer.from(tag)), id }))
const decimalPattern = /^(?:0|[1-9][0-9]*)$/
/** go-ethereum's block numbers are signed 64-bit integers. */
const blockNumberMax = 2n ** 63n - 1n

/** A block: hex number, tag, or EIP-1898 object. Throws BothBlockHashAndNumber for an object with both. */
export function blockId(options: BlockIdOptions = {}): Param<BlockId> {
  const { acceptsHash = false, acceptsDecimal = false } = options
  const decode = (value: unknown, index: number): BlockId => {
    if (typeof value === 'string') {
      const tag = tagIds.get(value)
      if (tag !== undefined) return tag
      if (acceptsHash && value.length === 66) return hashId(value, false, index)
      if (acceptsDecimal && decimalPattern.test(value)) return numberId(decimalToBigInt(value, index), index)
      return hexNumberId(value, index)
    }
    if (acceptsDecimal && typeof value === 'number') {
      if (!Number.isInteger(value) || value < 0) {
        throw invalidArgument(index, 'a block number is a non-negative integer')
      }
      return numberId(BigInt(value), index)
    }
    if (isObject(value)) return objectId(value, index)
    throw invalidArgument(index, `want a block number or tag, got ${typeName(value)}`)
  }
  const read = (start: number, end: number): BlockId | undefined => {
    if (byteAt(start) !== quote) return undefined
    for (const { text, id } of tagTexts) if (isText(start + 1, end - 1, text)) return id
    const hash = acceptsHash ? readHash(start, end) : undefined
    if (hash !== undefined) return { kind: 'hash', hash, requireCanonical: false }
    const number = readQuantity(start, end)
    return number === undefined ? undefined : { kind: 'number', number }
  }
  const param = required(decode, writtenBlock(acceptsHash, acceptsDecimal), read)
  return options.default === undefined ? param : optional(param, { kind: 'tag', tag: options.default })
}

function writtenBlock(acceptsHash: boolean, acceptsDecimal: boolean): Schema {
  const name = { anyOf: [{ enum: blockTags }, writtenQuantity] }
  return {
    title: 'block',
    anyOf: [
      ...name.anyOf,
      ...(acceptsHash ? [writtenHash] : []),
      ...(acceptsDecimal
        ? [
            { type: 'integer', minimum: 0 },
            { type: 'string', pattern: '^[0-9]+$' },
          ]
        : []),
      {
        type: 'object',
        properties: {
          blockNumber: nullable(name),
          blockHash: nullable(writtenHash),
          requireCanonical: nullable(booleanSchema),
        },
      },
    ],
  }
}

/** A block whose state is read, also by its hash; the latest one if absent. */
export const stateBlockId: Param<BlockId> = blockId({ acceptsHash: true, default: 'latest' })

const blockForm = new ObjectForm('a block', ['blockHash', 'blockNumber', 'requireCanonical'])

function objectId(value: object, index: number): BlockId {
  const { blockHash, blockNumber, requireCanonical } = blockForm.read(value, index)
  const hasHash = blockHash !== undefined && blockHash !== null
  const hasNumber = blockNumber !== undefined && blockNumber !== null
  if (hasHash && hasNumber) throw new FaultError({ kind: 'BothBlockHashAndNumber' })
  if (hasHash) {
    const canonical = requireCanonical ?? false
    if (typeof canonical !== 'boolean') {
      throw invalidArgument(index, `requireCanonical: want a boolean, got ${typeName(canonical)}`)
    }
    return hashId(blockHash, canonical, index)
  }
  if (!hasNumber) throw invalidArgument(index, 'neither blockNumber nor blockHash specified')
  const tag = typeof blockNumber === 'string' ? tagIds.get(blockNumber) : undefined
  return tag ?? hexNumberId(blockNumber, index)
}

function hashId(value: unknown, requireCanonical: boolean, index: number): BlockId {
  return { kind: 'hash', hash: toHash32(fixedBytes(value, index, hashBytes, 'hash')), requireCanonical }
}

function hexNumberId(value: unknown, index: number): BlockId {
  const digits = quantityDigits(value, index, 64)
  // 12 digits are below 2^53, so a number is exact and no bigint is needed.
  if (digits.length <= 12) return { kind: 'number', number: Number.parseInt(digits, 16) }
  return numberId(BigInt(`0x${digits}`), index)
}

function decimalToBigInt(digits: string, index: number): bigint {
  // The conversion takes time proportional to the square of the number of digits; 2^63 has 19.
  if (digits.length > 19) throw invalidArgument(index, 'block number larger than int64')
  return BigInt(digits)
}

function numberId(number: bigint, index: number): BlockId {
  if (number > blockNumberMax) throw invalidArgument(index, 'block number larger than int64')
  return { kind: 'number', number: Math.min(Number(number), Number.MAX_SAFE_INTEGER) }
}
