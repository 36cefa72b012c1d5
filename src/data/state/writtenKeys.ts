/**
 * Lists of mapping keys as written by callers, and the slots of their entries. Owns the shape of a list and its faults;
 * mappingKeys.ts owns the form of a single value.
 */
import { FaultError } from '../../primitives/faults.js'
import { computeMappingSlots, encodeKey, KeyError, type KeyType, type MappingPath } from './mappingKeys.js'

/** Each key is a value, or a list of values for nested mappings, outermost first. */
export type WrittenKeys = readonly unknown[]

/** Deepest nesting of mappings: more than contracts use, and it bounds the work per key. */
export const levelsMax = 16

/** All keys of a call, or a consecutive part of them. */
export interface WrittenSlotsRequest {
  /** Slot of the outermost mapping, 32 bytes. */
  readonly slot: Uint8Array
  /** {@link WrittenKeys} as JSON in UTF-8, which, unlike msgpack, preserves half a surrogate pair. */
  readonly keysJson: Uint8Array
  /** One type per level; if undefined, values are padded on the left. */
  readonly types: readonly KeyType[] | undefined
  /** For faults: index of the argument with the keys, and number of its keys before these. */
  readonly argument: number
  readonly before: number
}

/** Like {@link computeMappingSlots}, but for written keys. Throws FaultError that names the invalid key. */
export function computeWrittenSlots(request: WrittenSlotsRequest): Uint8Array<ArrayBuffer> {
  const keys: WrittenKeys = JSON.parse(Buffer.from(request.keysJson).toString())
  return computeMappingSlots({ slot: request.slot, keys: encodeMappingKeys(keys, request) })
}

/** Encodes keys to the bytes that are hashed. Throws FaultError that names the invalid key. */
export function encodeMappingKeys(
  keys: WrittenKeys,
  { types, argument, before }: Pick<WrittenSlotsRequest, 'types' | 'argument' | 'before'>,
): MappingPath[] {
  return keys.map((key, index) => {
    const at = before + index
    const values: readonly unknown[] = Array.isArray(key) ? key : [key]
    if (types !== undefined && values.length !== types.length) {
      throw misfit(
        argument,
        `keys[${at}]: want ${types.length} values, one for each key type, got ${values.length}`,
      )
    }
    if (values.length === 0 || values.length > levelsMax) {
      throw misfit(argument, `keys[${at}]: want 1 to ${levelsMax} values, got ${values.length}`)
    }
    return values.map((value, level) => {
      try {
        return encodeKey(types?.[level] ?? word, value)
      } catch (error) {
        if (!(error instanceof KeyError)) throw error
        const place = Array.isArray(key) ? `keys[${at}][${level}]` : `keys[${at}]`
        throw misfit(argument, `${place}: ${error.message}`)
      }
    })
  })
}

const word: KeyType = { kind: 'word' }

function misfit(index: number, why: string): FaultError {
  return new FaultError({ kind: 'InvalidArgument', index, why })
}
