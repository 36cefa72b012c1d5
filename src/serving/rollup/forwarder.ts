/**
 * Delivers waiting transactions to a sequencer: each at least once, those of one sender one after the other by nonce,
 * until the sequencer has accepted or rejected each. Owns order, rate and repetition.
 */

import { setTimeout } from '../../primitives/timers.js'
import type { Deliveries, Outgoing } from './deliveries.js'
import type { Felt } from './felt.js'
import type { SequencerClient } from './sequencerClient.js'
import type { Unanswered } from './sequencerExchange.js'
import type { SubmissionQueue } from './submissionQueue.js'
import type { Rejection } from './submissionService.js'
import { FencedError } from './submissionStore.js'

interface ForwarderOptions {
  readonly queue: Pick<SubmissionQueue, 'onStatus'>
  readonly deliveries: Deliveries
  readonly client: SequencerClient
  /** Transactions sent to the sequencer at the same time. */
  readonly inFlightMax: number
  /** Answers to one transaction that `sequencerErrors.ts` does not know, after which it counts as rejected. */
  readonly unknownAnswersMax: number
  /** First wait between attempts, in ms; {@link retryMsMin} unless given. */
  readonly retryMsMin?: number
  /** Called with one sentence for the operator, when something changes, not at every attempt. */
  readonly log: (message: string) => void
}

/**
 * First and longest wait between attempts. The first suits a restart of the sequencer, the longest spares the
 * network.
 */
const retryMsMin = 100
const retryMsMax = 30_000

/** Unanswered attempts in a row after which all deliveries pause; fewer may be single lost connections. */
const silencesMax = 3

/** Results so far of the attempts to deliver a sender's first transaction. */
interface DeliveryState {
  /** Undefined before it could be read. */
  hash: Felt | undefined
  failures: number
  unknownAnswers: number
  /** Whether the sequencer accepted the transaction under another hash. */
  isMistaken: boolean
  /** Whether the sequencer did not say if it has the transaction. */
  isUnsure: boolean
}

function newDeliveryState(): DeliveryState {
  return { hash: undefined, failures: 0, unknownAnswers: 0, isMistaken: false, isUnsure: false }
}

/**
 * Result of an attempt: the transaction is settled (`rejection` undefined: accepted), the sequencer did not answer,
 * or its answer settles nothing.
 */
type Outcome =
  | { readonly kind: 'settled'; readonly rejection: Rejection | undefined }
  | Unanswered
  | { readonly kind: 'unsettled'; readonly retryAfterMs?: number | undefined }

const accepted: Outcome = { kind: 'settled', rejection: undefined }
const unsettled: Outcome = { kind: 'unsettled' }

export class Forwarder {
  readonly #options: ForwarderOptions
  readonly #unlisten: () => void
  /** Senders with a transaction to send, in the order in which they are served. */
  readonly #ready = new Set<Felt>()
  /** Senders whose first transaction is being sent or waits for another attempt. */
  readonly #busy = new Set<Felt>()
  /** Busy senders that submitted another transaction meanwhile. */
  readonly #renewed = new Set<Felt>()
  readonly #states = new Map<Felt, DeliveryState>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #running = new Set<Promise<void>>()
  /** Unanswered attempts since the sequencer's last answer to any transaction, and pauses made because of them. */
  #silences = 0
  #pauses = 0
  /** The timer that ends the pause of all deliveries, and its time on the clock of `performance.now()`. */
  #resuming: { readonly timer: NodeJS.Timeout; readonly atMs: number } | undefined
  #isStopped = false

  /** Delivers what becomes RECEIVED, and what {@link serve} is told. */
  constructor(options: ForwarderOptions) {
    this.#options = options
    this.#unlisten = options.queue.onStatus(({ sender, state }) => {
      if (state === 'RECEIVED') this.serve([sender])
    })
  }

  /** Delivers the transactions of these senders that wait, in their order. */
  serve(senders: Iterable<Felt>): void {
    for (const sender of senders) {
      if (this.#busy.has(sender)) this.#renewed.add(sender)
      else this.#ready.add(sender)
    }
    this.#pump()
  }

  /** Whether the sequencer answers: deliveries are not paused for its silence. */
  get isAnswered(): boolean {
    return this.#pauses === 0
  }

  /** Ends every attempt; unsettled transactions stay in the queue. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unlisten()
    this.#options.client.close()
    for (const timer of this.#timers) clearTimeout(timer)
    clearTimeout(this.#resuming?.timer)
    await Promise.allSettled(this.#running)
  }

  /** Begins deliveries up to the limit; one at a time while the sequencer does not answer. */
  #pump(): void {
    while (!this.#isStopped && this.#resuming === undefined) {
      if (this.#running.size >= (this.#pauses === 0 ? this.#options.inFlightMax : 1)) return
      const sender = this.#ready.values().next().value
      if (sender === undefined) return
      this.#ready.delete(sender)
      this.#busy.add(sender)
      const run = this.#deliverFirst(sender)
        .catch((error: Error) => this.#noteFailedWrite(sender, error))
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
    const outgoing = await this.#options.deliveries.beginSending(sender)
    if (outgoing === undefined) {
      this.#states.delete(sender)
      this.#busy.delete(sender)
      if (this.#renewed.delete(sender)) this.#ready.add(sender)
      return undefined
    }
    const { hash, wasSent } = outgoing
    const state = this.#stateOf(sender, hash)
    const outcome = await this.#attempt(outgoing, state)
    if (outcome.kind === 'settled') {
      await this.#options.deliveries.settle(hash, outcome.rejection)
      this.#states.delete(sender)
      return undefined
    }
    if (outcome.kind === 'unanswered' && outcome.isUndelivered && !wasSent)
      await this.#options.deliveries.requeue(hash)
    return this.#isStopped ? undefined : this.#backOff(state, outcome)
  }

  #stateOf(sender: Felt, hash?: Felt): DeliveryState {
    let state = this.#states.get(sender) ?? newDeliveryState()
    if (hash !== undefined) {
      // One with a lower nonce may have come before the one that was tried.
      if (state.hash !== undefined && state.hash !== hash) state = newDeliveryState()
      state.hash = hash
    }
    this.#states.set(sender, state)
    return state
  }

  /** Returns the wait of a sender whose rows could not be written, and may be unchanged, in ms. */
  #noteFailedWrite(sender: Felt, error: Error): number {
    const state = this.#stateOf(sender)
    // Once others send, this forwarder is about to be stopped.
    if (state.failures++ === 0 && !this.#isStopped && !(error instanceof FencedError))
      this.#options.log(`a submission could not be brought forward: ${error.message}; trying on`)
    return this.#retryMs(state.failures)
  }

  async #attempt({ hash, body, wasSent, expiry }: Outgoing, state: DeliveryState): Promise<Outcome> {
    if (expiry !== undefined) return this.#ask(hash, expiry, state)
    const delivery = await this.#options.client.submit(hash, body)
    if (delivery.kind === 'unanswered') return delivery
    this.#noteAnswer()
    switch (delivery.kind) {
      case 'accepted':
        return accepted
      case 'known':
        // After an acceptance under another hash, that one may be meant.
        return state.isMistaken ? this.#ask(hash, undefined, state) : accepted
      case 'mistaken':
        if (!state.isMistaken) {
          this.#options.log(
            `the sequencer knows ${hash} as ${delivery.hash}; check the chain id of the network`,
          )
        }
        state.isMistaken = true
        return this.#ask(hash, undefined, state)
      case 'final':
        // After an unanswered attempt the transaction may have been executed already.
        if (wasSent) return this.#ask(hash, delivery.rejection, state)
        return { kind: 'settled', rejection: delivery.rejection }
      case 'asked':
        return this.#ask(hash, delivery.rejection, state)
      case 'unknown':
        return this.#judgeUnknown(hash, delivery.rejection, state)
    }
  }

  /**
   * A transaction with only unknown answers is rejected at some point, because its sender's later ones wait behind
   * it.
   */
  #judgeUnknown(hash: Felt, rejection: Rejection, state: DeliveryState): Outcome | Promise<Outcome> {
    const count = ++state.unknownAnswers
    this.#options.log(
      `unknown answer ${count} of ${this.#options.unknownAnswersMax} of the sequencer to ${hash}: ${rejection.text}`,
    )
    return count < this.#options.unknownAnswersMax ? unsettled : this.#ask(hash, rejection, state)
  }

  /** Settles a transaction by whether the sequencer has it: accepted if so, otherwise rejected with `rejection`. */
  async #ask(hash: Felt, rejection: Rejection | undefined, state: DeliveryState): Promise<Outcome> {
    const presence = await this.#options.client.find(hash)
    if (presence.kind === 'unanswered') {
      if (!state.isUnsure) {
        this.#options.log(`the sequencer does not say whether it has ${hash} (${presence.why}); asking on`)
      }
      state.isUnsure = true
      return { kind: 'unsettled', retryAfterMs: presence.retryAfterMs }
    }
    if (presence.kind === 'there') return accepted
    return rejection === undefined ? unsettled : { kind: 'settled', rejection }
  }

  #release(sender: Felt): void {
    if (!this.#busy.delete(sender)) return
    this.#ready.add(sender)
    this.#pump()
  }

  #noteAnswer(): void {
    if (this.#pauses > 0) this.#options.log('the sequencer answers again')
    this.#pauses = 0
    this.#silences = 0
  }

  /**
   * Pauses all deliveries where the sequencer is silent or asks for it, and returns the wait of this sender, in ms.
   */
  #backOff(state: DeliveryState, outcome: Exclude<Outcome, { kind: 'settled' }>): number {
    state.failures++
    if (outcome.kind === 'unanswered') this.#noteSilence(outcome.why)
    if (outcome.retryAfterMs !== undefined) this.#pause(outcome.retryAfterMs)
    return this.#retryMs(state.failures)
  }

  #noteSilence(why: string): void {
    this.#silences++
    if (this.#resuming !== undefined || this.#silences < silencesMax) return
    if (this.#pauses === 0) this.#options.log(`the sequencer does not answer (${why}); trying on`)
    this.#pauses++
    this.#pause(this.#retryMs(this.#pauses))
  }

  /** Begins no delivery for `ms`; does not shorten a longer pause. */
  #pause(ms: number): void {
    const atMs = performance.now() + ms
    if (this.#isStopped || (this.#resuming !== undefined && this.#resuming.atMs >= atMs)) return
    clearTimeout(this.#resuming?.timer)
    const timer = setTimeout(() => {
      this.#resuming = undefined
      this.#pump()
    }, ms)
    timer.unref()
    this.#resuming = { timer, atMs }
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

  /**
   * Doubles with each failure up to {@link retryMsMax}. Half of it is random, so that senders do not return together.
   */
  #retryMs(failures: number): number {
    const least = this.#options.retryMsMin ?? retryMsMin
    const whole = Math.min(retryMsMax, least * 2 ** Math.min(failures - 1, 20))
    return whole / 2 + (Math.random() * whole) / 2
  }
}
