/** Random calls: small programs, in accounts of the chain or in overrides, with all optional members of a call. */
import type { Dice } from '../library/property.js'
import type { Question } from './endpoint.js'
import { type FactBlock, type Facts, quantity } from './facts.js'
import { Programs } from './programs.js'
import { tracerOptions } from './traceQuestions.js'

const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`

const dear = { maxFeePerGas: quantity(10 ** 11), maxPriorityFeePerGas: '0x1' }

class Calls {
  readonly #dice: Dice
  readonly #facts: Facts
  readonly #programs: Programs

  constructor(facts: Facts, dice: Dice) {
    this.#dice = dice
    this.#facts = facts
    this.#programs = new Programs(dice, [...facts.addresses, `0x${'57'.repeat(20)}`])
  }

  /** One question, most of them a call. */
  make(): Question {
    const block = this.#blockName()
    const overrides = this.#overrides()
    const blockOverrides = this.#maybe(4, () => this.#blockOverrides())
    const message = this.#message(Object.keys(overrides))
    switch (this.#dice.throw(9)) {
      case 0:
        return { method: 'eth_estimateGas', params: [message, block, overrides] }
      case 1:
        return { method: 'eth_createAccessList', params: [message, block, overrides] }
      case 2:
        return { method: 'eth_simulateV1', params: [this.#simulation(), block] }
      case 3:
        // At the head, with the fees that would be suggested otherwise.
        return { method: 'eth_fillTransaction', params: [{ ...message, ...dear, gasPrice: undefined }] }
      case 4:
      case 5: {
        const options = {
          ...tracerOptions(this.#dice),
          stateOverrides: overrides,
          ...(blockOverrides && { blockOverrides }),
        }
        return { method: 'debug_traceCall', params: [message, block, options] }
      }
      default:
        return {
          method: 'eth_call',
          params: [message, block, overrides, ...(blockOverrides ? [blockOverrides] : [])],
        }
    }
  }

  #maybe<T>(sides: number, make: () => T): T | undefined {
    return this.#dice.throw(sides) === 0 ? make() : undefined
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#dice.throw(list.length)] as T
  }

  #blockName(): unknown {
    const { number, hash } = this.#one(this.#facts.withState) as FactBlock
    return this.#one<unknown>(['latest', quantity(number), quantity(number), { blockHash: hash }])
  }

  #overrides(): Record<string, object> {
    const entries = this.#dice.times(1 + this.#dice.throw(2), () => {
      const slots = { [word(this.#dice.throw(4))]: word(this.#dice.throw(9)) }
      return [
        this.#programs.address(),
        {
          code: this.#programs.make(),
          ...this.#maybe(4, () => ({ balance: quantity(this.#dice.throw(2 ** 30)) })),
          ...this.#maybe(8, () => ({ nonce: quantity(this.#dice.throw(9)) })),
          ...this.#one([{}, {}, { state: slots }, { stateDiff: slots }]),
        },
      ] as const
    })
    return Object.fromEntries(entries)
  }

  #blockOverrides(): object {
    return {
      ...this.#maybe(2, () => ({ number: quantity(this.#facts.head + this.#dice.throw(100)) })),
      ...this.#maybe(2, () => ({ time: quantity(2 ** 31 + this.#dice.throw(1_000)) })),
      ...this.#maybe(3, () => ({ baseFeePerGas: quantity(this.#dice.throw(9)) })),
      ...this.#maybe(3, () => ({ gasLimit: quantity(30_000_000) })),
      ...this.#maybe(3, () => ({ feeRecipient: this.#programs.address() })),
      ...this.#maybe(3, () => ({ prevRandao: word(this.#dice.throw(9)) })),
      ...this.#maybe(4, () => ({ blobBaseFee: quantity(this.#dice.throw(9)) })),
    }
  }

  #message(targets: readonly string[]): object {
    const fees = [{}, {}, {}, { gasPrice: '0x0' }, { gasPrice: quantity(10 ** 10) }]
    const isCreation = this.#dice.throw(10) === 0
    const input = this.#one(['0x', '0x01', `0x${'ab'.repeat(36)}`])
    return {
      ...this.#maybe(2, () => ({ from: this.#programs.address() })),
      ...(isCreation ? { data: this.#programs.make() } : { to: this.#one(targets), input }),
      // Without this limit both have caps of their own.
      gas: this.#one([1_000_000, 1_000_000, 100_000, 22_000].map(quantity)),
      ...this.#maybe(5, () => ({ value: quantity(this.#dice.throw(3)) })),
      ...this.#one([...fees, dear]),
      ...this.#maybe(8, () => ({
        accessList: [{ address: this.#programs.address(), storageKeys: [word(1)] }],
      })),
    }
  }

  #simulation(): object {
    const blocks = this.#dice.times(1 + this.#dice.throw(2), () => {
      const stateOverrides = this.#overrides()
      const targets = Object.keys(stateOverrides)
      return {
        ...this.#maybe(3, () => ({ blockOverrides: { feeRecipient: this.#programs.address() } })),
        stateOverrides,
        calls: this.#dice.times(this.#dice.throw(4), () => this.#message(targets)),
      }
    })
    return {
      blockStateCalls: blocks,
      traceTransfers: this.#dice.throw(2) === 0,
      validation: this.#dice.throw(5) === 0,
      returnFullTransactions: this.#dice.throw(3) === 0,
    }
  }
}

/** No questions if geth has no state. */
export function callQuestions(facts: Facts, count: number, dice: Dice): Question[] {
  if (facts.withState.length === 0) return []
  const calls = new Calls(facts, dice)
  return dice.times(count, () => calls.make())
}
