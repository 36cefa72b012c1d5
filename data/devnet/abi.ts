/** Encodes contract calls by the Solidity ABI, for the types that the demo contracts use. */
import { concatBytes, hexToBytes, padLeft, toMinimalBytes } from '../../src/primitives/bytes.js'
import { textHash } from './accounts.js'

/** A static number or word, a byte string or text, or an array of them. Hex text means bytes. */
export type AbiValue = bigint | number | boolean | string | Uint8Array | readonly AbiValue[]

const wordBytes = 32

function word(value: number | bigint): Uint8Array {
  return padLeft(toMinimalBytes(value), wordBytes)
}

function padRight(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil(bytes.length / wordBytes) * wordBytes)
  padded.set(bytes)
  return padded
}

function isDynamic(type: string): boolean {
  return type === 'string' || type === 'bytes' || type.endsWith('[]')
}

function bytesOf(type: string, value: AbiValue): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (typeof value !== 'string') throw new TypeError(`${type} wants bytes or text`)
  return type === 'string' ? new TextEncoder().encode(value) : hexToBytes(value)
}

function encodeStatic(type: string, value: AbiValue): Uint8Array {
  if (type === 'bool') return word(value === true ? 1 : 0)
  if (type.startsWith('uint')) {
    if (typeof value !== 'bigint' && typeof value !== 'number') throw new TypeError(`${type} wants a number`)
    return word(value)
  }
  if (type === 'address') return padLeft(bytesOf(type, value), wordBytes)
  if (/^bytes\d+$/.test(type)) return padRight(bytesOf(type, value))
  throw new TypeError(`type ${type} is not encoded here`)
}

function encodeDynamic(type: string, value: AbiValue): Uint8Array {
  if (type.endsWith('[]')) {
    if (!Array.isArray(value)) throw new TypeError(`${type} wants an array`)
    const itemType = type.slice(0, -2)
    return concatBytes(
      word(value.length),
      encodeAbi(
        value.map(() => itemType),
        value,
      ),
    )
  }
  const bytes = bytesOf(type, value)
  return concatBytes(word(bytes.length), padRight(bytes))
}

/** Encodes `values` as a tuple of `types`. Throws TypeError for a type or value that it does not know. */
export function encodeAbi(types: readonly string[], values: readonly AbiValue[]): Uint8Array {
  if (types.length !== values.length) throw new TypeError(`${types.length} types for ${values.length} values`)
  const heads: Uint8Array[] = []
  const tails: Uint8Array[] = []
  let tailOffset = types.length * wordBytes
  for (const [i, type] of types.entries()) {
    const value = values[i] as AbiValue
    if (isDynamic(type)) {
      const tail = encodeDynamic(type, value)
      heads.push(word(tailOffset))
      tails.push(tail)
      tailOffset += tail.length
    } else {
      heads.push(encodeStatic(type, value))
    }
  }
  return concatBytes(...heads, ...tails)
}

/** The types between the parentheses of a signature. */
export function typesOf(signature: string): string[] {
  const inner = signature.slice(signature.indexOf('(') + 1, -1)
  return inner === '' ? [] : inner.split(',')
}

/** Call data of a function, named as in `transfer(address,uint256)`. */
export function encodeCall(signature: string, values: readonly AbiValue[] = []): Uint8Array {
  return concatBytes(textHash(signature).subarray(0, 4), encodeAbi(typesOf(signature), values))
}
