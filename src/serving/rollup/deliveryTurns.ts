/**
 * Chooses the next transaction to send. A lane (the transactions of one sender that one key submitted) has one attempt
 * at a time. Keys take turns, and each has a share of the open attempts. Each pauses separately while the sequencer
 * answers none of its attempts. So neither many senders of one key, nor transactions without an answer, delay those of
 * another key.
 */
import { setTimeout } from '../../primitives/timers.js'
import type { Felt } from './felt.js'
import { mayTake } from './queueSizes.js'
import type { Lane } from './submissionStore.js'

interface TurnsOptions {
  /** Open attempts at the same time, for all keys. */
  readonly inFlightMax: number
  /** The wait in ms after this many pauses of a key. */
  readonly pauseMs: (pauses: number) => number
  /** Called when there may be another turn after a pause. */
  readonly onTurn: () => void
}

/**
 * Share of a key in the open attempts that other keys leave: the next key need not wait for one to end. If one key
 * alone needs more, set a larger `inFlightMax`.
 */
const keyShare = 0.5

/** Unanswered attempts of a key in a row after which it pauses; fewer may be single lost connections. */
const silencesMax = 3

interface KeyTurns {
  /** Senders with a transaction to send, in the order in which they are served. */
  readonly ready: Set<Felt>
  inFlight: number
  /** Unanswered attempts since the sequencer's last answer to this key, and pauses made because of them. */
  silences: number
  pauses: number
  resuming: NodeJS.Timeout | undefined
}

export class DeliveryTurns {
  readonly #options: TurnsOptions
  /** Keys in the order in which they are served. */
  readonly #keys = new Map<string, KeyTurns>()
  #inFlight = 0
  /** The timer that ends the pause of all keys, and its time on the clock of `performance.now()`. */
  #pause: { readonly timer: NodeJS.Timeout; readonly untilMs: number } | undefined
  #isStopped = false

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  /** Keys to which the sequencer does not answer. */
  get silentKeys(): ReadonlySet<string> {
    return new Set([...this.#keys].flatMap(([key, { pauses }]) => (pauses > 0 ? [key] : [])))
  }

  add({ key, sender }: Lane): void {
    this.#of(key).ready.add(sender as Felt)
  }

  /** The next lane to begin with; undefined if none may begin now. Call {@link end} when its attempt ends. */
  begin(): Lane | undefined {
    if (this.#isStopped || this.#pause !== undefined) return undefined
    for (const [key, turns] of this.#keys) {
      const [sender] = turns.ready
      if (sender === undefined || !this.#mayBegin(key, turns)) continue
      turns.ready.delete(sender)
      turns.inFlight++
      this.#inFlight++
      // Moves the key behind all others.
      this.#keys.delete(key)
      this.#keys.set(key, turns)
      return { key, sender }
    }
    return undefined
  }

  end({ key }: Lane): void {
    const turns = this.#of(key)
    turns.inFlight--
    this.#inFlight--
    const { ready, inFlight, silences } = turns
    if (ready.size === 0 && inFlight === 0 && silences === 0) this.#keys.delete(key)
  }

  /** The sequencer answered an attempt of this key. */
  noteAnswer(key: string): void {
    const turns = this.#of(key)
    turns.silences = 0
    turns.pauses = 0
    clearTimeout(turns.resuming)
    turns.resuming = undefined
  }

  /** Records that the sequencer did not answer an attempt of this key. */
  noteSilence(key: string): void {
    const turns = this.#of(key)
    turns.silences++
    if (this.#isStopped || turns.resuming !== undefined || turns.silences < silencesMax) return
    turns.pauses++
    turns.resuming = setTimeout(() => {
      turns.resuming = undefined
      this.#options.onTurn()
    }, this.#options.pauseMs(turns.pauses))
    turns.resuming.unref()
  }

  /** Begins no attempt for `ms`, as the sequencer asked; does not shorten a longer pause. */
  hold(ms: number): void {
    const untilMs = performance.now() + ms
    if (this.#isStopped || (this.#pause !== undefined && this.#pause.untilMs >= untilMs)) return
    clearTimeout(this.#pause?.timer)
    const timer = setTimeout(() => {
      this.#pause = undefined
      this.#options.onTurn()
    }, ms)
    timer.unref()
    this.#pause = { timer, untilMs }
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#pause?.timer)
    for (const { resuming } of this.#keys.values()) clearTimeout(resuming)
  }

  /** While the sequencer does not answer a key, it has one attempt at a time. */
  #mayBegin(key: string, { inFlight, pauses, resuming }: KeyTurns): boolean {
    if (resuming !== undefined || (pauses > 0 && inFlight > 0)) return false
    const { inFlightMax: max } = this.#options
    return mayTake(key, { own: inFlight, total: this.#inFlight, more: 1, max, share: keyShare })
  }

  #of(key: string): KeyTurns {
    let turns = this.#keys.get(key)
    if (turns === undefined) {
      turns = { ready: new Set(), inFlight: 0, silences: 0, pauses: 0, resuming: undefined }
      this.#keys.set(key, turns)
    }
    return turns
  }
}
