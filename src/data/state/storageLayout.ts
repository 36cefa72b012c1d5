/**
 * Solidity storage layouts: parses the `storageLayout` output of solc (Solidity, "JSON Output" under "Layout of State
 * Variables in Storage"). Owns its shape and checks all of it, so that a parsed layout has no missing type and no
 * type that contains itself.
 */
import { type KeyType, parseKeyType } from './mappingKeys.js'

/** A variable of a contract or a member of a struct. */
export interface LayoutMember {
  readonly name: string
  /** Slot, counted from the first slot of the contract or struct. */
  readonly slot: bigint
  /** Byte offset from the right end of the slot. */
  readonly offset: number
  readonly type: LayoutType
}

interface TypeBase {
  /** The type's name in Solidity. */
  readonly label: string
  /** Bytes in storage: at most 32 for a type that shares slots, otherwise a multiple of 32. */
  readonly bytes: bigint
}

/** A value within one slot. `type` decides how its bytes are decoded; `word` if the layout does not have it. */
export interface ValueType extends TypeBase {
  readonly kind: 'value'
  readonly type: KeyType
}
/** `string` or `bytes`. */
export interface ContentType extends TypeBase {
  readonly kind: 'content'
  readonly isText: boolean
}
export interface MappingType extends TypeBase {
  readonly kind: 'mapping'
  readonly key: KeyType
  readonly keyLabel: string
  readonly value: LayoutType
}
export interface ArrayType extends TypeBase {
  readonly kind: 'array'
  readonly item: LayoutType
  /** Undefined for a dynamic array. */
  readonly length: bigint | undefined
}
export interface StructType extends TypeBase {
  readonly kind: 'struct'
  readonly members: readonly LayoutMember[]
}
export type LayoutType = ValueType | ContentType | MappingType | ArrayType | StructType

export interface StorageLayout {
  /** In order of declaration, those of base contracts first. */
  readonly variables: readonly LayoutMember[]
}

/** A fault of a layout, with its place in the JSON. */
export class LayoutError extends Error {
  override readonly name = 'LayoutError'
}

/**
 * Parses solc's `storageLayout` object, or an object with a member of that name, such as a compiler's artifact. A
 * user-defined value type may have a member `underlying` with the name of its type (`"int128"`), which solc does not
 * write. Without it such values are not decoded. Throws LayoutError.
 */
export function parseStorageLayout(json: unknown): StorageLayout {
  const outer = asObject(json, 'the layout')
  const layout = outer.storage === undefined ? asObject(outer.storageLayout, 'storageLayout') : outer
  // solc writes null for a contract without variables.
  const types = layout.types === null ? {} : asObject(layout.types, 'types')
  const parser = new LayoutParser(types)
  const variables = parser.parseMembers(layout.storage, 'storage')
  parser.checkFinite()
  return { variables }
}

/** Bytes of the largest type: all of storage. */
const bytesMax = 2n ** 261n

class LayoutParser {
  readonly #raw: ReadonlyMap<string, unknown>
  readonly #done = new Map<string, LayoutType>()

  constructor(types: Readonly<Record<string, unknown>>) {
    this.#raw = new Map(Object.entries(types))
  }

  parseMembers(json: unknown, where: string): LayoutMember[] {
    if (!Array.isArray(json)) throw new LayoutError(`${where}: expected an array`)
    return json.map((each: unknown, index) => {
      const at = `${where}[${index}]`
      const member = asObject(each, at)
      const offset = member.offset
      if (typeof offset !== 'number' || !Number.isInteger(offset) || offset < 0 || offset > 31) {
        throw new LayoutError(`${at}.offset: expected an integer from 0 to 31`)
      }
      const type = this.#type(member.type, `${at}.type`)
      if (BigInt(offset) + type.bytes > 32n && offset > 0) {
        throw new LayoutError(
          `${at}.offset: ${type.bytes} bytes do not fit into the slot at offset ${offset}`,
        )
      }
      return {
        name: asText(member.label, `${at}.label`),
        slot: asInteger(member.slot, `${at}.slot`),
        offset,
        type,
      }
    })
  }

  /** The type with this id. Its parts may be filled in later, before the layout is returned. */
  #type(id: unknown, where: string): LayoutType {
    const name = asText(id, where)
    const done = this.#done.get(name)
    if (done !== undefined) return done
    const at = `types[${JSON.stringify(name)}]`
    if (!this.#raw.has(name)) throw new LayoutError(`${where}: there is no ${at}`)
    const raw = asObject(this.#raw.get(name), at)
    const label = asText(raw.label, `${at}.label`)
    const bytes = asInteger(raw.numberOfBytes, `${at}.numberOfBytes`)
    if (bytes === 0n || bytes > bytesMax) throw new LayoutError(`${at}.numberOfBytes: out of range`)
    // A struct may contain itself through an array or a mapping, so the type is stored before its parts are parsed.
    const type = { label, bytes } as { -readonly [K in keyof TypeBase]: TypeBase[K] }
    this.#done.set(name, type as LayoutType)
    Object.assign(type, this.#parts(raw, label, bytes, at))
    return type as LayoutType
  }

  #parts(raw: Readonly<Record<string, unknown>>, label: string, bytes: bigint, at: string): object {
    switch (raw.encoding) {
      case 'bytes':
        return { kind: 'content', isText: label === 'string' }
      case 'mapping': {
        const key = this.#type(raw.key, `${at}.key`)
        const value = this.#type(raw.value, `${at}.value`)
        return { kind: 'mapping', key: keyTypeOf(key, at), keyLabel: key.label, value }
      }
      case 'dynamic_array':
        return { kind: 'array', item: this.#type(raw.base, `${at}.base`), length: undefined }
      case 'inplace':
        if (raw.members !== undefined) {
          const members = this.parseMembers(raw.members, `${at}.members`)
          this.#checkInside(members, bytes, at)
          return { kind: 'struct', members }
        }
        if (raw.base !== undefined) return this.#fixedArray(raw.base, label, bytes, at)
        if (raw.underlying === undefined) return { kind: 'value', type: valueTypeOf(label, bytes, at) }
        return { kind: 'value', type: underlyingType(raw.underlying, bytes, at) }
    }
    throw new LayoutError(`${at}.encoding: expected inplace, mapping, dynamic_array or bytes`)
  }

  #fixedArray(base: unknown, label: string, bytes: bigint, at: string): object {
    const digits = /\[([0-9]{1,78})\]$/.exec(label)?.[1]
    if (digits === undefined)
      throw new LayoutError(`${at}.label: expected the length of the array in brackets`)
    const item = this.#type(base, `${at}.base`)
    const length = BigInt(digits)
    if (arrayWords(item, length) * 32n !== bytes) {
      throw new LayoutError(`${at}.numberOfBytes: ${length} items of ${item.bytes} bytes take other space`)
    }
    return { kind: 'array', item, length }
  }

  #checkInside(members: readonly LayoutMember[], bytes: bigint, at: string): void {
    for (const [index, { slot, offset, type }] of members.entries()) {
      if (slot * 32n + BigInt(offset) + type.bytes > bytes) {
        throw new LayoutError(`${at}.members[${index}]: it ends beyond the struct`)
      }
    }
  }

  /** Throws LayoutError if a struct or fixed array contains itself directly, which would be infinite. */
  checkFinite(): void {
    const finite = new Set<LayoutType>()
    const open = new Set<LayoutType>()
    const check = (type: LayoutType): void => {
      if (finite.has(type)) return
      if (open.has(type)) throw new LayoutError(`types: ${type.label} contains itself`)
      open.add(type)
      if (type.kind === 'struct') for (const member of type.members) check(member.type)
      if (type.kind === 'array' && type.length !== undefined) check(type.item)
      open.delete(type)
      finite.add(type)
    }
    for (const type of this.#done.values()) check(type)
  }
}

/** Number of array items in one slot; 1 for items larger than a slot. */
export function itemsPerWord(item: LayoutType): bigint {
  return item.bytes > 32n ? 1n : 32n / item.bytes
}

/** Number of slots of one array item; 1 for items that share a slot. */
export function wordsPerItem(item: LayoutType): bigint {
  return (item.bytes + 31n) / 32n
}

/** Number of slots of `length` array items. */
export function arrayWords(item: LayoutType, length: bigint): bigint {
  const perWord = itemsPerWord(item)
  return perWord > 1n ? (length + perWord - 1n) / perWord : length * wordsPerItem(item)
}

const opaque: KeyType = { kind: 'word' }

function underlyingType(name: unknown, bytes: bigint, at: string): KeyType {
  const label = asText(name, `${at}.underlying`)
  const type = valueTypeOf(label, bytes, at)
  if (type === opaque) throw new LayoutError(`${at}.underlying: expected a value type such as uint128`)
  return type
}

function valueTypeOf(label: string, bytes: bigint, at: string): KeyType {
  if (bytes > 32n) throw new LayoutError(`${at}.numberOfBytes: a value has at most 32 bytes`)
  if (label.startsWith('contract ')) return { kind: 'address' }
  if (label.startsWith('enum ')) return { kind: 'integer', isSigned: false, bits: Number(bytes) * 8 }
  const type = parseKeyType(label)
  // A user-defined value type or a function: the label does not have its type, so only its bytes are known.
  if (type === undefined) return opaque
  if (type.kind === 'string' || type.kind === 'bytes' || widthOf(type) !== Number(bytes)) {
    throw new LayoutError(`${at}.numberOfBytes: ${label} does not have ${bytes} bytes`)
  }
  return type
}

function widthOf(type: KeyType): number {
  switch (type.kind) {
    case 'integer':
      return type.bits / 8
    case 'address':
      return 20
    case 'bool':
      return 1
    case 'fixedBytes':
      return type.bytes
    default:
      return 32
  }
}

function keyTypeOf(key: LayoutType, at: string): KeyType {
  if (key.kind === 'value') return key.type
  if (key.kind === 'content') return { kind: key.isText ? 'string' : 'bytes' }
  throw new LayoutError(`${at}.key: ${key.label} cannot be a key`)
}

function asObject(json: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof json === 'object' && json !== null && !Array.isArray(json))
    return json as Record<string, unknown>
  throw new LayoutError(`${where}: expected an object`)
}

function asText(json: unknown, where: string): string {
  if (typeof json === 'string' && json !== '') return json
  throw new LayoutError(`${where}: expected a text`)
}

/** solc writes integers that may be large as decimal strings. */
function asInteger(json: unknown, where: string): bigint {
  if (typeof json === 'string' && /^[0-9]{1,79}$/.test(json)) return BigInt(json)
  throw new LayoutError(`${where}: expected decimal digits in a text`)
}
