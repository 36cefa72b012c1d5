/**
 * Decoders of call objects, state overrides and block overrides, with go-ethereum's rules and messages
 * (internal/ethapi). An invalid value is the fault InvalidArgument, which names the member; members that contradict
 * each other are MessageRefused. Unknown members of overrides are refused, others ignored, as in go-ethereum.
 */

import type {
  AccessListEntry,
  AccountOverride,
  Authorization,
  BlockOverrides,
  CallMessage,
  SlotOverride,
} from '../../../execution/evm/messages/executionRequest.js'
import { toChecksumAddress } from '../../../primitives/addresses.js'
import { equalBytes, noBytes } from '../../../primitives/bytes.js'
import { FaultError, messageRefused } from '../../../primitives/faults.js'
import { excerpt } from '../../../primitives/jsonType.js'
import { authorizationFields } from '../../../primitives/transactionTypes.js'
import type { Param } from '../method.js'
import {
  address,
  bytes,
  hash32,
  invalidArgument,
  ObjectForm,
  objectOf,
  quantity,
  required,
} from './params.js'
import { listSchema, nullable, type Schema, textSchema } from './schema.js'

export type Decoder<T> = (value: unknown, index: number) => T
/** Decoders of some members of an object. */
export type Decoders<T> = { readonly [K in keyof T]?: Decoder<Exclude<T[K], undefined>> }
export type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** A decoded call object; `chainId` is undefined if the caller gives none. */
export interface CallObject {
  readonly message: CallMessage
  readonly chainId: bigint | undefined
  /** Whether its `data` and `input` differ. Calls use `input`; a transaction to sign is refused. */
  readonly isAmbiguous?: boolean
}

/*
 * Limits of the decoding for one call, so that the largest call delays others by 10 to 20 ms on a busy machine.
 * go-ethereum has no such limits.
 */
/** Accounts in the state overrides of a call. */
const overriddenAccountsMax = 500
/** Slots in the state overrides of a call, all accounts together. */
const overriddenSlotsMax = 1_000
/** Bytes of code in the state overrides of a call: 42 of the largest contracts. Code is also hashed and analysed. */
const overriddenCodeBytesMax = 1024 * 1024
/** Addresses and keys of an access list: since Osaka a transaction has gas for at most 8,830 (EIP-2930, EIP-7825). */
const accessListItemsMax = 10_000
/** Blobs of a message, far more than a block may have. */
const blobHashesMax = 1_000
/** Authorizations of a message: a transaction has gas for 671; recovering a signer takes 0.3 ms. */
const authorizationsMax = 1_000

export const quantity64 = orZero(quantity().decode)
const quantity256 = orZero(quantity({ bits: 256 }).decode)
/** Members that may be null, as if they were absent. */
const each = (schema: Schema, ...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, nullable(schema)]))
const callSchema: Schema = {
  type: 'object',
  title: 'call object',
  properties: {
    ...each(address.schema, 'from', 'to'),
    ...each(textSchema, 'gas', 'gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'maxFeePerBlobGas'),
    ...each(textSchema, 'value', 'nonce', 'chainId', 'input', 'data'),
    ...each(listSchema({}), 'accessList', 'blobVersionedHashes', 'authorizationList'),
  },
}

/** Members of a call object before its data and after it, in the order of decoding. */
const firstMembers: Decoders<CallMessage> = {
  from: address.decode,
  to: address.decode,
  gas: quantity64,
  gasPrice: quantity256,
  maxFeePerGas: quantity256,
  maxPriorityFeePerGas: quantity256,
  maxFeePerBlobGas: quantity256,
  value: quantity256,
}
const lastMembers: Decoders<CallMessage> = {
  nonce: quantity64,
  accessList: (value, index) => accessList(value, index),
  blobVersionedHashes: listOf(hash32.decode, 'a list of hashes', blobHashesMax),
  authorizationList: listOf(authorization, 'a list of authorizations', authorizationsMax),
}

/**
 * go-ethereum computes hashes and sidecars from these. Here callers give the hashes, and blobs come with signed
 * transactions.
 */
const sidecarMembers = ['blobs', 'commitments', 'proofs'] as const
const callForm = new ObjectForm('a call object', [
  ...sidecarMembers,
  ...Object.keys(firstMembers),
  'data',
  'input',
  ...Object.keys(lastMembers),
  'chainId',
])

/** A call object. Its `type` is ignored, because it follows from the other members. */
export const callObject: Param<CallObject> = required((value, index) => {
  const members = new Members(value, index, callForm)
  for (const name of sidecarMembers) {
    if (members.has(name)) {
      throw messageRefused(
        `"${name}" is not supported here: give "blobVersionedHashes", and send a signed transaction with its blobs`,
      )
    }
  }
  const message: Writable<CallMessage> = { value: 0n, data: noBytes }
  members.put<CallMessage>(message, firstMembers)
  // Both are decoded, so that a malformed one is refused even if the other is used.
  const data = members.get('data', hexBytes)
  const input = members.get('input', hexBytes)
  message.data = input ?? data ?? noBytes
  members.put<CallMessage>(message, lastMembers)
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = message
  if (gasPrice !== undefined && (maxFeePerGas !== undefined || maxPriorityFeePerGas !== undefined)) {
    throw messageRefused('both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified')
  }
  // Some clients send a zero fee with every message.
  if ((message.maxFeePerBlobGas ?? 0n) > 0n && message.blobVersionedHashes === undefined) {
    throw messageRefused('maxFeePerBlobGas specified without blobVersionedHashes')
  }
  const chainId = members.get('chainId', quantity256)
  const isAmbiguous = data !== undefined && input !== undefined && !equalBytes(data, input)
  return isAmbiguous ? { message, chainId, isAmbiguous } : { message, chainId }
}, callSchema)

/** State overrides: accounts by address, with their state before the message. */
export const stateOverrides: Param<readonly AccountOverride[]> = required(
  (value, index) => {
    const overrides = new Map<string, AccountOverride>()
    const accounts = boundedObject(value, index, 'state overrides', overriddenAccountsMax, 'accounts')
    const budget: OverrideBudget = { slots: overriddenSlotsMax, codeBytes: overriddenCodeBytesMax }
    for (const key of Object.keys(accounts)) {
      const at = address.decode(key, index)
      overrides.set(key.toLowerCase(), accountOverride(at, accounts[key] ?? {}, index, budget))
    }
    return [...overrides.values()]
  },
  { type: 'object', title: 'state overrides, by address' },
)

export const overriddenMembers: Decoders<BlockOverrides> = {
  number: quantity256,
  time: quantity64,
  gasLimit: quantity64,
  feeRecipient: address.decode,
  prevRandao: hash32.decode,
  baseFeePerGas: quantity256,
  blobBaseFee: quantity256,
  difficulty: quantity256,
}

/** Members of overrides that only simulated blocks have. */
const simulatedMembers = ['beaconRoot', 'withdrawals'] as const
export const blockOverridesForm = new ObjectForm(
  'block overrides',
  [...Object.keys(overriddenMembers), ...simulatedMembers],
  true,
)

/** Block overrides: members of the block that a message sees. */
export const blockOverrides: Param<BlockOverrides> = required(
  (value, index) => {
    const members = new Members(value, index, blockOverridesForm)
    for (const name of simulatedMembers) {
      if (members.has(name))
        throw messageRefused(`block override "${name}" is not supported for this RPC method`)
    }
    const overrides: Writable<BlockOverrides> = {}
    members.put<BlockOverrides>(overrides, overriddenMembers)
    return overrides
  },
  { type: 'object', title: 'block overrides' },
)

/** Members of a JSON object; null counts as absent. */
export class Members {
  readonly #members: Readonly<Record<string, unknown>>
  readonly #index: number
  /** go-ethereum's name of the type, for types with required members. */
  readonly #typeName: string

  constructor(value: unknown, index: number, form: ObjectForm, typeName = '') {
    this.#typeName = typeName
    this.#index = index
    this.#members = form.read(value, index)
  }

  has(name: string): boolean {
    const value = this.#members[name]
    return value !== undefined && value !== null
  }

  get<T>(name: string, decode: Decoder<T>): T | undefined {
    if (!this.has(name)) return undefined
    try {
      return decode(this.#members[name], this.#index)
    } catch (error) {
      throw atMember(error, name)
    }
  }

  /** Writes the members that are present into `target`. Joining an object per member takes several times as long. */
  put<T extends object>(target: Partial<Writable<T>>, decoders: Decoders<T>): void {
    for (const name in decoders) {
      const value = this.get(name, decoders[name] as Decoder<T[typeof name]>)
      if (value !== undefined) target[name] = value
    }
  }

  need<T>(name: string, decode: Decoder<T>): T {
    const value = this.get(name, decode)
    if (value === undefined) throw missingField(this.#index, name, this.#typeName)
    return value
  }
}

/** An object of at most `max` members; the fault calls them `members`. Their values are not checked. */
function boundedObject(
  value: unknown,
  index: number,
  what: string,
  max: number,
  members: string,
): Readonly<Record<string, unknown>> {
  const object = objectOf(value, index, what)
  const { length } = Object.keys(object)
  if (length > max) throw tooMany(index, max, members, length)
  return object
}

function tooMany(index: number, max: number, what: string, got: number): FaultError {
  return invalidArgument(index, `want at most ${max} ${what}, got ${got}`)
}

const missing = 'missing required field'

function missingField(index: number, name: string, typeName: string): FaultError {
  return invalidArgument(index, `${missing} '${name}' for ${typeName}`)
}

/** The same fault with the member's name in front. A missing field is named after its type instead. */
function atMember(error: unknown, name: string): unknown {
  if (!(error instanceof FaultError) || error.fault.kind !== 'InvalidArgument') return error
  const { index, why } = error.fault
  if (why.startsWith(missing)) return error
  return invalidArgument(index, `${name}: ${why}`)
}

export function listOf<T>(
  decode: Decoder<T>,
  what: string,
  max = Number.POSITIVE_INFINITY,
): Decoder<readonly T[]> {
  return (value, index) => {
    if (!Array.isArray(value)) throw invalidArgument(index, `want ${what}, got ${typeof value}`)
    if (value.length > max) throw tooMany(index, max, 'items', value.length)
    return value.map((item) => decode(item, index))
  }
}

/** An empty string is zero, as in go-ethereum's objects. */
function orZero(decode: Decoder<bigint>): Decoder<bigint> {
  return (value, index) => (value === '' ? 0n : decode(value, index))
}

/** Bytes of any length as `0x` and two digits each, or an empty string for none. */
const hexBytes: Decoder<Uint8Array> = (value, index) =>
  value === '' ? new Uint8Array(0) : bytes.decode(value, index)

/** An access list; addresses and keys are counted before they are decoded. */
const accessList: Decoder<readonly AccessListEntry[]> = (value, index) => {
  if (Array.isArray(value)) {
    let items = value.length
    if (items <= accessListItemsMax) {
      for (const entry of value) items += Array.isArray(entry?.storageKeys) ? entry.storageKeys.length : 0
    }
    if (items > accessListItemsMax) throw tooMany(index, accessListItemsMax, 'addresses and keys', items)
  }
  return listOf(accessListEntry, 'an access list')(value, index)
}

const accessForm = new ObjectForm('an entry of an access list', ['address', 'storageKeys'])

function accessListEntry(value: unknown, index: number): AccessListEntry {
  const members = new Members(value, index, accessForm, 'AccessTuple')
  return {
    address: members.need('address', address.decode),
    storageKeys: members.need('storageKeys', listOf(hash32.decode, 'a list of storage keys')),
  }
}

const authorizationForm = new ObjectForm('an authorization', [...Object.keys(authorizationFields), 'v'])

function authorization(value: unknown, index: number): Authorization {
  const members = new Members(value, index, authorizationForm, 'SetCodeAuthorization')
  const parity =
    members.get('yParity', quantity64) ?? members.get('v', quantity64) ?? members.need('yParity', quantity64)
  if (parity > 1n) throw invalidArgument(index, `yParity: want 0 or 1, got ${excerpt(String(parity), 20)}`)
  return {
    chainId: members.need('chainId', quantity256),
    address: members.need('address', address.decode),
    nonce: members.need('nonce', quantity64),
    yParity: Number(parity),
    r: members.need('r', quantity256),
    s: members.need('s', quantity256),
  }
}

/** The remaining limits for the following accounts. */
interface OverrideBudget {
  slots: number
  codeBytes: number
}

const accountForm = new ObjectForm(
  'an account override',
  ['balance', 'nonce', 'code', 'state', 'stateDiff', 'movePrecompileToAddress'],
  true,
)

function accountOverride(
  at: Uint8Array,
  value: unknown,
  index: number,
  budget: OverrideBudget,
): AccountOverride {
  const members = new Members(value, index, accountForm)
  const slots: Decoder<readonly SlotOverride[]> = (value, index) => slotOverrides(value, index, budget)
  const override: Writable<AccountOverride> = { address: at }
  members.put<AccountOverride>(override, {
    nonce: quantity64,
    balance: quantity256,
    code: (value, index) => overriddenCode(value, index, budget),
    state: slots,
    stateDiff: slots,
  })
  if (override.state !== undefined && override.stateDiff !== undefined) {
    throw messageRefused(`account ${toChecksumAddress(at)} has both 'state' and 'stateDiff'`)
  }
  const target = members.get('movePrecompileToAddress', address.decode)
  return target === undefined ? override : { ...override, movePrecompileTo: target }
}

function overriddenCode(value: unknown, index: number, budget: OverrideBudget): Uint8Array {
  if (typeof value === 'string') budget.codeBytes -= value.length / 2
  if (budget.codeBytes < 0) {
    throw invalidArgument(index, `want at most ${overriddenCodeBytesMax} bytes of code in all overrides`)
  }
  return hexBytes(value, index)
}

function slotOverrides(value: unknown, index: number, budget: OverrideBudget): readonly SlotOverride[] {
  const slots = objectOf(value, index, 'an object of slots')
  const keys = Object.keys(slots)
  budget.slots -= keys.length
  if (budget.slots < 0)
    throw invalidArgument(index, `want at most ${overriddenSlotsMax} slots in all overrides`)
  return keys.map((slot) => [hash32.decode(slot, index), hash32.decode(slots[slot], index)])
}
