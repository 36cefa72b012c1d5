/**
 * The readers of requests, compared with a plain one that parses the whole body and checks the values. Calls, ids and
 * refusals must be the same. SEED repeats a run.
 */
import { inspect, isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { FaultError } from '../../../src/primitives/faults.js'
import type { NamedMethod } from '../../../src/serving/rpc/method.js'
import { textBetween } from '../../../src/serving/rpc/reading/callText.js'
import {
  type Call,
  type CallLookup,
  CallReader,
  type MethodLookup,
  readUsualCall,
} from '../../../src/serving/rpc/reading/envelope.js'
import { requestBody } from '../../fuzz/requestBody.js'
import { propertyRuns } from '../../library/property.js'

const limits = { batchCallsMax: 4, callBytesMax: 10_000 }
const nestingMax = 64

type Plain =
  | {
      readonly kind: 'call'
      readonly id: unknown
      readonly method: string
      readonly params: unknown
      readonly at: unknown
    }
  | { readonly kind: 'invalid'; readonly id: unknown }
type PlainRequest =
  | { readonly fault: string }
  | { readonly isBatch: boolean; readonly calls: readonly Plain[] }

function plainRequest(body: Uint8Array): PlainRequest {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch {
    return { fault: 'ParseError' }
  }
  if (nestingOf(value) > nestingMax) return { fault: 'InvalidRequest' }
  if (!Array.isArray(value)) return { isBatch: false, calls: [plainCall(value)] }
  if (value.length === 0) return { fault: 'EmptyBatch' }
  if (value.length > limits.batchCallsMax) return { fault: 'BatchTooLarge' }
  return { isBatch: true, calls: value.map(plainCall) }
}

function nestingOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(nestingOf))
}

/** `id` is undefined for a notification. */
function plainCall(value: unknown): Plain {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { kind: 'invalid', id: null }
  const { jsonrpc, id, method, params, at } = value as Record<string, unknown>
  const hasId = Object.hasOwn(value, 'id')
  if (hasId && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    return { kind: 'invalid', id: null }
  }
  if (jsonrpc !== '2.0' || typeof method !== 'string' || method.length > 2048) {
    return { kind: 'invalid', id: hasId ? id : null }
  }
  return { kind: 'call', id: hasId ? id : undefined, method, params, at }
}

interface Asked {
  readonly method: string
  readonly params: unknown
}

/** Earlier calls, by method and parameters. */
class Memory implements CallLookup<Asked, string> {
  readonly #known = new Map<string, Asked>()
  #sought = ''

  find({ name }: NamedMethod, bytes: Uint8Array, start: number, end: number): Asked | undefined {
    this.#sought = `${name}\0${Buffer.from(bytes).toString('latin1', start, end)}`
    return this.#known.get(this.#sought)
  }

  missed(): string {
    return this.#sought
  }

  keep(call: Call<Asked, string>): void {
    if (call.kind !== 'call' || call.asked === undefined) return
    this.#known.set(call.asked, { method: call.method, params: call.params })
  }
}

/** In this test, every text is the name of a method. */
const names: MethodLookup = {
  find: (start, end) => ({ name: textBetween(start, end), number: 0, params: undefined, isQuick: false }),
}

/** Like {@link plainRequest}, but with the tested readers. */
function readRequest(body: Uint8Array, memory: Memory): PlainRequest {
  try {
    const usual = readUsualCall(body, memory, names)
    if (usual !== undefined) return { isBatch: false, calls: [toPlain(usual, memory, body)] }
    const reader = new CallReader<Asked, string>(body, limits, names)
    const calls: Plain[] = []
    while (reader.left > 0) {
      // From the second call on, the body is overwritten, as after a pause.
      if (calls.length === 1) reader.keep()
      calls.push(toPlain(reader.read(memory), memory, body))
    }
    return { isBatch: reader.isBatch, calls }
  } catch (error) {
    if (!(error instanceof FaultError)) throw error
    return { fault: error.fault.kind }
  }
}

function toPlain(call: Call<Asked, string>, memory: Memory, body: Uint8Array): Plain {
  const id: unknown = call.id === undefined ? undefined : JSON.parse(call.id)
  if (call.id !== undefined && call.id !== 'null' && !Buffer.from(body).includes(call.id)) {
    throw new Error(`the id ${call.id} was never written`)
  }
  if (call.kind === 'invalid') return { kind: 'invalid', id }
  if (call.kind === 'known') return { kind: 'call', id, ...call.known, at: undefined }
  memory.keep(call)
  return { kind: 'call', id, method: call.method, params: call.params, at: call.at }
}

const nested = fc.nat({ max: 10 }).map((more) => {
  const depth = nestingMax - 5 + more
  return Buffer.from(
    `{"jsonrpc":"2.0","id":1,"method":"m","params":${'['.repeat(depth)}${']'.repeat(depth)}}`,
  )
})
const anyBody = fc.oneof({ weight: 50, arbitrary: requestBody }, { weight: 1, arbitrary: nested })

t.test('requests are read as by parsing them whole, the first time and when they are known', async (t) => {
  const memory = new Memory()
  const kinds = new Map<string, number>()
  const settings = propertyRuns(10_000)
  fc.assert(
    fc.property(anyBody, fc.nat({ max: 3 }), (body, spaces) => {
      const padded = Buffer.concat([Buffer.alloc(spaces, ' '), body, Buffer.alloc(spaces, '\n')])
      const plain = plainRequest(padded)
      for (const time of ['first', 'second']) {
        const read = readRequest(padded, memory)
        // Counting ends at the first surplus call, for any rest.
        const isCut =
          'fault' in plain &&
          'fault' in read &&
          read.fault === 'BatchTooLarge' &&
          plain.fault === 'ParseError'
        if (isCut || isDeepStrictEqual(read, plain)) continue
        throw new Error(`${time}: ${inspect(read)} but ${inspect(plain)} of ${padded.toString('latin1')}`)
      }
      const kind = 'fault' in plain ? plain.fault : (plain.calls[0]?.kind ?? '')
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    }),
    settings,
  )
  for (const kind of ['ParseError', 'EmptyBatch', 'BatchTooLarge', 'InvalidRequest', 'call', 'invalid']) {
    t.ok((kinds.get(kind) ?? 0) > 0, `${kinds.get(kind)} times ${kind}`)
  }
})
