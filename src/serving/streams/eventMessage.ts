import { asBuffer, toQuantity } from '../../primitives/bytes.js'

const beforeId = Buffer.from('{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x')
const beforeResult = Buffer.from('","result":')
const beforeSequence = Buffer.from(',"seq":')

/** Hex digits of a subscription's id: 16 random bytes, as in go-ethereum. */
export const idDigits = 32
/** Digits of 2^53 − 1, and the two braces. */
const tailBytes = 16 + 2
const digitZero = 0x30
const closingBrace = 0x7d

/** Origin of events, for instance a step of the chain. All events of one origin share one such object. */
export interface EventOrigin {
  readonly number: number
}

/**
 * One event, rendered once for all receivers. The whole text is in one buffer. The parts that differ by receiver,
 * subscription id and sequence number, are written into it just before each send.
 */
export class EventMessage<O extends EventOrigin = EventOrigin> {
  readonly #bytes: Buffer
  readonly #sequenceAt: number
  /**
   * The text for a sequence number with as many digits as the last receiver's. Cached because most receivers of a block
   * have equally many.
   */
  #view: Uint8Array

  /** `result` is JSON; a string must be ASCII. `index` is the event's place among those of its origin. */
  constructor(
    result: string | Uint8Array,
    readonly origin: O,
    readonly index = 0,
  ) {
    const head = beforeId.length + idDigits + beforeResult.length
    this.#sequenceAt = head + result.length + beforeSequence.length
    const bytes = Buffer.allocUnsafeSlow(this.#sequenceAt + tailBytes)
    beforeId.copy(bytes)
    beforeResult.copy(bytes, beforeId.length + idDigits)
    if (typeof result === 'string') bytes.write(result, head, 'latin1')
    else asBuffer(result).copy(bytes, head)
    beforeSequence.copy(bytes, head + result.length)
    this.#bytes = bytes
    this.#view = bytes
  }

  /** Bytes of this event in memory; on the wire it has at most as many. */
  get size(): number {
    return this.#bytes.length
  }

  /**
   * The text for one receiver; `id` is its subscription id as ASCII digits. The bytes are valid until the next call.
   */
  address(id: Uint8Array, sequence: number): Uint8Array {
    const bytes = this.#bytes
    bytes.set(id, beforeId.length)
    let end = this.#sequenceAt
    for (let rest = sequence; rest > 0; rest = Math.floor(rest / 10)) end++
    let rest = sequence
    for (let at = end - 1; at >= this.#sequenceAt; at--) {
      bytes[at] = digitZero + (rest % 10)
      rest = Math.floor(rest / 10)
    }
    bytes[end++] = closingBrace
    bytes[end++] = closingBrace
    if (this.#view.length !== end) this.#view = new Uint8Array(bytes.buffer, bytes.byteOffset, end)
    return this.#view
  }
}

/** Events that cannot be made again: stored for all subscriptions together, which get all of them. */
export interface KeptEvents extends EventOrigin {
  readonly messages: EventMessage<KeptEvents>[]
}

export function keepEvents(number: number, results: readonly (string | Uint8Array)[]): KeptEvents {
  const kept: KeptEvents = { number, messages: [] }
  for (const [index, result] of results.entries()) kept.messages.push(new EventMessage(result, kept, index))
  return kept
}

/** Events that a slow reader does not get: their count and their lowest and highest block. */
export class Skipped {
  #from = Number.POSITIVE_INFINITY
  #to = 0
  #count = 0

  add({ number }: EventOrigin, count: number): void {
    this.#from = Math.min(this.#from, number)
    this.#to = Math.max(this.#to, number)
    this.#count += count
  }

  /** The event that reports the gap to the reader. */
  message(): EventMessage {
    const json = `{"skipped":{"from":"${toQuantity(this.#from)}","to":"${toQuantity(this.#to)}","count":${this.#count}}}`
    return new EventMessage(json, { number: this.#to })
  }
}
