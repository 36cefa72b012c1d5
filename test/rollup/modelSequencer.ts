/**
 * A sequencer inside the test's process, without HTTP, for thousands of histories. It decides by the contents of each
 * transaction, and records received and accepted ones.
 */
import type { InvokeTransaction } from '../../src/serving/rollup/invokeTransaction.js'
import type { Delivery, SequencerClient } from '../../src/serving/rollup/sequencerClient.js'
import { unknownAnswer } from '../../src/serving/rollup/sequencerErrors.js'
import { unanswered } from '../../src/serving/rollup/sequencerExchange.js'
import type { Dice } from '../library/property.js'

/** The first item of valid signatures. Every other signature is refused with 55. */
export const rightSignature = '0x1'

/** Reactions requested by the first item of calldata, for any signature. */
export const markers = {
  /** Refused with 54. */
  poor: '0xb54',
  /** Answered with an unknown error. */
  odd: '0xb63',
  /** Never answered. */
  poison: '0xbad',
} as const

export class ModelSequencer {
  /** `refusing`: no transaction arrives. `silent`: an arriving one may be accepted, and is not answered. */
  mode: 'up' | 'refusing' | 'silent' = 'up'
  /** Bodies that arrived. */
  readonly arrived = new Set<string>()
  /** Hash → body of accepted transactions. */
  readonly accepted = new Map<string, string>()
  /** `sender/nonce` → hash of accepted transactions. */
  readonly #nonces = new Map<string, string>()
  readonly #dice: Dice

  constructor(dice: Dice) {
    this.#dice = dice
  }

  client(): SequencerClient {
    return {
      submit: async (hash, body) => {
        await this.#answerTime()
        if (this.mode === 'refusing') return unanswered('ECONNREFUSED', true)
        this.arrived.add(body)
        // One connection in twenty is lost, before or after the transaction is accepted.
        const isLost = this.mode === 'silent' || this.#dice.throw(20) === 0
        if (isLost && this.#dice.throw(2) === 0) return unanswered('lost')
        const answer = this.#judge(hash, body)
        return isLost ? unanswered('lost') : answer
      },
      find: async (hash) => {
        await this.#answerTime()
        if (this.mode !== 'up') return unanswered('lost')
        return { kind: this.accepted.has(hash) ? 'there' : 'absent' }
      },
      close: () => undefined,
    }
  }

  #judge(hash: string, body: string): Delivery {
    const { sender_address, nonce, ...rest } = JSON.parse(body) as InvokeTransaction
    const { signature, calldata }: Readonly<Record<'signature' | 'calldata', readonly string[]>> = rest
    if (calldata[0] === markers.poison) return unanswered('HTTP status 200, -32603: internal error')
    if (calldata[0] === markers.odd) return unknownAnswer('1000: a gap')
    if (signature[0] !== rightSignature) return { kind: 'final', rejection: { code: 55, text: 'signature' } }
    if (calldata[0] === markers.poor) return { kind: 'final', rejection: { code: 54, text: undefined } }
    if (this.accepted.has(hash)) return { kind: 'known' }
    const place = `${sender_address}/${nonce}`
    if (this.#nonces.has(place)) return { kind: 'asked', rejection: { code: 52, text: undefined } }
    this.accepted.set(hash, body)
    this.#nonces.set(place, hash)
    return { kind: 'accepted' }
  }

  /** Answers come out of order. */
  async #answerTime(): Promise<void> {
    for (let turns = this.#dice.throw(3); turns > 0; turns--) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}
