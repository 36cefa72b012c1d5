import { randomBytes } from 'node:crypto'
import type { Felt } from '../../rollup/felt.js'
import type { SubmissionRow, SubmissionService } from '../../rollup/submissionService.js'
import type { OwnedSubscription, Subscriber } from '../../streams/subscriber.js'
import { subscriptionBytes } from '../../streams/subscriberPool.js'
import { renderStatus } from './transactionStatus.js'

/**
 * A connection's subscription to the status of one transaction. When there is room it sends the current status, if it
 * differs from the last one sent: a slow reader may miss intermediate ones, never the last.
 */
export class StatusSubscription implements OwnedSubscription {
  /** 16 random bytes, as for other subscriptions. */
  readonly id = `0x${randomBytes(16).toString('hex')}`
  readonly bytes = subscriptionBytes
  readonly #unlisten: () => void
  #status: string | undefined
  #lastStatus: string | undefined
  #isStarted = false
  #isEnded = false
  readonly #subscriber: Subscriber
  readonly #prefix: string
  readonly #hash: Felt

  /** `prefix` is that of the method that subscribed. */
  constructor(subscriber: Subscriber, queue: SubmissionService, prefix: string, hash: Felt) {
    this.#subscriber = subscriber
    this.#prefix = prefix
    this.#hash = hash
    this.#unlisten = queue.onStatusOf(hash, ({ state, rejection }) => {
      this.#status = renderStatus(state, rejection)
      this.resume()
    })
  }

  /** Takes the status as it was read after the subscription was made; changes that came since are newer. */
  take(row: SubmissionRow | undefined): void {
    this.#status ??= row && renderStatus(row.state, row.rejection)
  }

  /** Begins to send; call it once the client knows the id. */
  start(): void {
    this.#isStarted = true
    this.resume()
  }

  resume(): void {
    if (!this.#isStarted || this.#isEnded) return
    const status = this.#status
    if (status === undefined || status === this.#lastStatus) return
    if (!this.#subscriber.hasRoom) return this.#subscriber.resumeLater(this)
    this.#lastStatus = status
    const result = `{"transaction_hash":"${this.#hash}","status":${status}}`
    this.#subscriber.sink.send(
      Buffer.from(
        `{"jsonrpc":"2.0","method":"${this.#prefix}_subscriptionTransactionStatus","params":{"subscription_id":"${this.id}","result":${result}}}`,
      ),
    )
  }

  end(): void {
    this.#isEnded = true
    this.#unlisten()
  }
}
