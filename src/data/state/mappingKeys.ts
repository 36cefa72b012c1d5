/**
 * Keys and slots of mapping entries (Solidity, "Layout of State Variables in Storage"). The slot is Keccak-256 of the key
 * followed by the mapping's slot, repeated for each nested mapping. Owns the types of keys and their padding: numbers,
 * addresses and booleans on the left, `bytesN` on the right, `string` and `bytes` not at all.
 */
import { concatBytes, digitsToBytes, type Hash32, padLeft, toMinimalBytes } from '../../primitives/bytes.js'
import { keccak256 } from '../../primitives/keccak.js'

/** `word` is a key of unknown type: bytes, padded on the left. */
export type KeyType =
  | { readonly kind: 'word' }
  | { readonly kind: 'integer'; readonly isSigned: boolean; readonly bits: number }
  | { readonly kind: 'address' }
  | { readonly kind: 'bool' }
  | { readonly kind: 'fixedBytes'; readonly bytes: number }
  | { readonly kind: 'bytes' }
  | { readonly kind: 'string' }

/** A key that does not fit its type; `message` has the expected form. */
export class KeyError extends Error {
  override readonly name = 'KeyError'
}

/** Names that {@link parseKeyType} accepts, for error messages. */
export const keyTypesExpected =
  'uint8 to uint256, int8 to int256, address, bool, bytes1 to bytes32, bytes or string'

/** The type of a key by its name in Solidity; undefined for any other text. `uint` and `int` are of 256 bits. */
export function parseKeyType(name: string): KeyType | undefined {
  switch (name) {
    case 'address':
    case 'address payable':
      return { kind: 'address' }
    case 'bool':
    case 'bytes':
    case 'string':
      return { kind: name }
  }
  const [, word, digits = ''] = /^(u?int|bytes)([1-9][0-9]{0,2})?$/.exec(name) ?? []
  if (word === undefined) return undefined
  const size = digits === '' ? 256 : Number(digits)
  if (word === 'bytes') return size <= 32 ? { kind: 'fixedBytes', bytes: size } : undefined
  return size <= 256 && size % 8 === 0 ? { kind: 'integer', isSigned: word === 'int', bits: size } : undefined
}

/**
 * The bytes of `value` for the hash. Throws KeyError.
 *
 * - Numbers: JSON numbers, hex quantities or decimal digits.
 * - Booleans: `true`, `false` or these words.
 * - Addresses and bytes: hex. A `string`: its text.
 */
export function encodeKey(type: KeyType, value: unknown): Uint8Array {
  switch (type.kind) {
    case 'word':
      return encodeWord(value)
    case 'integer':
      return encodeInteger(type, value)
    case 'address':
      return padLeft(exactBytes(value, 20, 'an address'), 32)
    case 'bool':
      return padLeft(Uint8Array.of(toBoolean(value) ? 1 : 0), 32)
    case 'fixedBytes': {
      const bytes = exactBytes(value, type.bytes, `a bytes${type.bytes}`)
      return concatBytes(bytes, new Uint8Array(32 - bytes.length))
    }
    case 'bytes': {
      const bytes = isPrefixed(value) ? digitsToBytes(value, 2) : undefined
      if (bytes === undefined)
        throw new KeyError(`want bytes as 0x and two hex digits each, got ${shown(value)}`)
      return bytes
    }
    case 'string':
      if (typeof value !== 'string') throw new KeyError(`want a string, got ${shown(value)}`)
      // Half a surrogate pair has no UTF-8, so it cannot name an entry.
      if (/\p{Surrogate}/u.test(value)) throw new KeyError(`want whole characters, got ${shown(value)}`)
      return new TextEncoder().encode(value)
  }
}

const wordExpected =
  'want at most 32 bytes as 0x and hex digits; texts, bytesN and numbers in other notation need their key type'

function encodeWord(value: unknown): Uint8Array {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) {
    return padLeft(toMinimalBytes(value), 32)
  }
  const digits = isPrefixed(value) ? value.slice(2) : ''
  const bytes = digits.length > 64 || digits === '' ? undefined : digitsToBytes(digits.padStart(64, '0'))
  if (bytes === undefined) throw new KeyError(`${wordExpected}, got ${shown(value)}`)
  return bytes
}

function encodeInteger(type: KeyType & { kind: 'integer' }, value: unknown): Uint8Array {
  const name = `${type.isSigned ? 'int' : 'uint'}${type.bits}`
  const integer = toInteger(value)
  if (integer === undefined) {
    throw new KeyError(`want an ${name} as a decimal number or a hex quantity, got ${shown(value)}`)
  }
  const fits = type.isSigned
    ? BigInt.asIntN(type.bits, integer) === integer
    : BigInt.asUintN(type.bits, integer) === integer
  if (!fits) throw new KeyError(`${shown(value)} does not fit into ${name}`)
  // Negative numbers are sign-extended to the whole word.
  return padLeft(toMinimalBytes(BigInt.asUintN(256, integer)), 32)
}

function toInteger(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined
  // No integer of 256 bits has more than 78 digits; parsing a longer text takes the square of its length.
  if (typeof value !== 'string' || value.length > 80) return undefined
  if (/^(-?(0|[1-9][0-9]*)|0[xX][0-9a-fA-F]+)$/.test(value)) return BigInt(value)
  return undefined
}

function toBoolean(value: unknown): boolean {
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  throw new KeyError(`want true or false, got ${shown(value)}`)
}

function exactBytes(value: unknown, width: number, what: string): Uint8Array {
  const fits = isPrefixed(value) && value.length === width * 2 + 2
  const bytes = fits ? digitsToBytes(value, 2) : undefined
  if (bytes !== undefined) return bytes
  throw new KeyError(`want ${what} as 0x and ${width * 2} hex digits, got ${shown(value)}`)
}

/** Whether a value is a text that begins with `0x`. */
function isPrefixed(value: unknown): value is string {
  return typeof value === 'string' && /^0[xX]/.test(value)
}

/** A value for an error message: its beginning and its length. */
function shown(value: unknown): string {
  if (typeof value !== 'string') return typeof value === 'object' ? kindOf(value) : String(value)
  return value.length > 70
    ? `${JSON.stringify(value.slice(0, 70))}… (${value.length} characters)`
    : JSON.stringify(value)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : 'an object'
}

/**
 * The keys that lead to one entry, as bytes, outermost mapping first. Keys of value types are padded to 32 bytes; a
 * `string` or `bytes` key is its content.
 */
export type MappingPath = readonly Uint8Array[]

export interface MappingSlotsRequest {
  /** Slot of the outermost mapping, 32 bytes. */
  readonly slot: Uint8Array
  readonly keys: readonly MappingPath[]
}

/** Slot of one entry: a hash per mapping. */
export function mappingSlot(slot: Uint8Array, path: MappingPath): Hash32 {
  let entry = slot
  for (const key of path) entry = keccak256(concatBytes(key, entry))
  return entry as Hash32
}

/** Slots of many entries, 32 bytes each, concatenated in the order of the keys, in new memory. */
export function computeMappingSlots({ slot, keys }: MappingSlotsRequest): Uint8Array<ArrayBuffer> {
  const slots = new Uint8Array(keys.length * 32)
  for (let i = 0; i < keys.length; i++) slots.set(mappingSlot(slot, keys[i] as MappingPath), i * 32)
  return slots
}
