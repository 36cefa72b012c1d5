/**
 * Execution blocks in blocks of the consensus layer, from Bellatrix to Fulu, as the Beacon API has them in JSON
 * (ethereum/beacon-APIs, getBlockV2). From Gloas on payloads are not in beacon blocks.
 */
import { type ForkSchedule, includesFork } from '../../../data/chain/forks.js'
import { type Hash32, joinBytes, toQuantity } from '../../../primitives/bytes.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import { isObject } from '../../../primitives/jsonType.js'
import type { Block } from '../blocks/block.js'
import { LieError } from '../nodes/lie.js'
import { EngineError } from './engineError.js'
import {
  type Json,
  readBytes,
  readHash,
  readList,
  readObject,
  readOptional,
  readQuantity,
} from './engineFields.js'
import { blockOfPayload, type Payload, type PayloadExtras, readPayload } from './payload.js'

export interface BeaconPayload {
  /** Its hash is that of its content. */
  readonly block: Block
  /** Root of the beacon block before, whose payload is the parent. */
  readonly parentRoot: Hash32
}

/** A number of at most 256 bits. */
const decimalPattern = /^(0|[1-9]\d{0,77})$/

const uint64 = 'uint64'
type Field = readonly [name: string, bytes: number | typeof uint64]
/** Execution requests by their types (EIP-7685), which are the indices, with the members of each (EIP-6110, 7002, 7251). */
const requestKinds: readonly (readonly [list: string, fields: readonly Field[]])[] = [
  [
    'deposits',
    [
      ['pubkey', 48],
      ['withdrawal_credentials', 32],
      ['amount', uint64],
      ['signature', 96],
      ['index', uint64],
    ],
  ],
  [
    'withdrawals',
    [
      ['source_address', 20],
      ['validator_pubkey', 48],
      ['amount', uint64],
    ],
  ],
  [
    'consolidations',
    [
      ['source_address', 20],
      ['source_pubkey', 48],
      ['target_pubkey', 48],
    ],
  ],
]

/**
 * The payload of a beacon block, `data` of the answer; undefined for a block without one. Throws LieError for a
 * malformed block, and for a payload with another hash than it says.
 */
export function readBeaconPayload(data: unknown, schedule: ForkSchedule): BeaconPayload | undefined {
  try {
    const message = readObject(readObject(data, 'data').message, 'message')
    const body = readObject(message.body, 'body')
    if (!isObject(body.execution_payload)) return undefined
    const payload = readPayload(engineForm(body.execution_payload, 'execution_payload'))
    // In Bellatrix before the Merge it is empty.
    if (payload.blockHash.every((byte) => byte === 0)) return undefined
    const parentRoot = readHash(message.parent_root, 'parent_root')
    return { block: blockOf(payload, body, parentRoot, schedule), parentRoot }
  } catch (error) {
    if (error instanceof EngineError) throw new LieError(`a beacon block that is malformed: ${error.why}`)
    if (error instanceof InvalidBlockError)
      throw new LieError(`a beacon block with a wrong payload: ${error.message}`)
    throw error
  }
}

function blockOf(payload: Payload, body: Json, parentRoot: Hash32, schedule: ForkSchedule): Block {
  const { number, timestamp } = payload.fields
  const fork = schedule.forkAt(Number(number), timestamp, true)
  const extras: PayloadExtras = {
    parentBeaconBlockRoot: includesFork(fork, 'cancun') ? parentRoot : undefined,
    versionedHashes: 'any',
    requests: readOptional(body.execution_requests, 'execution_requests', readRequests),
  }
  return blockOfPayload(payload, extras, fork, schedule.config.chainId)
}

/** Names of the Beacon API have underscores, and its numbers are decimal. */
function engineForm(value: unknown, name: string): Json {
  const members = Object.entries(readObject(value, name)).map(([key, member]) => [
    key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    memberForm(key, member),
  ])
  return Object.fromEntries(members)
}

function memberForm(name: string, value: unknown): unknown {
  if (typeof value === 'string' && decimalPattern.test(value)) return toQuantity(BigInt(value))
  return name === 'withdrawals' ? readList(value, name, engineForm) : value
}

/** EIP-7685: a type without requests is left out. */
function readRequests(value: unknown, name: string): Uint8Array[] {
  const json = readObject(value, name)
  return requestKinds.flatMap(([list, fields], type) => {
    const requests = readList(json[list], `${name}.${list}`, (each, place) =>
      readRequest(each, place, fields),
    )
    return requests.length === 0 ? [] : [joinBytes([Uint8Array.of(type), ...requests])]
  })
}

/** SSZ of a request, all of whose members have a fixed length. */
function readRequest(value: unknown, name: string, fields: readonly Field[]): Uint8Array {
  const json = readObject(value, name)
  return joinBytes(
    fields.map(([member, bytes]) =>
      bytes === uint64
        ? littleEndian(json[member], `${name}.${member}`)
        : readBytes(json[member], `${name}.${member}`, bytes),
    ),
  )
}

function littleEndian(value: unknown, name: string): Uint8Array {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(readQuantity(memberForm(name, value), name))
  return bytes
}
