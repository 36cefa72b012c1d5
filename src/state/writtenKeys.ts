/**
 * Keys of mappings as callers write them, and the slots of the entries that they lead to. Owns the shape of a list of
 * keys and what is said of one that does not fit; what a single value may look like is the business of mappingKeys.ts.
 */
import { FaultError } from '../primitives/faults.js'
import { encodeKey, KeyError, type KeyType } from './mappingKeys.js'
import { computeMappingSlots, type MappingPath } from './mappingSlots.js'

/** Each key is a value, or a list of values for mappings in mappings, outermost first. */
export type WrittenKeys = readonly unknown[]

/** Mappings in mappings; nobody nests deeper, and a call's work stays in proportion to its keys. */
export const levelsMax = 16

/** Keys of a call, or some of them that follow each other. */
export interface WrittenSlotsRequest {
  /** The slot at which the outermost mapping stands, 32 bytes. */
  readonly slot: Uint8Array
  /** {@link WrittenKeys} as JSON in UTF-8, which keeps what other encodings change: half a surrogate pair. */
  readonly keysJson: Uint8Array
  /** One for each level; undefined for values that are padded on the left. */
  readonly types: readonly KeyType[] | undefined
  /** For faults: which argument of the call the keys are, and how many of them come before these. */
  readonly argument: number
  readonly before: number
}

/** As {@link computeMappingSlots}. Throws FaultError that names the key which does not fit. */
export function computeWrittenSlots(request: WrittenSlotsRequest): Uint8Array<ArrayBuffer> {
  const keys: WrittenKeys = JSON.parse(Buffer.from(request.keysJson).toString())
  return computeMappingSlots({ slot: request.slot, keys: encodeMappingKeys(keys, request) })
}

/** Keys as bytes to be hashed. Throws FaultError that names the key which does not fit. */
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
