/**
 * Keys of mappings as callers write them, and the slots of their entries. Owns the shape of the `keys` and
 * `keyTypes` parameters and the choice of thread; what a key of some type looks like is the business of `state`.
 */
import type { NetworkJobs } from '../pool/jobs.js'
import type { Hash32 } from '../primitives/bytes.js'
import { encodeKey, KeyError, type KeyType, keyTypesExpected, parseKeyType } from '../state/mappingKeys.js'
import { computeMappingSlots, type MappingPath } from '../state/mappingSlots.js'
import type { Caller } from './caller.js'
import type { Param } from './method.js'
import { invalidArgument, required, typeName } from './params.js'

/**
 * Values in the keys of one call, a long text as one for each round of Keccak-256 that it takes: 20 ms of work spread
 * over the pool, after 10 to 18 ms of the edge's CPU to make bytes of them (beside other loads).
 */
const mappingValuesMax = 10_000

/** Mappings in mappings; nobody nests deeper, and a call's work stays in proportion to its keys. */
const levelsMax = 16

/**
 * Rounds of Keccak-256 up to which slots are computed on the calling thread. Measured with bench/handOver.ts, µs
 * from call to result, in brackets CPU of the calling thread: 32 keys cost 77 (65) here and 268 (108) by the pool,
 * 64 keys 150 (128) and 341 (146), 128 keys 297 (200) and 573 (165). Up to 64 a hand-over costs the calling thread
 * more than the work, which holds others up for 0.15 ms.
 */
const inlineRoundsMax = 64

/** Keys of one job: about 6 ms, so that several threads share a large call and none keeps others waiting. */
const keysPerJob = 3_000

/** Bytes that one round of Keccak-256 absorbs. */
const roundBytes = 136

/** Each key is a value, or a list of values for mappings in mappings, outermost first. */
export type WrittenKeys = readonly unknown[]

/** A list of keys. Each is decoded with its type, by {@link encodeMappingKeys}. */
export const mappingKeys: Param<WrittenKeys> = required((value, index) => {
  if (!Array.isArray(value)) throw invalidArgument(index, `want an array of keys, got ${typeName(value)}`)
  if (value.length > mappingValuesMax) {
    throw invalidArgument(index, `want at most ${mappingValuesMax} keys, got ${value.length}`)
  }
  let values = 0
  for (const key of value) {
    values += countValues(key)
    if (values > mappingValuesMax) {
      throw invalidArgument(
        index,
        `want at most ${mappingValuesMax} values in all keys (${roundBytes} characters of a long one count as one)`,
      )
    }
  }
  return value
})

/** What keys count for, in prices too: one for each value, more for long texts. */
export function countKeyValues(keys: WrittenKeys): number {
  let values = 0
  for (const key of keys) values += countValues(key)
  return values
}

function countValues(key: unknown): number {
  if (typeof key === 'string') return 1 + Math.floor(key.length / roundBytes)
  // A list that is too long to be a key is refused later, and not looked through before.
  if (!Array.isArray(key) || key.length > levelsMax) return 1
  return key.reduce((values: number, value) => values + (Array.isArray(value) ? 1 : countValues(value)), 0)
}

/** The Solidity type of the keys: a name, or a list of names for mappings in mappings, outermost first. */
export const keyTypes: Param<readonly KeyType[]> = required((value, index) => {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (names.length === 0) throw invalidArgument(index, 'want a key type or a list of them, got an empty list')
  return names.map((name) => {
    if (typeof name !== 'string') throw invalidArgument(index, `want a key type, got ${typeName(name)}`)
    const type = parseKeyType(name)
    if (type !== undefined) return type
    const shown = JSON.stringify(name.slice(0, 40))
    throw invalidArgument(index, `unknown key type ${shown}, want ${keyTypesExpected}`)
  })
})

const word: KeyType = { kind: 'word' }

/**
 * Keys as bytes to be hashed. Without `types` each value is padded on the left. `index` is the argument that holds
 * the keys. Throws FaultError that names the key.
 */
export function encodeMappingKeys(
  keys: WrittenKeys,
  types: readonly KeyType[] | undefined,
  index: number,
): MappingPath[] {
  return keys.map((key, at) => {
    const values: readonly unknown[] = Array.isArray(key) ? key : [key]
    if (types !== undefined && values.length !== types.length) {
      throw invalidArgument(
        index,
        `keys[${at}]: want ${types.length} values, one for each key type, got ${values.length}`,
      )
    }
    if (values.length === 0 || values.length > levelsMax) {
      throw invalidArgument(index, `keys[${at}]: want 1 to ${levelsMax} values, got ${values.length}`)
    }
    return values.map((value, level) => {
      try {
        return encodeKey(types?.[level] ?? word, value)
      } catch (error) {
        if (!(error instanceof KeyError)) throw error
        const place = Array.isArray(key) ? `keys[${at}][${level}]` : `keys[${at}]`
        throw invalidArgument(index, `${place}: ${error.message}`)
      }
    })
  })
}

/** Slots of entries, 32 bytes each, one after another: at once for few, by jobs on several threads for many. */
export function mappingSlots(
  jobs: NetworkJobs,
  slot: Hash32,
  keys: readonly MappingPath[],
  caller: Caller,
): Uint8Array | Promise<Uint8Array> {
  if (countRounds(keys) <= inlineRoundsMax) return computeMappingSlots({ slot, keys })
  const parts: Promise<Uint8Array>[] = []
  for (let start = 0; start < keys.length; start += keysPerJob) {
    parts.push(jobs.run('mappingSlots', { slot, keys: keys.slice(start, start + keysPerJob) }, caller))
  }
  return Promise.all(parts).then((slots) => Buffer.concat(slots))
}

function countRounds(keys: readonly MappingPath[]): number {
  let rounds = 0
  for (const path of keys) {
    for (const key of path) rounds += 1 + Math.floor((key.length + 32) / roundBytes)
  }
  return rounds
}
