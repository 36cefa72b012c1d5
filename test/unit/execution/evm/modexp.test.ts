import { Common, Mainnet } from '@ethereumjs/common'
import { createEVM, type EVM, type PrecompileInput } from '@ethereumjs/evm'
import fc from 'fast-check'
import t from 'tap'
import { type ForkName, ForkSchedule, parseGenesisConfig } from '../../../../src/data/chain/forks.js'
import { JobWatch } from '../../../../src/execution/evm/engine/jobWatch.js'
import {
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  padLeft,
  toMinimalBytes,
} from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { createForkEngine } from '../../../library/forkEngine.js'
import { modexp } from '../../../library/precompileFailures.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { demoStore } from './demoExecution.js'

const watch = (timeMsMax = 60_000) => new JobWatch(() => false, { timeMsMax, memoryBytesMax: 2 ** 28 })
const word = (value: number | bigint) => padLeft(toMinimalBytes(value), 32)
const encode = (base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array) =>
  concatBytes(word(base.length), word(exponent.length), word(modulus.length), base, exponent, modulus)

const outOfGas = { executionGasUsed: 10n ** 9n, exceptionError: { error: 'out of gas' } }

const bytes = (maxLength: number) => fc.uint8Array({ maxLength })

t.test('it computes and costs what the library says, at every fork', async (t) => {
  for (const fork of ['byzantium', 'istanbul', 'berlin', 'prague', 'osaka'] as const) {
    const evm = await createEVM({ common: new Common({ chain: Mainnet, hardfork: fork }) })
    const contract = evm.getPrecompile(`0x${'5'.padStart(40, '0')}`)
    if (contract === undefined) throw new Error('no contract 5')
    const common = evm.common
    await fc.assert(
      fc.asyncProperty(bytes(80), bytes(70), bytes(80), fc.nat(200), async (base, exponent, modulus, cut) => {
        const data = encode(base, exponent, modulus)
        const input = data.subarray(0, Math.max(0, data.length - (cut > 100 ? cut - 100 : 0)))
        const expected = await contract({ data: input, gasLimit: 10n ** 9n, common, _EVM: evm })
        const got = modexp(input, 10n ** 9n, fork, watch())
        return (
          got.exceptionError === undefined &&
          got.executionGasUsed === expected.executionGasUsed &&
          bytesToHex(got.returnValue) === bytesToHex(expected.returnValue)
        )
      }),
      propertyRuns(60),
    )
  }
  t.pass('all agree')
})

/** Square and multiply by bigints. */
function powerOf(base: bigint, exponent: bigint, modulus: bigint): bigint {
  if (modulus === 0n) return 0n
  let power = 1n % modulus
  let factor = base % modulus
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) power = (power * factor) % modulus
    factor = (factor * factor) % modulus
  }
  return power
}

/** Numbers of at most this many bytes: random ones, zeros, ones, and numbers with zeros at either end. */
const operand = (bytesMax: number) =>
  fc
    .tuple(fc.nat(bytesMax), fc.nat(5), fc.nat(bytesMax), fc.nat(bytesMax), fc.nat(255), fc.nat(0xffffffff))
    .map(([length, kind, first, last, odd, seed]) => {
      const dice = new Dice(seed)
      const made = Uint8Array.from(
        dice.times(length, () => [0, 255, 255 * dice.throw(2)][kind] ?? dice.throw(256)),
      )
      if (first < length) made.fill(0, 0, first)
      if (last < length) made.fill(0, last, length).fill(odd, last, last + 1)
      return made
    })

t.test('moduli of all lengths and forms: odd, even, powers of two, nothing', async (t) => {
  for (const [longest, exponentBytes, runs] of [
    [9, 40, 400],
    [17, 12, 400],
    [80, 40, 300],
    [300, 6, 200],
    [1_100, 4, 40],
  ] as const) {
    fc.assert(
      fc.property(operand(longest), operand(exponentBytes), operand(longest), (base, exponent, modulus) => {
        const [b, e, m] = [base, exponent, modulus].map(bytesToBigInt) as [bigint, bigint, bigint]
        const { returnValue } = modexp(encode(base, exponent, modulus), 10n ** 15n, 'berlin', watch())
        return returnValue.length === modulus.length && bytesToBigInt(returnValue) === powerOf(b, e, m)
      }),
      propertyRuns(runs),
    )
  }
  // An exponent that is read in several parts.
  const exponent = new Uint8Array(5_000).fill(0xa5)
  for (const modulus of [Uint8Array.of(255, 253), Uint8Array.of(7, 0, 0), new Uint8Array(33).fill(254)]) {
    const { returnValue } = modexp(
      encode(Uint8Array.of(3, 9), exponent, modulus),
      10n ** 15n,
      'berlin',
      watch(),
    )
    t.equal(bytesToBigInt(returnValue), powerOf(777n, bytesToBigInt(exponent), bytesToBigInt(modulus)))
  }
})

t.test('too little gas fails before anything is computed', async (t) => {
  const data = concatBytes(word(1), word(2n ** 200n), word(1), Uint8Array.of(3))
  t.match(modexp(data, 10n ** 9n, 'berlin', watch()), outOfGas)
})

t.test('operands longer than 1,024 bytes fail from Osaka on', async (t) => {
  const data = encode(new Uint8Array(1_025), Uint8Array.of(1), Uint8Array.of(7))
  t.match(modexp(data, 10n ** 9n, 'osaka', watch()), {
    executionGasUsed: 10n ** 9n,
    exceptionError: { error: 'precompile failed' },
  })
  t.equal(modexp(data, 10n ** 9n, 'prague', watch()).exceptionError, undefined)
})

t.test('a long exponent takes time in proportion, and is stopped when the time is over', async (t) => {
  const exponent = new Uint8Array(4_000_000).fill(255)
  const data = encode(new Uint8Array(32).fill(254), exponent, new Uint8Array(32).fill(253))
  try {
    modexp(data, 10n ** 12n, 'berlin', watch(100))
    t.fail('not stopped')
  } catch (error) {
    t.match(error, FaultError)
    t.equal((error as FaultError).fault.kind, 'ExecutionTimedOut')
  }
})

t.test('blocks are executed with it, from the fork on that brings it', async (t) => {
  const identity = demoStore.readIdentity()
  const schedule = new ForkSchedule(parseGenesisConfig(JSON.parse(identity?.config ?? '{}')))
  // 2 ^ (2 ^ 8,000,000), which would take the library, quadratic in it, a quarter of an hour: more than this test has.
  const exponent = new Uint8Array(1_000_001)
  exponent[0] = 1
  const data = encode(Uint8Array.of(2), exponent, Uint8Array.of(13))
  const contractOf = async (fork: ForkName) => {
    const { vm } = await createForkEngine(schedule, fork)
    return (vm.evm as EVM).getPrecompile(`0x${'5'.padStart(40, '0')}`)
  }
  t.equal(await contractOf('spuriousDragon'), undefined)
  const contract = await contractOf('berlin')
  const result = await contract?.({ data, gasLimit: 10n ** 9n } as PrecompileInput)
  t.same(result, modexp(data, 10n ** 9n, 'berlin', undefined))
})
