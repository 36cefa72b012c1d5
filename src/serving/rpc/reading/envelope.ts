/**
 * From the bytes of a request to its calls. Owns the rules of JSON-RPC 2.0 for requests: versions, ids, notifications,
 * batches. Does not own methods or their parameters.
 *
 * There are two readers of a call. The fast one reads the common form without building values, so that a repeated call
 * needs no JSON.parse. The general one reads any form: a bounded pass over the bytes (bodyMembers.ts), then JSON.parse.
 * Both give the same calls.
 */
import { isAscii, isUtf8, transcode } from 'node:buffer'
import { asBuffer, latin1Text } from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { isObject } from '../../../primitives/jsonType.js'
import { type NamedMethod, readParams } from '../method.js'
import {
  type BodyLimits,
  type BodyMember,
  type BodyMembers,
  findMembers,
  parseFault,
  valuesMax,
} from './bodyMembers.js'
import { byteAt, callBytes, callBytesMax, spaceEnd, takeCall, textBetween } from './callText.js'
import { findByLayout, keepLayout } from './layouts.js'
import { arrayEnd, createCallSpans, scanCall } from './scan.js'

export type Call<Known, Asked> =
  /** Not a call: answered with `invalid request`. */
  | { readonly kind: 'invalid'; readonly id: string }
  /** A repeated call: `known` is the lookup's result for its text. */
  | { readonly kind: 'known'; readonly id: string; readonly known: Known }
  | {
      readonly kind: 'call'
      /** The id as JSON, byte for byte as the caller wrote it; undefined for a notification. */
      readonly id: string | undefined
      readonly method: string
      readonly params: unknown
      /** The arguments, if they were read without making `params`, which is then undefined. */
      readonly args?: readonly unknown[] | undefined
      /** The call's member `at`, as written; undefined if it has none. */
      readonly at: unknown
      /** The lookup's record of the call; undefined for a long call, one read by the general reader, or a new one. */
      readonly asked: Asked | undefined
    }

export interface MethodLookup {
  /** Finds the method with the name between `start` and `end` of {@link callBytes}. */
  find(start: number, end: number): NamedMethod | undefined
}

/** Finds earlier calls by their method and the text of their parameters. */
export interface CallLookup<Known, Asked> {
  /** The known call with the parameters in `bytes` from `start` up to `end`; undefined if there is none. */
  find(method: NamedMethod, bytes: Uint8Array, start: number, end: number): Known | undefined
  /** The call that {@link find} did not know, if its answer is worth storing. */
  missed(): Asked | undefined
}

/** Longest method name; a call with a longer one is invalid. The longest real ones have about 45 characters. */
const methodLengthMax = 2048

/** Longest id; real ones have at most 40 characters, and longer ones only take time to read and repeat. */
const idBytesMax = 64 * 1024

/** Longest call that is looked up. A proof of ten slots has about 900 bytes; longer calls are seldom repeated. */
export const cachedCallBytesMax = 1_024

/**
 * Maximum length of a text that is parsed without counting its values: it cannot contain more than {@link valuesMax}.
 */
const fastBytesMax = Math.min(valuesMax, callBytesMax)

/** Maximum length of a body that is read without turns: a log filter of this length takes 0.5 ms in total. */
export const usualBytesMax = 16 * 1024

const openBrace = 0x7b
const digitZero = 0x30

const spans = createCallSpans()

/**
 * Reads a short body that is a single call of the common form, as most bodies are; does not keep `body`. Returns
 * undefined for any other body, which {@link CallReader} reads. `lookup` may only know calls returned by this function
 * or the reader.
 */
export function readUsualCall<Known, Asked>(
  body: Uint8Array,
  lookup: CallLookup<Known, Asked> | undefined,
  methods?: MethodLookup,
): Call<Known, Asked> | undefined {
  if (body.length > usualBytesMax) return undefined
  takeCall(body)
  const start = spaceEnd(0)
  return byteAt(start) === openBrace ? fastCall(start, body.length, lookup, methods) : undefined
}

/**
 * Reads the calls of any body, one after the other. The body is not copied: call {@link CallReader.keep} before its
 * memory is used again.
 */
export class CallReader<Known, Asked> {
  #body: Uint8Array
  readonly #members: BodyMembers
  readonly #methods: MethodLookup | undefined
  #read = 0

  /** Passes over the whole body. Throws FaultError as {@link findMembers}. */
  constructor(body: Uint8Array, limits: BodyLimits, methods?: MethodLookup) {
    if (!isUtf8(body)) throw parseFault()
    this.#body = body
    this.#members = findMembers(body, limits)
    this.#methods = methods
  }

  get isBatch(): boolean {
    return this.#members.isBatch
  }

  /** Number of calls not read yet. */
  get left(): number {
    return this.#members.members.length - this.#read
  }

  /** Length of the last call read. */
  get bytesRead(): number {
    const { start, end } = this.#members.members[this.#read - 1] as BodyMember
    return end - start
  }

  /**
   * Reads the next call. Throws FaultError ParseError. No call of a batch that is too long may run: the first call with
   * an id throws BatchTooLarge, which answers that id. Without any id the last call throws it.
   */
  read(lookup: CallLookup<Known, Asked> | undefined): Call<Known, Asked> {
    const member = this.#members.members[this.#read++] as BodyMember
    const call = this.#readFast(member, lookup) ?? generalCall(asBuffer(this.#body), member)
    if (!this.#members.isTooLong) return call
    const id = call.kind === 'invalid' ? undefined : call.id
    if (id !== undefined || this.left === 0) throw new FaultError({ kind: 'BatchTooLarge', id })
    return call
  }

  #readFast(
    { start, end }: BodyMember,
    lookup: CallLookup<Known, Asked> | undefined,
  ): Call<Known, Asked> | undefined {
    if (end - start > fastBytesMax) return undefined
    takeCall(this.#body.subarray(start, end))
    return fastCall(0, end - start, lookup, this.#methods)
  }

  /** Copies the body. */
  keep(): void {
    this.#body = new Uint8Array(this.#body)
  }
}

/** From this length on UTF-8 is converted to UTF-16 first: 15 ms for 5 MiB, while V8 takes 40 to 80. */
const transcodedBytesMin = 64 * 1024

/** The text between `start` and `end` of valid UTF-8. */
function decodeUtf8(bytes: Buffer, start: number, end: number): string {
  if (end - start < transcodedBytesMin) return bytes.toString('utf8', start, end)
  const part = bytes.subarray(start, end)
  return isAscii(part) ? latin1Text(part) : transcode(part, 'utf8', 'utf16le').toString('utf16le')
}

/**
 * The call in {@link callBytes} from `start` to its end, if it has the common form, which is ASCII. Undefined for any
 * other form, for invalid JSON in params, and for a method name or id that is too long.
 */
function fastCall<Known, Asked>(
  start: number,
  end: number,
  lookup: CallLookup<Known, Asked> | undefined,
  methods: MethodLookup | undefined,
): Call<Known, Asked> | undefined {
  const isOfLayout = findByLayout(start, end, spans)
  if (!isOfLayout && !scanWhole(start, end)) return undefined
  const { idStart, idEnd, methodStart, methodEnd, paramsStart, paramsEnd } = spans
  if (methodEnd - methodStart > methodLengthMax || idEnd - idStart > idBytesMax) return undefined
  const method = methods?.find(methodStart, methodEnd)
  const cache = end - start <= cachedCallBytesMax ? lookup : undefined
  const known = method && cache?.find(method, callBytes, paramsStart, paramsEnd)
  const id = idText(idStart, idEnd)
  if (known !== undefined) return { kind: 'known', id, known }
  const asked = method && cache?.missed()
  const args = method?.params && readParams(method.params, paramsStart, paramsEnd)
  if (method !== undefined && args !== undefined) {
    return { kind: 'call', id, method: method.name, params: undefined, args, at: undefined, asked }
  }
  // The layout does not check the bytes of the parameters.
  if (isOfLayout && arrayEnd(paramsStart) !== paramsEnd) return undefined
  try {
    const params: unknown = paramsEnd === 0 ? undefined : JSON.parse(textBetween(paramsStart, paramsEnd))
    const name = method?.name ?? textBetween(methodStart, methodEnd)
    return { kind: 'call', id, method: name, params, at: undefined, asked }
  } catch {
    return undefined
  }
}

/** Scans a call that ends at `end` and has no known layout. */
function scanWhole(start: number, end: number): boolean {
  const scanEnd = scanCall(start, spans)
  if (scanEnd === -1 || spaceEnd(scanEnd) !== end) return false
  keepLayout(start, end, spans)
  return true
}

/** Maximum digits of an id that is read as a number. */
const idDigitsMax = 9

function idText(start: number, end: number): string {
  if (end - start > idDigitsMax) return textBetween(start, end)
  let value = 0
  for (let at = start; at < end; at++) {
    const digit = byteAt(at) - digitZero
    // A quote or a minus sign: their codes are below those of digits.
    if (digit < 0) return textBetween(start, end)
    value = value * 10 + digit
  }
  return `${value}`
}

/** Throws ParseError. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw parseFault()
  }
}

/** Reads any JSON value as a call. Throws ParseError for invalid JSON. */
function generalCall(body: Buffer, { start, end, idStart, idEnd }: BodyMember): Call<never, never> {
  const value = parseJson(decodeUtf8(body, start, end))
  if (!isObject(value)) return { kind: 'invalid', id: 'null' }
  const { jsonrpc, id, method, params, at } = value
  const hasId = Object.hasOwn(value, 'id')
  const isId = id === null || typeof id === 'string' || typeof id === 'number'
  if (hasId && (!isId || idEnd - idStart > idBytesMax)) return { kind: 'invalid', id: 'null' }
  // The id is copied from the text, because JSON.parse may lose digits and escapes.
  const idText = hasId ? decodeUtf8(body, idStart, idEnd) : undefined
  if (jsonrpc !== '2.0' || typeof method !== 'string' || method.length > methodLengthMax) {
    return { kind: 'invalid', id: idText ?? 'null' }
  }
  return { kind: 'call', id: idText, method, params, at, asked: undefined }
}
