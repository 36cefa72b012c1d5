/** A client of subscriptions without a socket: its messages, and how many of their bytes it has read. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Answer } from '../../../../src/serving/rpc/answers/answer.js'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import type { Endpoint } from '../../../../src/serving/rpc/dispatch/endpoint.js'
import { type EventSink, Subscriber } from '../../../../src/serving/streams/subscriber.js'
import { SubscriberPool } from '../../../../src/serving/streams/subscriberPool.js'
import { localTotals } from '../../../../src/serving/transport/totals.js'
import { wideSubscriptionLimits } from '../../../transport/serverLimits.js'
import { bodyText } from '../rpc/testMethods.js'

export const limits = wideSubscriptionLimits

// biome-ignore lint/suspicious/noExplicitAny: events are whatever came over the wire
export type Event = any

export class TestClient implements EventSink {
  readonly subscriber: Subscriber
  /** All sent messages, as text, in order. */
  readonly sent: string[] = []
  closed: { readonly code: number; readonly reason: string } | undefined
  /** Whether the wire reads. */
  isReading = true
  #unread = 0
  readonly #endpoint: Endpoint

  constructor(
    endpoint: Endpoint,
    subscriptionLimits = limits,
    pool = new SubscriberPool(subscriptionLimits, localTotals()),
    key?: string,
  ) {
    this.#endpoint = endpoint
    this.subscriber = new Subscriber(this, key, pool)
  }

  get bufferedBytes(): number {
    return this.#unread
  }

  send(message: Uint8Array): void {
    if (this.closed !== undefined) throw new Error('a send after the close')
    this.sent.push(Buffer.from(message).toString('utf8'))
    if (!this.isReading) this.#unread += message.length
  }

  close(code: number, reason: string): void {
    if (this.closed !== undefined) throw new Error('a second close')
    if (Buffer.byteLength(reason) > 123) throw new Error('a reason that no close frame can hold')
    this.closed = { code, reason }
  }

  /** Reads at most `bytes` of the unread messages, as a socket that drains. */
  read(bytes = Number.POSITIVE_INFINITY): void {
    this.#unread = Math.max(0, this.#unread - bytes)
    this.subscriber.drained()
  }

  /** Calls over this connection, like the transport: the answer is sent before any event that follows from it. */
  call(method: string, params: unknown = []): Event {
    const { answer, send } = this.#ask(method, params)
    if (answer instanceof Promise) throw new Error('subscriptions are answered at once')
    return send(answer)
  }

  /** Like {@link call}, but for an answer that may take several turns. */
  async answer(method: string, params: unknown = []): Promise<Event> {
    const { answer, send } = this.#ask(method, params)
    return send(await answer)
  }

  #ask(method: string, params: unknown) {
    const caller = new RequestContext(this.subscriber)
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const send = (answer: Answer): Event => {
      this.sent.push(bodyText(answer))
      caller.finish()
      return JSON.parse(bodyText(answer))
    }
    return { answer: this.#endpoint.handle(body, caller), send }
  }

  subscribe(...params: unknown[]): string {
    const { result, error } = this.call('eth_subscribe', params)
    if (error !== undefined) throw new Error(JSON.stringify(error))
    return result
  }

  /** Events of one subscription so far, in the form of `params`. */
  events(id: string): Event[] {
    return this.sent
      .map((text) => JSON.parse(text))
      .filter(({ params }) => params?.subscription === id)
      .map(({ params }) => params)
  }

  results(id: string): Event[] {
    return this.events(id).map(({ result }) => result)
  }
}

/** Waits until all work that needs no further reading is done. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn()
}
