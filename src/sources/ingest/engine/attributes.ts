/**
 * Payload attributes: what a consensus client chooses for the block that is built next. Owns their forms by version and
 * fork (execution-apis, paris.md to amsterdam.md; for the OP Stack specs.optimism.io, protocol/exec-engine).
 */
import { type ForkName, type ForkSchedule, includesFork } from '../../../data/chain/forks.js'
import { type Header, type Timestamp, toTimestamp } from '../../../data/chain/header.js'
import { type Hash32, joinBytes, noBytes, padLeft, toMinimalBytes } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { encodeRlp, type RlpItem } from '../../../primitives/rlp.js'
import { EngineError } from './engineError.js'
import {
  readAddress,
  readBytes,
  readHash,
  readList,
  readObject,
  readOptional,
  readQuantity,
  readWithdrawal,
} from './engineFields.js'

export interface PayloadAttributes {
  /** Version of the method that had these attributes. */
  readonly version: number
  readonly timestamp: Timestamp
  readonly prevRandao: Hash32
  readonly feeRecipient: Uint8Array
  /** Undefined before Shanghai. */
  readonly withdrawals: readonly RlpItem[] | undefined
  /** Undefined before Cancun. */
  readonly parentBeaconBlockRoot: Hash32 | undefined
  /** Undefined before Amsterdam. */
  readonly slotNumber: bigint | undefined
  readonly targetGasLimit: bigint | undefined
  /** Attributes of the OP Stack alone. */
  readonly derived: DerivedAttributes | undefined
}

/** Attributes that op-node derives from L1. */
interface DerivedAttributes {
  /** First transactions of the block, EIP-2718 bytes. */
  readonly transactions: readonly Uint8Array[]
  /** Whether the block has no other transactions. */
  readonly noTxPool: boolean
  readonly gasLimit: bigint
  /** Denominator and elasticity, 4 bytes each; from Holocene on. */
  readonly eip1559Params: Uint8Array | undefined
  /** Wei per gas; from Jovian on. */
  readonly minBaseFee: bigint | undefined
}

/** Throws EngineError -32602 for a malformed member; ignores unknown ones. */
export function readAttributes(value: unknown, version: number, isDerived: boolean): PayloadAttributes {
  const json = readObject(value, 'payloadAttributes')
  const optional = <T>(read: (value: unknown, name: string) => T, name: string) =>
    readOptional(json[name], name, read)
  return {
    version,
    timestamp: toTimestamp(readQuantity(json.timestamp, 'timestamp')),
    prevRandao: readHash(json.prevRandao, 'prevRandao'),
    feeRecipient: readAddress(json.suggestedFeeRecipient, 'suggestedFeeRecipient'),
    withdrawals: optional((list, name) => readList(list, name, readWithdrawal), 'withdrawals'),
    parentBeaconBlockRoot: optional(readHash, 'parentBeaconBlockRoot'),
    slotNumber: optional(readQuantity, 'slotNumber'),
    targetGasLimit: optional(readQuantity, 'targetGasLimit'),
    derived: isDerived
      ? {
          transactions: optional((list, name) => readList(list, name, readBytes), 'transactions') ?? [],
          noTxPool: json.noTxPool === true,
          gasLimit: readQuantity(json.gasLimit, 'gasLimit'),
          eip1559Params: optional((bytes, name) => readBytes(bytes, name, 8), 'eip1559Params'),
          minBaseFee: optional(readMinimum, 'minBaseFee'),
        }
      : undefined,
  }
}

/** op-node writes the minimum as a number of JSON, unlike all other amounts. */
function readMinimum(value: unknown, name: string): bigint {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? BigInt(value)
    : readQuantity(value, name)
}

/** The forks that a version of a method is for: from the first up to one before the second. */
export type ForkRange = readonly [since: ForkName | undefined, until: ForkName | undefined]

export function isWithin(fork: ForkName, [since, until]: ForkRange): boolean {
  const isOver = until !== undefined && includesFork(fork, until)
  return !isOver && (since === undefined || includesFork(fork, since))
}

/** Forks of each version of `forkchoiceUpdated`. */
const attributeForks: readonly (ForkRange | undefined)[] = [
  undefined,
  [undefined, 'cancun'],
  [undefined, 'cancun'],
  ['cancun', 'amsterdam'],
  ['amsterdam', undefined],
]

/**
 * Checks attributes for a child of `parent`. Throws EngineError -38003 for a wrong time or a member of another version,
 * -38005 for a method of another fork.
 */
export function checkAttributes(attributes: PayloadAttributes, parent: Header, schedule: ForkSchedule): void {
  const { version, timestamp, withdrawals, parentBeaconBlockRoot, slotNumber } = attributes
  const refuse = (why: string) => new EngineError('invalidAttributes', why)
  if (timestamp <= parent.timestamp)
    throw refuse(`timestamp ${timestamp} is not above the parent's ${parent.timestamp}`)
  const fork = schedule.forkAt(parent.number + 1, timestamp, true)
  if (!isWithin(fork, attributeForks[version] as ForkRange))
    throw new EngineError(
      'unsupportedFork',
      `engine_forkchoiceUpdatedV${version} is not for the fork ${fork}`,
    )
  // V1 has no withdrawals; geth builds on it in Shanghai too, and such a block has none.
  const members: readonly (readonly [name: string, value: unknown, isDue: boolean])[] = [
    ['withdrawals', withdrawals, version > 1 && includesFork(fork, 'shanghai')],
    ['parentBeaconBlockRoot', parentBeaconBlockRoot, version > 2],
    ['slotNumber', slotNumber, version > 3],
  ]
  for (const [name, value, isDue] of members) {
    if ((value !== undefined) !== isDue)
      throw refuse(
        `${name} is ${isDue ? 'missing' : 'present'} in attributes of version ${version} at ${fork}`,
      )
  }
}

/** The id of a build: the same for the same attributes on the same parent, 8 bytes. */
export function payloadIdOf(parentHash: Hash32, attributes: PayloadAttributes): Uint8Array {
  const { withdrawals, parentBeaconBlockRoot, slotNumber, targetGasLimit, derived } = attributes
  const number = (value: number | bigint | undefined): RlpItem =>
    value === undefined ? [] : toMinimalBytes(value)
  const encoded = encodeRlp([
    toMinimalBytes(attributes.version),
    parentHash,
    number(attributes.timestamp),
    attributes.prevRandao,
    attributes.feeRecipient,
    withdrawals ?? noBytes,
    parentBeaconBlockRoot ?? [],
    number(slotNumber),
    number(targetGasLimit),
    derived === undefined
      ? []
      : [
          derived.transactions,
          toMinimalBytes(derived.noTxPool ? 1 : 0),
          number(derived.gasLimit),
          derived.eip1559Params ?? [],
          number(derived.minBaseFee),
        ],
  ])
  return keccak256(encoded).subarray(0, 8)
}

/**
 * Extra data of an OP Stack block: since Holocene a version and the parameters of its base fee, since Jovian also the
 * least base fee. Undefined before Holocene.
 */
export function derivedExtraData(
  { eip1559Params, minBaseFee }: DerivedAttributes,
  { parameters }: ForkSchedule['config'],
): Uint8Array | undefined {
  if (eip1559Params === undefined) return undefined
  const four = (value: bigint | undefined) => padLeft(toMinimalBytes(value ?? 0n), 4)
  const isDefault = eip1559Params.every((byte) => byte === 0)
  const rules = isDefault
    ? joinBytes([four(parameters.eip1559DenominatorCanyon), four(parameters.eip1559Elasticity)])
    : eip1559Params
  const least = minBaseFee === undefined ? noBytes : padLeft(toMinimalBytes(minBaseFee), 8)
  return joinBytes([Uint8Array.of(minBaseFee === undefined ? 0 : 1), rules, least])
}
