/**
 * Reads variables by name: finds the slots of a path in a storage layout, and decodes their words (Solidity, "Layout
 * of State Variables in Storage"). Owns positions and decoding; slots are read through the caller.
 */
import {
  bytesToBigInt,
  bytesToHex,
  type Hash32,
  hexDigits,
  hexToBytes,
  padLeft,
  toHash32,
} from '../../primitives/bytes.js'
import { keccak256 } from '../../primitives/keccak.js'
import { nearest } from '../../primitives/nearest.js'
import { encodeKey, KeyError, mappingSlot } from './mappingKeys.js'
import {
  type ArrayType,
  arrayWords,
  type ContentType,
  itemsPerWord,
  type LayoutMember,
  type LayoutType,
  type MappingType,
  type StorageLayout,
  type ValueType,
  wordsPerItem,
} from './storageLayout.js'
import { brief, type KeyStep, type MemberStep, parseVariablePath, VariableError } from './variablePath.js'

/** Reads a slot: its value without leading zeros; undefined for zero. */
export type SlotReader = (slot: Hash32) => Uint8Array | undefined

export interface VariableReading {
  /** The type's name in Solidity. */
  readonly type: string
  /** Slot at which the variable begins. */
  readonly slot: Hash32
  /** Byte offset from the right end of that slot. */
  readonly offset: number
  /** Every word that the value was decoded from, 32 bytes each, in the order of reading. */
  readonly words: readonly { readonly slot: Hash32; readonly word: Uint8Array }[]
  /**
   * The decoded value as JSON.
   *
   * - Integers and enums are decimal strings, because JSON numbers lose digits beyond 2^53.
   * - Booleans are booleans. Addresses, contracts, `bytes` and `bytesN` are hex.
   * - Structs are objects by member, arrays are lists. A mapping inside them is null, because storage does not have its
   *   keys.
   * - A user-defined value type or a function is hex if the layout does not have its type.
   * - In a string, bytes that are not UTF-8 become U+FFFD.
   */
  readonly valueJson: string
}

/** Most words of one reading, as many as the keys of one proof: 32 KB of content, or 1,024 items. */
const wordsMax = 1_024

/** Reads the variable at `path`. Throws VariableError for a path to nothing, or to more than {@link wordsMax} words. */
export function readVariable(layout: StorageLayout, path: string, readSlot: SlotReader): VariableReading {
  const location = locate(layout, path, new WordReader(readSlot))
  if (location.type.kind === 'mapping' && !location.isLength) {
    throw new VariableError(
      `${brief(location.path)} is a mapping; name an entry by its key (${location.type.keyLabel}), as in ${brief(location.path)}[…]`,
    )
  }
  const reader = new WordReader(readSlot)
  const valueJson = location.isLength ? `"${readLength(location, reader)}"` : decode(location, reader)
  return {
    type: location.isLength ? 'uint256' : location.type.label,
    slot: slotBytes(location.slot),
    offset: location.offset,
    words: Array.from(reader.words, ([slot, word]) => ({ slot: slotBytes(slot), word })),
    valueJson,
  }
}

/** A variable, member, item or entry in storage. */
interface StorageLocation {
  readonly type: LayoutType
  readonly slot: bigint
  readonly offset: number
  /** Path of the store, for error messages. */
  readonly path: string
  /** Set if the path refers to the length of the variable. */
  readonly isLength?: true
}

class WordReader {
  /** Slot → word, in the order of first reading. */
  readonly words = new Map<bigint, Uint8Array>()
  #left = wordsMax

  constructor(readonly readSlot: SlotReader) {}

  read(slot: bigint): Uint8Array {
    const known = this.words.get(slot)
    if (known !== undefined) return known
    const word = padLeft(this.readSlot(slotBytes(slot)) ?? new Uint8Array(0), 32)
    this.words.set(slot, word)
    return word
  }

  /** Counts `count` words before they are read. Throws VariableError if there are too many. */
  reserve(count: bigint, { path, type }: StorageLocation): void {
    if (count > BigInt(this.#left)) {
      const hint = type.kind === 'array' ? `; name single items, as in ${brief(path)}[0]` : ''
      throw new VariableError(
        `${brief(path)} takes ${count} words, at most ${wordsMax} are read at once${hint}`,
      )
    }
    this.#left -= Number(count)
  }
}

function slotBytes(slot: bigint): Hash32 {
  return toHash32(hexToBytes(slot.toString(16).padStart(64, '0')))
}

/** Slots are counted modulo 2^256, as Solidity does. */
function addSlots(slot: bigint, words: bigint): bigint {
  return BigInt.asUintN(256, slot + words)
}

/** First slot of the items of a dynamic array, or of long content. */
function contentSlot(slot: bigint): bigint {
  return bytesToBigInt(keccak256(slotBytes(slot)))
}

function locate(layout: StorageLayout, path: string, reader: WordReader): StorageLocation {
  const [first, ...steps] = parseVariablePath(path)
  // A contract may hide a private variable of a base contract with one of the same name; the contract's own is the
  // last.
  const variable = layout.variables.findLast(({ name }) => name === first.name)
  if (variable === undefined) {
    const hint = suggest(first.name, layout.variables, 'the variables are', 'the contract has none')
    throw new VariableError(`there is no variable ${brief(first.name)}; ${hint}`)
  }
  let location: StorageLocation = { ...variable, path: first.path }
  for (const step of steps) {
    if (location.isLength) throw new VariableError(`${brief(location.path)} is a number; nothing follows it`)
    location = step.kind === 'member' ? locateMember(location, step) : locateKey(location, step, reader)
  }
  return location
}

function locateMember(location: StorageLocation, { name, path }: MemberStep): StorageLocation {
  const { type } = location
  const here = brief(location.path)
  if (type.kind === 'struct') {
    const member = type.members.find((each) => each.name === name)
    if (member === undefined) {
      const hint = suggest(name, type.members, 'its members are', 'it has none')
      throw new VariableError(`${here} (${type.label}) has no member ${brief(name)}; ${hint}`)
    }
    const { slot, offset, type: memberType } = member
    return { type: memberType, slot: addSlots(location.slot, slot), offset, path }
  }
  if (name === 'length' && (type.kind === 'content' || type.kind === 'array')) {
    if (type.kind === 'content' || type.length === undefined) return { ...location, path, isLength: true }
    throw new VariableError(
      `${here} (${type.label}) always has ${type.length} items; its length is not stored`,
    )
  }
  const hint =
    type.kind === 'mapping'
      ? `it is a mapping, so a key (${type.keyLabel}) comes first, as in ${here}[…].${brief(name)}`
      : type.kind === 'array'
        ? `it is an array, so an index comes first, as in ${here}[0]`
        : 'the path ends there'
  throw new VariableError(`${here} (${type.label}) has no members; ${hint}`)
}

function locateKey(location: StorageLocation, step: KeyStep, reader: WordReader): StorageLocation {
  const { type } = location
  if (type.kind === 'mapping') return locateEntry(location, type, step)
  if (type.kind === 'array') return locateItem(location, type, step, reader)
  const here = brief(location.path)
  const hint =
    type.kind === 'struct'
      ? suggest(step.key, type.members, 'name a member after a dot:', 'it has no members')
      : 'the path ends there'
  throw new VariableError(`${here} (${type.label}) has no entries; ${hint}`)
}

function locateEntry(
  location: StorageLocation,
  type: MappingType,
  { key, isQuoted, path }: KeyStep,
): StorageLocation {
  const here = brief(location.path)
  if ((type.key.kind === 'string') !== isQuoted) {
    throw new VariableError(
      isQuoted
        ? `the keys of ${here} are of type ${type.keyLabel}; write them without quotes`
        : `the keys of ${here} are texts; write them in double quotes, as in ${here}["…"]`,
    )
  }
  try {
    // Digits are a number, even if the layout does not have the type of the key.
    const isNumber = type.key.kind === 'word' && /^[0-9]+$/.test(key)
    const bytes = encodeKey(isNumber ? { kind: 'integer', isSigned: false, bits: 256 } : type.key, key)
    const slot = bytesToBigInt(mappingSlot(slotBytes(location.slot), [bytes]))
    return { type: type.value, slot, offset: 0, path }
  } catch (error) {
    if (!(error instanceof KeyError)) throw error
    throw new VariableError(`the keys of ${here} are of type ${type.keyLabel}: ${error.message}`)
  }
}

function locateItem(
  location: StorageLocation,
  type: ArrayType,
  { key, isQuoted, path }: KeyStep,
  reader: WordReader,
): StorageLocation {
  const here = brief(location.path)
  const isIndex = !isQuoted && /^([0-9]{1,78}|0[xX][0-9a-fA-F]{1,64})$/.test(key)
  if (!isIndex) {
    throw new VariableError(`${here} (${type.label}) is an array; want an index from 0, got ${brief(key)}`)
  }
  const index = BigInt(key)
  const length = type.length ?? bytesToBigInt(reader.read(location.slot))
  if (index >= length) {
    const when = type.length === undefined ? ' after this block' : ''
    const items =
      length === 0n
        ? `no items${when}`
        : length === 1n
          ? `one item${when}, [0]`
          : `the items [0] to [${length - 1n}]${when}`
    throw new VariableError(`${here} (${type.label}) has ${items}; there is no [${index}]`)
  }
  return itemAt(location, type, index, path)
}

function itemAt(
  location: StorageLocation,
  { item, length }: ArrayType,
  index: bigint,
  path: string,
): StorageLocation {
  const first = length === undefined ? contentSlot(location.slot) : location.slot
  const perWord = itemsPerWord(item)
  if (perWord === 1n)
    return { type: item, slot: addSlots(first, index * wordsPerItem(item)), offset: 0, path }
  const offset = Number((index % perWord) * item.bytes)
  return { type: item, slot: addSlots(first, index / perWord), offset, path }
}

/** Most names that an error message lists. */
const namesMax = 20

function suggest(name: string, members: readonly LayoutMember[], some: string, none: string): string {
  const names = members.map((member) => member.name)
  if (names.length === 0) return none
  const near = nearest(name, names)
  if (near !== undefined) return `did you mean ${near}?`
  return `${some} ${names.slice(0, namesMax).join(', ')}${names.length > namesMax ? ' and others' : ''}`
}

function decode(location: StorageLocation, reader: WordReader): string {
  const { type, slot } = location
  switch (type.kind) {
    case 'value':
      return decodeValue(type, reader.read(slot), location.offset)
    case 'content':
      return decodeContent(location, type, reader)
    case 'mapping':
      return 'null'
    case 'array':
      return decodeArray(location, type, reader)
    case 'struct': {
      const members = type.members.map((member) => {
        const path = `${location.path}.${member.name}`
        const at: StorageLocation = { ...member, slot: addSlots(slot, member.slot), path }
        return `${JSON.stringify(member.name)}:${decode(at, reader)}`
      })
      return `{${members.join(',')}}`
    }
  }
}

function decodeValue({ type, bytes }: ValueType, word: Uint8Array, offset: number): string {
  const end = 32 - offset
  const own = word.subarray(end - Number(bytes), end)
  switch (type.kind) {
    case 'integer': {
      const value = bytesToBigInt(own)
      return `"${type.isSigned ? BigInt.asIntN(type.bits, value) : value}"`
    }
    case 'bool':
      return String(own[0] !== 0)
    default:
      return `"${bytesToHex(own)}"`
  }
}

function readLength({ slot, type, path }: StorageLocation, reader: WordReader): bigint {
  const word = reader.read(slot)
  if (type.kind !== 'content') return bytesToBigInt(word)
  const last = word[31] as number
  // Short content is in the slot itself, with twice its length in the last byte. For long content the slot has twice
  // its length plus one. Anything else was not written as this type.
  const isShort = (last & 1) === 0
  const length = isShort ? BigInt(last >> 1) : bytesToBigInt(word) >> 1n
  if (isShort !== length < 32n) {
    throw new VariableError(
      `the slot of ${brief(path)} holds no ${type.label} as Solidity stores it; does the layout fit the contract?`,
    )
  }
  return length
}

function decodeContent(location: StorageLocation, { isText }: ContentType, reader: WordReader): string {
  const length = readLength(location, reader)
  const words = (length + 31n) / 32n
  let content: Uint8Array
  if (length < 32n) {
    content = reader.read(location.slot).subarray(0, Number(length))
  } else {
    reader.reserve(words, location)
    const first = contentSlot(location.slot)
    content = new Uint8Array(Number(words) * 32)
    for (let i = 0; i < words; i++) content.set(reader.read(addSlots(first, BigInt(i))), i * 32)
    content = content.subarray(0, Number(length))
  }
  return isText ? JSON.stringify(new TextDecoder().decode(content)) : `"0x${hexDigits(content)}"`
}

function decodeArray(location: StorageLocation, type: ArrayType, reader: WordReader): string {
  const length = type.length ?? readLength(location, reader)
  reader.reserve(arrayWords(type.item, length), location)
  const items: string[] = []
  for (let index = 0n; index < length; index++) {
    items.push(decode(itemAt(location, type, index, `${location.path}[${index}]`), reader))
  }
  return `[${items.join(',')}]`
}
