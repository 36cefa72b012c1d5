import type { LogCriteria } from '../../../data/chain/logFilter.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import { typeName } from '../../../primitives/jsonType.js'
import { address, hash32, invalidArgument } from '../params/params.js'
import { listSchema, nullable, type Schema } from '../params/schema.js'

/** Maximum addresses and topics of one filter, alternatives included: go-ethereum's limit. */
const alternativesMax = 1_000

/** Maximum topics of a log (LOG4). */
const topicsMax = 4

/** The members `address` and `topics` of a log filter, for documents. */
export const logCriteriaSchemas: Readonly<Record<string, Schema>> = {
  address: oneOrList(address.schema),
  topics: nullable({ ...listSchema(oneOrList(hash32.schema)), maxItems: topicsMax }),
}

/** One value, null, or a list; a null in a list matches anything. */
function oneOrList(schema: Schema): Schema {
  return nullable({ anyOf: [schema, listSchema(nullable(schema))] })
}

/**
 * The members `address` (one or a list) and `topics` (at each position null, a topic, or a list of them) of a log
 * filter. As in go-ethereum, an empty list, and a list with null, match anything. `requireRoom` is called with the
 * number of addresses and topics before they are decoded, and may throw.
 */
export function decodeLogCriteria(
  rawAddress: unknown,
  rawTopics: unknown,
  index: number,
  requireRoom: (keys: number) => void,
): LogCriteria {
  const addresses = toList(rawAddress)
  const positions = rawTopics ?? []
  if (!Array.isArray(positions)) {
    throw invalidArgument(index, `topics: want an array, got ${typeName(positions)}`)
  }
  if (positions.length > topicsMax) {
    throw invalidArgument(index, `topics: want at most ${topicsMax} positions, got ${positions.length}`)
  }
  const topics = positions.map(toList)
  const count = countLogKeys(rawAddress, rawTopics)
  if (count > alternativesMax) {
    throw invalidArgument(index, `too many addresses and topics (max ${alternativesMax}, got ${count})`)
  }
  requireRoom(count)
  return {
    addresses: addresses.map((each) => address.decode(each, index)),
    topics: topics.map((alternatives) => decodeTopics(alternatives, index)),
  }
}

export function countLogKeys(rawAddress: unknown, rawTopics: unknown): number {
  const positions = Array.isArray(rawTopics) ? rawTopics : []
  return positions.reduce((sum, each) => sum + toList(each).length, toList(rawAddress).length)
}

function toList(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

function decodeTopics(alternatives: readonly unknown[], index: number): readonly Hash32[] {
  const topics = alternatives.filter((each) => each !== null).map((each) => hash32.decode(each, index))
  return topics.length < alternatives.length ? [] : topics
}
