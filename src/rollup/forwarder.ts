/**
 * Delivery of waiting transactions to a sequencer: each at least once, those of one sender one after the other by
 * nonce, until the sequencer has said a word on each. Owns order, rate and repetition.
 */
import type { Felt } from './felt.js'
import type { Delivery, SequencerClient } from './sequencerClient.js'
import type { Outgoing, SubmissionQueue } from './submissionQueue.js'

export interface ForwarderOptions {
  readonly queue: SubmissionQueue
  readonly client: SequencerClient
  /** Transactions given to the sequencer at the same time. */
  readonly inFlightMax: number
  /** Something that the operator should know, in one sentence. Said at changes, not at every attempt. */
  readonly log: (message: string) => void
}

/** First and longest wait between attempts. The first is soon enough for a restart, the longest easy on a network. */
const backoffMsMin = 100
const backoffMsMax = 30_000

/** Attempts in vain, one after the other, that mean more than single connections lost: then all deliveries pause. */
const silencesMax = 3

export class Forwarder {
  readonly #queue: SubmissionQueue
  readonly #client: SequencerClient
  readonly #inFlightMax: number
  readonly #log: (message: string) => void
  readonly #unlisten: () => void
  /** Senders that have something to send, in turn. */
  readonly #ready: Set<Felt>
  /** Senders whose first transaction is on its way, or that wait for another attempt at it. */
  readonly #busy = new Set<Felt>()
  /** Busy senders that got another transaction meanwhile. */
  readonly #renewed = new Set<Felt>()
  /** Attempts in vain, of the first transaction of a sender. */
  readonly #failures = new Map<Felt, number>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #running = new Set<Promise<void>>()
  /** Attempts in vain since the sequencer last said a word, on whatever transaction, and pauses for them. */
  #silences = 0
  #pauses = 0
  #isPaused = false
  #isStopped = false

  /** Starts with what the queue holds. */
  constructor({ queue, client, inFlightMax, log }: ForwarderOptions) {
    this.#queue = queue
    this.#client = client
    this.#inFlightMax = inFlightMax
    this.#log = log
    this.#ready = queue.waitingSenders()
    this.#unlisten = queue.onStatus(({ sender, state }) => {
      if (state !== 'RECEIVED') return
      if (this.#busy.has(sender)) this.#renewed.add(sender)
      else this.#ready.add(sender)
      this.#pump()
    })
    this.#pump()
  }

  /** Whether the sequencer said a word last time it was asked. */
  get isAnswered(): boolean {
    return this.#pauses === 0
  }

  /** Ends every attempt; what was not settled stays in the queue. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unlisten()
    this.#client.close()
    for (const timer of this.#timers) clearTimeout(timer)
    await Promise.allSettled(this.#running)
  }

  /** Begins as many deliveries as may be: one at a time while the sequencer is silent. */
  #pump(): void {
    while (!this.#isStopped && !this.#isPaused) {
      if (this.#running.size >= (this.#pauses === 0 ? this.#inFlightMax : 1)) return
      const sender = this.#ready.values().next().value
      if (sender === undefined) return
      this.#ready.delete(sender)
      this.#busy.add(sender)
      const run = this.#deliverFirst(sender)
        .catch((error: Error) => {
          // The store failed; what it holds is as it was.
          this.#log(`a submission could not be brought forward: ${error.message}`)
          return backoffMsMax
        })
        .then((waitMs) => {
          this.#running.delete(run)
          if (waitMs === undefined) this.#release(sender)
          else this.#after(waitMs, () => this.#release(sender))
          this.#pump()
        })
      this.#running.add(run)
    }
  }

  /** One attempt at the first transaction of a sender. Resolves to the time until the next one; undefined for none. */
  async #deliverFirst(sender: Felt): Promise<number | undefined> {
    this.#renewed.delete(sender)
    const outgoing = await this.#queue.beginSending(sender)
    if (outgoing === undefined) {
      this.#failures.delete(sender)
      this.#busy.delete(sender)
      if (this.#renewed.delete(sender)) this.#ready.add(sender)
      return undefined
    }
    const { hash } = outgoing
    const delivery = await this.#submit(outgoing)
    if (delivery.kind === 'unanswered') {
      await this.#queue.endSending(hash, {
        isUndelivered: delivery.isUndelivered && !outgoing.wasSent,
      })
      return this.#isStopped ? undefined : this.#backOff(sender, delivery.why)
    }
    this.#noteAnswer(sender)
    if (delivery.kind === 'accepted') {
      if (delivery.hash !== undefined && BigInt(delivery.hash) !== BigInt(hash)) {
        this.#log(`the sequencer knows ${hash} as ${delivery.hash}; check the chain id of the network`)
      }
      await this.#queue.settle(hash, undefined)
    } else {
      await this.#queue.settle(hash, delivery.rejection)
    }
    return undefined
  }

  /** A refusal after an attempt without an answer may mean that the transaction has been executed since. */
  async #submit({ hash, body, wasSent }: Outgoing): Promise<Delivery> {
    const delivery = await this.#client.submit(body)
    if (delivery.kind !== 'rejected' || !wasSent) return delivery
    const isThere = await this.#client.hasTransaction(hash)
    if (isThere === undefined) {
      return { kind: 'unanswered', why: 'no answer about an earlier attempt', isUndelivered: false }
    }
    return isThere ? { kind: 'accepted', hash: undefined } : delivery
  }

  #release(sender: Felt): void {
    if (!this.#busy.delete(sender)) return
    this.#ready.add(sender)
    this.#pump()
  }

  #noteAnswer(sender: Felt): void {
    this.#failures.delete(sender)
    if (this.#pauses > 0) this.#log('the sequencer answers again')
    this.#pauses = 0
    this.#silences = 0
  }

  /** Notes an attempt in vain, pauses all deliveries where it is one of several, and returns how long this sender has to wait. */
  #backOff(sender: Felt, why: string): number {
    const failures = (this.#failures.get(sender) ?? 0) + 1
    this.#failures.set(sender, failures)
    this.#silences++
    if (!this.#isPaused && this.#silences >= silencesMax) {
      if (this.#pauses === 0) this.#log(`the sequencer does not answer (${why}); trying on`)
      this.#isPaused = true
      this.#pauses++
      this.#after(backoffMs(this.#pauses), () => {
        this.#isPaused = false
        this.#pump()
      })
    }
    return backoffMs(failures)
  }

  #after(ms: number, action: () => void): void {
    if (this.#isStopped) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      action()
    }, ms)
    timer.unref()
    this.#timers.add(timer)
  }
}

/** Doubles with each failure up to its bound; a random half of it keeps senders from coming back together. */
function backoffMs(failures: number): number {
  const whole = Math.min(backoffMsMax, backoffMsMin * 2 ** Math.min(failures - 1, 20))
  return whole / 2 + (Math.random() * whole) / 2
}
