/**
 * Delivers waiting transactions to a sequencer, each at least once, until the sequencer has accepted or rejected it.
 * The transactions of one lane (one sender's by one key) follow each other by nonce. Owns repetition, and the meaning
 * of answers for a transaction. `deliveryTurns.ts` decides whose turn it is.
 */

import { FencedError } from '../../data/postgres/lease.js'
import { setTimeout } from '../../primitives/timers.js'
import type { Deliveries, Outgoing } from './deliveries.js'
import { DeliveryTurns } from './deliveryTurns.js'
import type { Felt } from './felt.js'
import type { SequencerClient } from './sequencerClient.js'
import type { Unanswered } from './sequencerExchange.js'
import type { SubmissionQueue } from './submissionQueue.js'
import { idText, laneText, type Rejection } from './submissionService.js'
import type { Lane } from './submissionStore.js'

interface ForwarderOptions {
  readonly queue: Pick<SubmissionQueue, 'onStatus'>
  readonly deliveries: Deliveries
  readonly client: SequencerClient
  /** Transactions sent to the sequencer at the same time. */
  readonly inFlightMax: number
  /** Unknown answers (see `sequencerErrors.ts`) to one transaction after which it counts as rejected. */
  readonly unknownAnswersMax: number
  /** First wait between attempts, in ms; {@link retryMsMin} unless given. */
  readonly retryMsMin?: number
  /** Called with one sentence for the operator, when something changes, not at every attempt. */
  readonly log: (message: string) => void
}

/**
 * First and longest wait between attempts. The first suits a restart of the sequencer, the longest spares the network.
 */
const retryMsMin = 100
const retryMsMax = 30_000

/** Unanswered attempts in a row after which the sequencer counts as away; fewer may be single lost connections. */
const silencesMax = 3

/** Results so far of the attempts to deliver a lane's first transaction. */
interface DeliveryState {
  /** Undefined before the transaction could be read. */
  name: string | undefined
  failures: number
  unknownAnswers: number
  /** Whether the sequencer accepted the transaction under another hash. */
  isMistaken: boolean
  /** Whether the sequencer did not say if it has the transaction. */
  isUnsure: boolean
}

function newDeliveryState(): DeliveryState {
  return { name: undefined, failures: 0, unknownAnswers: 0, isMistaken: false, isUnsure: false }
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
  readonly #turns: DeliveryTurns
  /** Lanes whose first transaction is being sent or waits for another attempt. */
  readonly #busy = new Set<string>()
  /** Busy lanes that got another transaction meanwhile. */
  readonly #renewed = new Set<string>()
  readonly #states = new Map<string, DeliveryState>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #running = new Set<Promise<void>>()
  /** Unanswered attempts since the sequencer's last answer to any transaction. */
  #silences = 0
  #hasAnswered = false
  #isStopped = false

  /** Delivers transactions that become RECEIVED, and the lanes passed to {@link serve}. */
  constructor(options: ForwarderOptions) {
    this.#options = options
    this.#turns = new DeliveryTurns({
      inFlightMax: options.inFlightMax,
      pauseMs: (pauses) => this.#retryMs(pauses),
      onTurn: () => this.#pump(),
    })
    this.#unlisten = options.queue.onStatus(({ key, sender, state }) => {
      if (state === 'RECEIVED') this.serve([{ key, sender }])
    })
  }

  /** Delivers the waiting transactions of these lanes, in the order given. */
  serve(lanes: Iterable<Lane>): void {
    for (const lane of lanes) {
      const name = laneText(lane)
      if (this.#busy.has(name)) this.#renewed.add(name)
      else this.#turns.add(lane)
    }
    this.#pump()
  }

  /** Whether the sequencer answers any key; undefined before its first answer or {@link silencesMax} silences. */
  get isAnswered(): boolean | undefined {
    if (this.#silences >= silencesMax) return false
    return this.#hasAnswered ? true : undefined
  }

  /** Keys whose transactions the sequencer does not answer. */
  get silentTo(): ReadonlySet<string> {
    return this.#turns.silentKeys
  }

  /** Ends every attempt; unsettled transactions stay in the queue. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unlisten()
    this.#options.client.close()
    for (const timer of this.#timers) clearTimeout(timer)
    this.#turns.stop()
    await Promise.allSettled(this.#running)
  }

  /** Begins as many deliveries as are allowed at once. */
  #pump(): void {
    for (let lane = this.#turns.begin(); lane !== undefined; lane = this.#turns.begin()) this.#start(lane)
  }

  #start(lane: Lane): void {
    this.#busy.add(laneText(lane))
    const run = this.#deliverFirst(lane)
      .catch((error: Error) => this.#noteFailedWrite(lane, error))
      .then((waitMs) => {
        this.#running.delete(run)
        this.#turns.end(lane)
        if (waitMs === undefined) this.#release(lane)
        else this.#after(waitMs, () => this.#release(lane))
        this.#pump()
      })
    this.#running.add(run)
  }

  /** One attempt at the first transaction of a lane. Resolves to the time until the next one; undefined for none. */
  async #deliverFirst(lane: Lane): Promise<number | undefined> {
    const name = laneText(lane)
    this.#renewed.delete(name)
    const outgoing = await this.#options.deliveries.beginSending(lane)
    if (outgoing === undefined) {
      this.#states.delete(name)
      this.#busy.delete(name)
      if (this.#renewed.delete(name)) this.#turns.add(lane)
      return undefined
    }
    const state = this.#stateOf(lane, idText(outgoing))
    const outcome = await this.#attempt(outgoing, state)
    if (outcome.kind === 'settled') {
      await this.#options.deliveries.settle(outgoing, outcome.rejection)
      this.#states.delete(name)
      return undefined
    }
    if (outcome.kind === 'unanswered' && outcome.isUndelivered && !outgoing.wasSent)
      await this.#options.deliveries.requeue(outgoing)
    return this.#isStopped ? undefined : this.#backOff(lane, state, outcome)
  }

  /** `name` is that of the lane's first transaction. */
  #stateOf(lane: Lane, name?: string): DeliveryState {
    let state = this.#states.get(laneText(lane)) ?? newDeliveryState()
    if (name !== undefined) {
      // A transaction with a lower nonce may have come before the one that was tried.
      if (state.name !== undefined && state.name !== name) state = newDeliveryState()
      state.name = name
    }
    this.#states.set(laneText(lane), state)
    return state
  }

  /** Returns the wait in ms of a lane whose rows could not be written and may be unchanged. */
  #noteFailedWrite(lane: Lane, error: Error): number {
    const state = this.#stateOf(lane)
    // Once another process sends, this forwarder will be stopped.
    if (state.failures++ === 0 && !this.#isStopped && !(error instanceof FencedError))
      this.#options.log(`a submission could not be brought forward: ${error.message}; retrying`)
    return this.#retryMs(state.failures)
  }

  async #attempt({ key, body, wasSent, expiry, ...id }: Outgoing, state: DeliveryState): Promise<Outcome> {
    const hash = id.hash as Felt
    if (expiry !== undefined) return this.#ask(hash, expiry, state)
    const delivery = await this.#options.client.submit(hash, body)
    if (delivery.kind === 'unanswered') return delivery
    this.#noteAnswer(key)
    switch (delivery.kind) {
      case 'accepted':
        return accepted
      case 'known':
        // After an acceptance under another hash, the answer may mean that one.
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
   * A transaction with only unknown answers is rejected in the end, because the later ones of its lane wait behind it.
   */
  #judgeUnknown(hash: Felt, rejection: Rejection, state: DeliveryState): Outcome | Promise<Outcome> {
    const count = ++state.unknownAnswers
    this.#options.log(
      `unknown answer ${count} of ${this.#options.unknownAnswersMax} of the sequencer to ${hash}: ${rejection.text}`,
    )
    return count < this.#options.unknownAnswersMax ? unsettled : this.#ask(hash, rejection, state)
  }

  /** Asks whether the sequencer has a transaction. Accepts it if so, otherwise rejects it with `rejection`. */
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

  #release(lane: Lane): void {
    if (!this.#busy.delete(laneText(lane))) return
    this.#turns.add(lane)
    this.#pump()
  }

  #noteAnswer(key: string): void {
    if (this.isAnswered === false) this.#options.log('the sequencer answers again')
    this.#hasAnswered = true
    this.#silences = 0
    this.#turns.noteAnswer(key)
  }

  /**
   * Pauses the deliveries of a key that gets no answers, and all deliveries if the sequencer asks for that. Returns the
   * wait of this lane, in ms.
   */
  #backOff({ key }: Lane, state: DeliveryState, outcome: Exclude<Outcome, { kind: 'settled' }>): number {
    state.failures++
    if (outcome.kind === 'unanswered') this.#noteSilence(key, outcome.why)
    if (outcome.retryAfterMs !== undefined) this.#turns.hold(outcome.retryAfterMs)
    return this.#retryMs(state.failures)
  }

  #noteSilence(key: string, why: string): void {
    this.#silences++
    if (this.#silences === silencesMax) this.#options.log(`the sequencer does not answer (${why}); retrying`)
    this.#turns.noteSilence(key)
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
   * The wait in ms. It doubles with each failure up to {@link retryMsMax}. Half of it is random, so that lanes do not
   * return together.
   */
  #retryMs(failures: number): number {
    const least = this.#options.retryMsMin ?? retryMsMin
    const whole = Math.min(retryMsMax, least * 2 ** Math.min(failures - 1, 20))
    return whole / 2 + (Math.random() * whole) / 2
  }
}
