/** Revert reasons of contracts, in go-ethereum's wording. */
import { bytesToBigInt, bytesToHex } from '../../../primitives/bytes.js'

/** `Error(string)` */
const errorSelector = '0x08c379a0'
/** `Panic(uint256)` */
const panicSelector = '0x4e487b71'

/** Codes of Solidity's panics. */
const panicReasons: ReadonlyMap<bigint, string> = new Map([
  [0x00n, 'generic panic'],
  [0x01n, 'assert(false)'],
  [0x11n, 'arithmetic underflow or overflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'enum overflow'],
  [0x22n, 'invalid encoded storage byte array accessed'],
  [0x31n, 'out-of-bounds array access; popping on an empty array'],
  [0x32n, 'out-of-bounds access of an array or bytesN'],
  [0x41n, 'out of memory'],
  [0x51n, 'uninitialized function'],
])

/** The reason in revert data; undefined for data that is neither `Error(string)` nor `Panic(uint256)`. */
export function decodeRevertReason(data: Uint8Array): string | undefined {
  const selector = bytesToHex(data.subarray(0, 4))
  const body = data.subarray(4)
  if (selector === errorSelector) return decodeString(body)
  if (selector !== panicSelector || body.length < 32) return undefined
  const code = bytesToBigInt(body.subarray(0, 32))
  return panicReasons.get(code) ?? `unknown panic code: 0x${code.toString(16)}`
}

/**
 * Limit in bytes for a decoded reason; contracts write some hundred. The full text of a longer one is in the data. As
 * JSON it may have six times as many characters, which the thread that listens writes.
 */
const reasonBytesMax = 2 * 1024

/**
 * Decodes the start of one ABI-encoded string: offset, length, bytes. Undefined if offset or length is out of range.
 */
function decodeString(body: Uint8Array): string | undefined {
  const start = readOffset(body, 0)
  const length = start === undefined ? undefined : readOffset(body, start)
  if (start === undefined || length === undefined || start + 32 + length > body.length) return undefined
  const reported = Buffer.from(body.subarray(start + 32, start + 32 + Math.min(length, reasonBytesMax)))
  return length > reasonBytesMax ? `${reported.toString('utf8')}…` : reported.toString('utf8')
}

/** A word as an offset or length into `body`; undefined if it cannot be one. */
function readOffset(body: Uint8Array, at: number): number | undefined {
  if (at + 32 > body.length) return undefined
  const value = bytesToBigInt(body.subarray(at, at + 32))
  return value > BigInt(body.length) ? undefined : Number(value)
}
