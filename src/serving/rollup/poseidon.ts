/**
 * Poseidon with the rollup's parameters: width 3, rate 2, 8 full and 83 partial rounds, S-box x³, over the field of
 * {@link fieldPrime}. The permutation is WebAssembly (`assembly/poseidon.ts`); this file passes it constants and input. The
 * round constants come from @scure/starknet, with which the tests compare results, and whose own permutation takes
 * twenty times as long.
 */
import { poseidonSmall } from '@scure/starknet'
import { instantiate, type WasmGlobal, type WasmMemory } from '../../primitives/webAssembly.js'
import { fieldPrime } from './felt.js'

/** Exports of `assembly/poseidon.ts`; globals are addresses in its memory. */
interface Kernel {
  readonly memory: WasmMemory
  readonly constants: WasmGlobal
  readonly state: WasmGlobal
  readonly input: WasmGlobal
  readonly squareOfR: WasmGlobal
  absorb(pairs: number): void
  squeeze(): void
}

/** Bits of a limb, as in `assembly/poseidon.ts`. */
const limbBits = 29n
const limbMask = (1n << limbBits) - 1n
const limbs = 9
const montgomeryR = 1n << (limbBits * BigInt(limbs))
const inputMax = 512

const fullRoundsBefore = 4
const fullRoundsAfter = 4

const kernel = instantiate<Kernel>('src/serving/rollup/poseidon.wasm')
const state = elements(kernel.state, 3)
const input = elements(kernel.input, inputMax)
writeConstants()

/** Poseidon of a list: padded with 1 and zeros to pairs, absorbed pair by pair. Items are below {@link fieldPrime}. */
export function hashList(items: readonly bigint[]): bigint {
  state.fill(0n)
  const padded = items.length % 2 === 0 ? [...items, 1n, 0n] : [...items, 1n]
  for (let start = 0; start < padded.length; start += inputMax) {
    const count = Math.min(inputMax, padded.length - start)
    for (let at = 0; at < count; at++) writeElement(input, at, padded[start + at] as bigint)
    kernel.absorb(count / 2)
  }
  kernel.squeeze()
  return readElement(input)
}

/** A view of `count` elements, limb by limb. */
function elements({ value: address }: WasmGlobal, count: number): BigInt64Array {
  return new BigInt64Array(kernel.memory.buffer, address, count * limbs)
}

function writeElement(target: BigInt64Array, index: number, value: bigint): void {
  let rest = value
  for (let k = 0; k < limbs; k++) {
    target[index * limbs + k] = rest & limbMask
    rest >>= limbBits
  }
}

function readElement(source: BigInt64Array): bigint {
  let value = 0n
  for (let k = limbs - 1; k >= 0; k--) value = (value << limbBits) + (source[k] as bigint)
  return reduce(value)
}

/**
 * In this version a partial round adds a constant to its third lane only. The other two lanes are not cubed. Their
 * constants go through the matrix and are added to the constants of the next round.
 */
function writeConstants(): void {
  const { roundConstants } = poseidonSmall
  const partialRounds = roundConstants.length - fullRoundsBefore - fullRoundsAfter
  const target = elements(kernel.constants, 3 * (fullRoundsBefore + fullRoundsAfter) + partialRounds)
  let count = 0
  const write = (value: bigint) => writeElement(target, count++, reduce(value * montgomeryR))
  let first = 0n
  let second = 0n
  let third = 0n
  for (const [round, [a = 0n, b = 0n, c = 0n]] of roundConstants.entries()) {
    first += a
    second += b
    third += c
    if (round >= fullRoundsBefore && round < fullRoundsBefore + partialRounds) {
      write(third)
      const carriedA = reduce(first)
      const carriedB = reduce(second)
      first = 3n * carriedA + carriedB
      second = carriedA - carriedB
      third = carriedA + carriedB
    } else {
      for (const constant of [first, second, third]) write(constant)
      first = second = third = 0n
    }
  }
  writeElement(elements(kernel.squareOfR, 1), 0, reduce(montgomeryR * montgomeryR))
}

function reduce(value: bigint): bigint {
  const rest = value % fieldPrime
  return rest < 0n ? rest + fieldPrime : rest
}
