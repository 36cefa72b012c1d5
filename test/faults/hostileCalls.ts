/** Calls of every method, made worse at random: parameters that are wrong, huge or deep, in batches and alone. */
import { methods } from '../../src/serving/rpc/registry.js'
import { Dice } from '../library/property.js'
import { allEntries, examplesOf } from '../rpc/examplesOf.js'
import type { AnyMethod } from '../rpc/methodEntry.js'

type Json = unknown

const leaves: readonly Json[] = [
  null,
  -1,
  1e300,
  '',
  '0x',
  '0x0',
  'latest',
  'pending',
  'earliest',
  [],
  {},
  true,
]
/** Most copies of a part, and the length of a text that is made longer. */
const copiesMax = 3_000
const textMax = 200_000

const names = Object.keys(methods) as AnyMethod[]

export class HostileCalls {
  readonly dice: Dice
  #serial = 0

  constructor(seed: number) {
    this.dice = new Dice(seed)
  }

  pick<T>(list: readonly T[]): T {
    return list[this.dice.throw(list.length)] as T
  }

  /** A body: a call, or a batch of them. */
  body(): string {
    const kind = this.dice.throw(20)
    if (kind === 0) return this.#text()
    if (kind > 2) return this.call()
    const call = this.call()
    const count = Math.max(1, Math.min(1_000, Math.floor((4 * 2 ** 20) / call.length)))
    const calls =
      kind === 1 ? Array(count).fill(call) : this.dice.times(Math.min(count, 100), () => this.call())
    return `[${calls.join()}]`
  }

  call(): string {
    const name = this.pick(names)
    const long = allEntries[name].longCall
    const [example] = examplesOf(name)
    const call = example?.at(-1)
    const params = long !== undefined && this.dice.throw(4) === 0 ? long : (call?.[1] ?? [])
    const worse = this.dice.throw(3) === 0 ? params : this.#worsen(params)
    return JSON.stringify({ jsonrpc: '2.0', id: ++this.#serial, method: name, params: worse })
  }

  /** Changes one place of a value. */
  #worsen(value: Json): Json {
    if (this.dice.throw(6) === 0) return this.#replacement(value)
    if (Array.isArray(value) && value.length > 0) {
      const at = this.dice.throw(value.length)
      return value.map((each, index) => (index === at ? this.#worsen(each) : each))
    }
    if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) {
      const name = this.pick(Object.keys(value))
      return { ...value, [name]: this.#worsen((value as Record<string, Json>)[name]) }
    }
    return this.#replacement(value)
  }

  #replacement(value: Json): Json {
    switch (this.dice.throw(6)) {
      case 0:
        return this.#hex(1 + this.dice.throw(40))
      case 1:
        return this.#hex(1 + this.dice.throw(textMax / 2))
      case 2:
        return Array(1 + this.dice.throw(copiesMax)).fill(value)
      case 3:
        return this.dice.times(1 + this.dice.throw(copiesMax), () => this.#hex(32))
      case 4:
        return JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`)
      default:
        return this.pick(leaves)
    }
  }

  #hex(bytes: number): string {
    return `0x${this.dice
      .throw(2 ** 31)
      .toString(16)
      .padStart(8, '0')
      .repeat(Math.ceil(bytes / 4))
      .slice(0, 2 * bytes)}`
  }

  /** A text that is no JSON, or hard to read. */
  #text(): string {
    const many = this.dice.throw(500_000)
    const texts = [
      '['.repeat(many),
      `[${'{},'.repeat(many)}{}]`,
      `"${'\\"'.repeat(many)}`,
      `{"a":${'9'.repeat(many)}}`,
    ]
    return this.pick(texts)
  }
}
