/** Reads members of the JSON of the Engine API in the forms of its specification. Each throws EngineError -32602. */
import {
  type Address,
  bytesOfHex,
  type Hash32,
  hashBytes,
  toAddress,
  toHash32,
  toMinimalBytes,
} from '../../../primitives/bytes.js'
import { isObject } from '../../../primitives/jsonType.js'
import type { RlpItem } from '../../../primitives/rlp.js'
import { invalidParams } from './engineError.js'

export type Json = Readonly<Record<string, unknown>>

/** `0` or hex digits without leading zeros, as the specification asks. */
const quantityPattern = /^0x(0|[1-9a-f][0-9a-f]*)$/i

export function readObject(value: unknown, name: string): Json {
  if (!isObject(value)) throw invalidParams(`${name}: expected an object`)
  return value
}

export function readList<T>(value: unknown, name: string, read: (value: unknown, name: string) => T): T[] {
  if (!Array.isArray(value)) throw invalidParams(`${name}: expected an array`)
  return value.map((item, index) => read(item, `${name}[${index}]`))
}

export function readBytes(value: unknown, name: string, length?: number): Uint8Array {
  const bytes = bytesOfHex(value, length)
  if (bytes !== undefined) return bytes
  throw invalidParams(`${name}: expected ${length === undefined ? 'bytes' : `${length} bytes`} in hex`)
}

export function readHash(value: unknown, name: string): Hash32 {
  return toHash32(readBytes(value, name, hashBytes))
}

export function readAddress(value: unknown, name: string): Address {
  return toAddress(readBytes(value, name, 20))
}

export function readQuantity(value: unknown, name: string, bits = 64): bigint {
  if (typeof value === 'string' && quantityPattern.test(value) && value.length <= 2 + bits / 4)
    return BigInt(value)
  throw invalidParams(`${name}: expected a quantity of at most ${bits} bits`)
}

/** Undefined for an absent member and for null. */
export function readOptional<T>(
  value: unknown,
  name: string,
  read: (value: unknown, name: string) => T,
): T | undefined {
  return value === undefined || value === null ? undefined : read(value, name)
}

/** The RLP items of a withdrawal (EIP-4895): index, validator, address and amount. */
export function readWithdrawal(value: unknown, name: string): RlpItem {
  const { index, validatorIndex, address, amount } = readObject(value, name)
  return [
    toMinimalBytes(readQuantity(index, `${name}.index`)),
    toMinimalBytes(readQuantity(validatorIndex, `${name}.validatorIndex`)),
    readAddress(address, `${name}.address`),
    toMinimalBytes(readQuantity(amount, `${name}.amount`)),
  ]
}
