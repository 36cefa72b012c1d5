/**
 * Parameters of the methods that change a developer chain. Clients write numbers in several forms. Each function throws
 * FaultError InvalidArgument, which names the parameter by its index.
 */
import { type Address, bytesOfHex, padLeft, toAddress, toMinimalBytes } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { isObject } from '../../../primitives/jsonType.js'
import type { NewBase } from './forkedNodes.js'

export function addressOf(hex: unknown): Address {
  const bytes = bytesOfHex(hex, 20)
  if (bytes === undefined) throw invalid('expected an address', 0)
  return toAddress(bytes)
}

/** A whole number of up to 32 bytes. */
export function word(value: unknown, index: number): bigint {
  const found = quantity(value, index)
  if (found >= 2n ** 256n) throw invalid('expected at most 32 bytes', index)
  return found
}

/** A whole number of up to 32 bytes, padded to 32. */
export function wordBytes(value: unknown, index: number): Uint8Array {
  return padLeft(toMinimalBytes(word(value, index)), 32)
}

/** A number, or a string of decimal or hex digits. */
export function quantity(value: unknown, index: number): bigint {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  if (typeof text === 'string' && /^(\d{1,78}|0x[0-9a-f]{1,64})$/i.test(text)) return BigInt(text)
  throw invalid('expected a whole number, or one as a text', index)
}

/** An integer of at most `max`. */
export function integer(value: unknown, max: number, index = 0): number {
  const found = quantity(value, index)
  if (found > max) throw invalid(`expected at most ${max}`, index)
  return Number(found)
}

/**
 * Signed transactions by the place of their block among new ones, as the second parameter of `anvil_reorg` has them: a
 * list of pairs.
 */
export function placedTransactions(pairs: unknown): ReadonlyMap<number, readonly Uint8Array[]> {
  if (!Array.isArray(pairs)) throw invalid('expected a list of pairs of a transaction and a block', 1)
  const placed = new Map<number, Uint8Array[]>()
  for (const pair of pairs) {
    const [hex, block] = Array.isArray(pair) ? pair : []
    const raw = bytesOfHex(hex)
    if (raw === undefined) throw invalid('expected signed transactions in hex', 1)
    const at = integer(block, Number.MAX_SAFE_INTEGER, 1)
    placed.set(at, [...(placed.get(at) ?? []), raw])
  }
  return placed
}

/** The block that `forking` names; undefined if it names none, as viem's empty one, whose members are null. */
export function baseOf(options: unknown): NewBase | undefined {
  const { forking } = isObject(options) ? options : {}
  if (!isObject(forking)) return undefined
  const { jsonRpcUrl: url, blockNumber } = forking
  if ((url ?? blockNumber ?? undefined) === undefined) return undefined
  if (!isAbsent(url) && !isNodeUrl(url)) throw invalid('expected a URL of http, https, ws or wss', 0)
  return {
    url: isAbsent(url) ? undefined : url,
    number: isAbsent(blockNumber) ? undefined : integer(blockNumber, Number.MAX_SAFE_INTEGER),
  }
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null
}

function isNodeUrl(value: unknown): value is string {
  return typeof value === 'string' && URL.canParse(value) && /^(https?|wss?):$/.test(new URL(value).protocol)
}

export function invalid(why: string, index: number): FaultError {
  return new FaultError({ kind: 'InvalidArgument', index, why })
}
