/**
 * Mapping keys as callers write them, and the slots of their entries. Owns the shape of the `keys` and `keyTypes`
 * parameters and the choice of thread; `state` owns the form of a key of each type.
 */

import {
  computeMappingSlots,
  type KeyType,
  keyTypesExpected,
  parseKeyType,
} from '../../../data/state/mappingKeys.js'
import { encodeMappingKeys, levelsMax, type WrittenKeys } from '../../../data/state/writtenKeys.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { excerpt, typeName } from '../../../primitives/jsonType.js'
import type { NetworkJobs } from '../../pool/jobs.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { Param } from '../method.js'
import { invalidArgument, list, required } from './params.js'
import { listSchema, textSchema } from './schema.js'

/** Maximum values in the keys of one call: 30 to 40 ms of work, spread over the pool. */
const mappingValuesMax = 10_000

/** Up to this number of values, slots are computed at once: passing 32 to the pool takes as long. */
const inlineValuesMax = 32

/** Keys of one job: about 10 ms, so that several threads share a large call, and other jobs wait only briefly. */
const keysPerJob = 3_000

/** Bytes that one round of Keccak-256 absorbs. */
const roundBytes = 136

/** A list of keys. Each is decoded when its slot is computed. */
export const mappingKeys: Param<WrittenKeys> = required(
  (value, index) => {
    const keys = list('keys').decode(value, index)
    if (keys.length > mappingValuesMax) {
      throw invalidArgument(index, `want at most ${mappingValuesMax} keys, got ${keys.length}`)
    }
    let values = 0
    for (const key of keys) {
      values += countValues(key)
      if (values > mappingValuesMax) {
        throw invalidArgument(
          index,
          `want at most ${mappingValuesMax} values in all keys (${roundBytes} characters of a long one count as one)`,
        )
      }
    }
    return keys
  },
  { type: 'array', title: 'mapping keys', maxItems: mappingValuesMax },
)

/** Number of values in keys, also used for prices; long texts count more. */
export function countKeyValues(keys: WrittenKeys): number {
  let values = 0
  for (const key of keys) values += countValues(key)
  return values
}

function countValues(key: unknown): number {
  if (typeof key === 'string') return 1 + Math.floor(key.length / roundBytes)
  // A list that is too long to be a key is refused later; its items are not counted.
  if (!Array.isArray(key) || key.length > levelsMax) return 1
  return key.reduce((values: number, value) => values + (Array.isArray(value) ? 1 : countValues(value)), 0)
}

/** The Solidity type of the keys: a name, or a list of names for nested mappings, outermost first. */
export const keyTypes: Param<readonly KeyType[]> = required(
  (value, index) => {
    const names: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (names.length === 0)
      throw invalidArgument(index, 'want a key type or a list of them, got an empty list')
    return names.map((name) => {
      if (typeof name !== 'string') throw invalidArgument(index, `want a key type, got ${typeName(name)}`)
      const type = parseKeyType(name)
      if (type !== undefined) return type
      const shown = JSON.stringify(excerpt(name, 40))
      throw invalidArgument(index, `unknown key type ${shown}, want ${keyTypesExpected}`)
    })
  },
  { anyOf: [textSchema, listSchema(textSchema)] },
)

/** Keys between two checks whether the caller still waits: a millisecond of work. */
export const keysPerLook = 128

/** Indexes of the keys at which to check. Throws RequestTimedOut when the caller has left. */
export function* inLooks(keys: WrittenKeys, context: RequestContext): Generator<number, void> {
  for (let at = 0; at < keys.length; at += keysPerLook) {
    if (context.isFinished) throw new FaultError({ kind: 'RequestTimedOut' })
    yield at
  }
}

interface MappingEntries {
  readonly slot: Hash32
  readonly keys: WrittenKeys
  readonly types: readonly KeyType[] | undefined
  /** Index of the argument with the keys, for faults. */
  readonly argument: number
}

/**
 * Slots of entries, 32 bytes each, concatenated. A few are computed at once, many by jobs on several threads. Jobs get
 * the keys as written: passing 10,000 takes 1.5 ms, encoding them 10 to 80 ms. Throws, or rejects with, FaultError that
 * names the invalid key.
 */
export function mappingSlots(
  jobs: NetworkJobs,
  { slot, keys, types, argument }: MappingEntries,
  context: RequestContext,
): Uint8Array | Promise<Uint8Array> {
  if (countKeyValues(keys) <= inlineValuesMax) {
    const slots = new Uint8Array(keys.length * 32)
    for (const before of inLooks(keys, context)) {
      const some = encodeMappingKeys(keys.slice(before, before + keysPerLook), { types, argument, before })
      slots.set(computeMappingSlots({ slot, keys: some }), before * 32)
    }
    return slots
  }
  const parts: Promise<Uint8Array>[] = []
  for (let before = 0; before < keys.length; before += keysPerJob) {
    const keysJson = Buffer.from(JSON.stringify(keys.slice(before, before + keysPerJob)))
    parts.push(jobs.run('mappingSlots', { slot, keysJson, types, argument, before }, context))
  }
  return Promise.all(parts).then((slots) => Buffer.concat(slots))
}
