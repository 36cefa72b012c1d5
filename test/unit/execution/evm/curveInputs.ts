/** Contracts of elliptic curves, and random numbers for them from one seed. */
import { precompileRuns } from '../../../../src/execution/evm/precompiles/precompiles.js'
import { bytesToBigInt, bytesToHex, concatBytes, hexToBytes } from '../../../../src/primitives/bytes.js'
import { Dice, propertyRuns } from '../../../library/property.js'

export const seed = propertyRuns(1).seed ?? 0
export const dice = new Dice(seed)
const runs = precompileRuns('osaka', undefined)
/** Output in hex; undefined if the input is refused. */
export const run = (number: number, ...data: readonly Uint8Array[]) => {
  const output = runs.get(number)?.(concatBytes(...data), 10n ** 12n)?.output
  return output && bytesToHex(output)
}

export const word = (value: bigint, width = 32) => hexToBytes(value.toString(16).padStart(2 * width, '0'))
export const someNumber = (bytes = 32) =>
  bytesToBigInt(Uint8Array.from(dice.times(bytes, () => dice.throw(256))))
export const modulo = (value: bigint, modulus: bigint) => ((value % modulus) + modulus) % modulus
