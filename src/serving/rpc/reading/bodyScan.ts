/**
 * Scans a request body before it is parsed: checks the limits for JSON.parse and finds the members of a batch. Works
 * in parts and without recursion, so that no body blocks the thread.
 */
import { FaultError } from '../../../primitives/faults.js'
import { nestingMax, passString, skipSpace } from './scan.js'

/** Maximum values and names of one body, which bounds the time of JSON.parse; 5 MiB contain 76,000 slots. */
export const valuesMax = 100_000

/**
 * Maximum names of one call: enough for an access list of 10,000 addresses. Names are the slowest part of JSON.parse.
 */
const namesMax = 20_100

/** Bytes scanned at a time: a quarter of a millisecond. */
const partBytes = 256 * 1024

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

export interface BodyLimits {
  readonly batchCallsMax: number
  readonly callBytesMax: number
}

export class BodyScan {
  /** Offsets of start and end of each member of a batch, alternating; a single call is its only member. */
  readonly bounds: number[] = []
  /** Undefined before the first character that is not a space. */
  #isBatch: boolean | undefined
  /** Whether the body is an array of more calls than allowed; the allowed ones are in {@link bounds}. */
  isTooLong = false
  readonly #limits: BodyLimits
  #at = 0
  #nesting = 0
  #values = 0
  /** Names of the current member. */
  #names = 0
  #isInString = false
  #isOver = false
  /** Start of the current member. */
  #start = 0

  constructor(limits: BodyLimits) {
    this.#limits = limits
  }

  /** Whether the body is an array. Valid once {@link pass} has returned true. */
  get isBatch(): boolean {
    return this.#isBatch === true
  }

  /**
   * Scans the next part of `bytes`, which must be the same body at each call; returns true at the end. The body is
   * valid JSON if every member then is; the scan may miss invalid JSON. It stops after the last allowed call of a batch
   * that is too long. Throws FaultError: ParseError, EmptyBatch, or InvalidRequest that names the limit exceeded.
   */
  pass(bytes: Uint8Array): boolean {
    const end = Math.min(this.#at + partBytes, bytes.length)
    if (this.#isBatch === undefined) {
      this.#at = skipSpace(bytes, this.#at, end)
      if (this.#at < end) {
        this.#isBatch = bytes[this.#at] === openBracket
        this.#start = this.#isBatch ? this.#at + 1 : this.#at
      }
    }
    if (this.#at < end && !this.#isOver) this.#passSigns(bytes, end)
    if (this.isTooLong) return true
    if (this.#isOver) {
      this.#at = skipSpace(bytes, this.#at, end)
      if (this.#at < end) throw parseFault()
    }
    if (this.#values > valuesMax) {
      throw invalidFault(`more than ${valuesMax} values; ask in several requests`)
    }
    if (!this.#isOver) this.#checkMember(Math.min(this.#at, bytes.length))
    if (this.#at < bytes.length) return false
    if (!this.#isBatch) this.#addMember(this.#start, bytes.length)
    else if (!this.#isOver) throw parseFault()
    else if (this.bounds.length === 0) throw new FaultError({ kind: 'EmptyBatch' })
    return true
  }

  /** Scans from {@link #at} to `end`, or to the bracket that closes a batch. */
  #passSigns(bytes: Uint8Array, end: number): void {
    const isBatch = this.#isBatch
    let at = this.#at
    let nesting = this.#nesting
    let values = this.#values
    if (this.#isInString) at = this.#passString(bytes, at, end)
    for (; at < end; at++) {
      const byte = bytes[at]
      if (byte === quote) at = this.#passString(bytes, at + 1, end) - 1
      else if (byte === comma) {
        values++
        if (nesting === 1 && isBatch) this.#endMember(bytes, at)
        if (this.isTooLong) break
      } else if (byte === colon) {
        values++
        this.#names++
      } else if (byte === openBracket || byte === openBrace) {
        values++
        if (++nesting > nestingMax) throw invalidFault(`arrays and objects nest deeper than ${nestingMax}`)
      } else if ((byte === closeBracket || byte === closeBrace) && --nesting === 0 && isBatch) {
        this.#endMember(bytes, at++)
        this.#isOver = true
        break
      }
    }
    this.#at = at
    this.#nesting = nesting
    this.#values = values
  }

  /** Scans from inside a string to its end, or to `end`, or one past `end` if an escaped character is there. */
  #passString(bytes: Uint8Array, start: number, end: number): number {
    const at = passString(bytes, start, end)
    this.#isInString = at < 0
    return at < 0 ? ~at : at
  }

  /** `end` is the offset of the comma or bracket that ends the current member. */
  #endMember(bytes: Uint8Array, end: number): void {
    this.#checkMember(end)
    this.#names = 0
    const isLast = bytes[end] !== comma
    if (isLast && bytes[end] !== closeBracket) throw parseFault()
    const start = skipSpace(bytes, this.#start, end)
    this.#start = end + 1
    if (start === end && isLast && this.bounds.length === 0) return
    this.isTooLong = this.bounds.length === this.#limits.batchCallsMax * 2
    if (!this.isTooLong) this.#addMember(start, end)
  }

  #addMember(start: number, end: number): void {
    this.bounds.push(start, end)
  }

  /** Checks the limits of the current member, which extends at least to `end`. */
  #checkMember(end: number): void {
    const { callBytesMax } = this.#limits
    if (this.#names > namesMax) throw invalidFault(`a call of more than ${namesMax} names`)
    if (end - this.#start > callBytesMax) throw invalidFault(`a call of more than ${callBytesMax} bytes`)
  }
}

export function invalidFault(why: string): FaultError {
  return new FaultError({ kind: 'InvalidRequest', why })
}

export function parseFault(): FaultError {
  return new FaultError({ kind: 'ParseError' })
}
