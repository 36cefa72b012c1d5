/** Beacon blocks around execution payloads, as the Beacon API sends them in JSON, and what beacon nodes answer about them. */
import { createHash } from 'node:crypto'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.js'
import type { BeaconAnswers, Found } from './beaconServer.js'

type Json = Readonly<Record<string, unknown>>

/** An execution block as it is given over the Engine API. */
export interface GivenPayload {
  /** ExecutionPayload of the Engine API. */
  readonly payload: Json
  /** From Cancun on. */
  readonly parentRoot?: string | undefined
  /** EIP-7685, from Prague on. */
  readonly requests?: readonly string[] | undefined
}

interface BeaconBlock {
  readonly root: string
  /** `data` of an answer. */
  readonly data: Json
}

/** Members of a payload that are decimal in beacon blocks, by their names there. */
const quantities: ReadonlySet<string> = new Set([
  'block_number',
  'gas_limit',
  'gas_used',
  'timestamp',
  'base_fee_per_gas',
  'blob_gas_used',
  'excess_blob_gas',
  'index',
  'validator_index',
  'amount',
])

const hex = (byte: string, length: number) => `0x${byte.repeat(length)}`

/** Slots of 12 s; each slot of the payloads has a block. */
export class BeaconChain implements BeaconAnswers {
  readonly blocks: readonly BeaconBlock[]
  /** Changes what is sent for a block; undefined: the node does not have it. */
  change: (data: Json, index: number) => unknown = (data) => data
  /** Blocks below the newest one at which the node's head is. */
  headBack = 0

  constructor(given: readonly GivenPayload[]) {
    const roots = given.map(({ payload }, index) => given[index + 1]?.parentRoot ?? rootOf(payload.blockHash))
    this.blocks = given.map((each, index) => {
      const parentRoot = each.parentRoot ?? roots[index - 1] ?? hex('9e', 32)
      return { root: roots[index] as string, data: signedBlock(each, parentRoot, index + 1) }
    })
  }

  find(name: string): Found {
    const id = name.split('/').at(-1)
    switch (name.replace(/[^/]*$/, '')) {
      case '/eth/v1/beacon/':
        return { plain: { genesis_time: '1735689600', genesis_validators_root: hex('aa', 32) } }
      case '/eth/v1/beacon/headers/': {
        const head = this.blocks.at(-1 - this.headBack)
        return id === 'head' && head ? { plain: { root: head.root, canonical: true, header: {} } } : undefined
      }
      case '/eth/v2/beacon/blocks/': {
        const index = this.blocks.findIndex(({ root }) => root === id)
        const data = index < 0 ? undefined : this.change(this.blocks[index]?.data as Json, index)
        return data === undefined ? undefined : { plain: data }
      }
      default:
        return undefined
    }
  }
}

function rootOf(blockHash: unknown): string {
  return `0x${createHash('sha256').update(String(blockHash)).digest('hex')}`
}

/** SignedBeaconBlock of the fork that has these parts. */
function signedBlock({ payload, requests }: GivenPayload, parentRoot: string, slot: number): Json {
  const isPrague = requests !== undefined
  const body = {
    randao_reveal: hex('a1', 96),
    eth1_data: { deposit_root: hex('00', 32), deposit_count: '0', block_hash: hex('00', 32) },
    graffiti: hex('00', 32),
    proposer_slashings: [],
    attester_slashings: [],
    attestations: [],
    deposits: [],
    voluntary_exits: [],
    sync_aggregate: { sync_committee_bits: hex('ff', 64), sync_committee_signature: hex('b2', 96) },
    execution_payload: beaconForm(payload),
    bls_to_execution_changes: payload.withdrawals === undefined ? undefined : [],
    blob_kzg_commitments: [],
    execution_requests: isPrague ? requestsForm(requests) : undefined,
  }
  const message = {
    slot: String(slot),
    proposer_index: '7',
    parent_root: parentRoot,
    state_root: hex('57', 32),
    body,
  }
  return JSON.parse(JSON.stringify({ message, signature: hex('c3', 96) }))
}

/** Names with underscores, and decimal numbers. */
function beaconForm(value: Json): Json {
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      if (quantities.has(name)) return [name, BigInt(String(member)).toString()]
      return [name, name === 'withdrawals' ? (member as Json[]).map(beaconForm) : member]
    }),
  )
}

/** The lists of requests of each type, from the bytes that an execution client gets (EIP-7685). */
function requestsForm(requests: readonly string[]): Json {
  const of = (type: number, length: number) => {
    const bytes = requests.map(hexToBytes).find(([first]) => first === type) ?? Uint8Array.of(type)
    const count = (bytes.length - 1) / length
    return Array.from({ length: count }, (_, index) => Buffer.from(bytes.subarray(1 + index * length)))
  }
  const part = (bytes: Buffer, start: number, length: number) =>
    bytesToHex(bytes.subarray(start, start + length))
  const number = (bytes: Buffer, start: number) => bytes.readBigUInt64LE(start).toString()
  return {
    deposits: of(0, 192).map((each) => ({
      pubkey: part(each, 0, 48),
      withdrawal_credentials: part(each, 48, 32),
      amount: number(each, 80),
      signature: part(each, 88, 96),
      index: number(each, 184),
    })),
    withdrawals: of(1, 76).map((each) => ({
      source_address: part(each, 0, 20),
      validator_pubkey: part(each, 20, 48),
      amount: number(each, 68),
    })),
    consolidations: of(2, 116).map((each) => ({
      source_address: part(each, 0, 20),
      source_pubkey: part(each, 20, 48),
      target_pubkey: part(each, 68, 48),
    })),
  }
}
