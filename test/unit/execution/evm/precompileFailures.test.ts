/** The words with which precompiled contracts refuse an input, each as go-ethereum 1.17.6 answered it. */
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bn254 } from '@noble/curves/bn254.js'
import { sha256 } from '@noble/hashes/sha2.js'
import t from 'tap'
import {
  bytesToHex,
  concatBytes,
  hexToBytes,
  padLeft,
  toMinimalBytes,
} from '../../../../src/primitives/bytes.js'
import { assemble, returnTop } from './assembly.js'
import { addressOf, demoExecution, faultOf, goOn, requestOf } from './demoExecution.js'

const word = (value: number | bigint, width = 32) => value.toString(16).padStart(2 * width, '0')
const zeros = (width: number) => '00'.repeat(width)

const bnOrder = bn254.fields.Fp.ORDER
const bnPoint = word(1) + word(2)
const bnOff = word(1) + word(1)
const bnTwist = twistWords(bn254.G2.Point.BASE.toAffine(), 32, ['c1', 'c0'])
const bnTwistOutside = twistWords(outside(bn254.fields.Fp2, bn254.G2.Point.CURVE().b), 32, ['c1', 'c0'])

const blsOrder = bls12_381.fields.Fp.ORDER
const g1 = pointWords(bls12_381.G1.Point.BASE.toAffine())
const g1Found = firstPoint()
const g1Outside = pointWords(g1Found)
const g1Off = word(1, 64) + word(1, 64)
const g1Large = word(blsOrder, 64) + word(1, 64)
const g1Top = `01${zeros(127)}`
const g2 = twistWords(bls12_381.G2.Point.BASE.toAffine(), 64, ['c0', 'c1'])
const g2Outside = twistWords(outside(bls12_381.fields.Fp2, bls12_381.G2.Point.CURVE().b), 64, ['c0', 'c1'])
const g2Off = word(1, 64).repeat(4)
const scalar = word(5)

const commitment = bls12_381.G1.Point.BASE.toHex(true)
const infinity = `c0${zeros(47)}`
const evaluation = (z: string, y: string, point: string, proof: string) => {
  const versioned = sha256(hexToBytes(point))
  versioned[0] = 1
  return bytesToHex(versioned).slice(2) + z + y + point + proof
}
const proved = (point: string) => evaluation(word(1), word(2), point, commitment)

interface Affine<T> {
  readonly x: T
  readonly y: T
}

function pointWords({ x, y }: Affine<bigint>): string {
  return word(x, 64) + word(y, 64)
}

type Part = 'c0' | 'c1'

function twistWords({ x, y }: Affine<Record<Part, bigint>>, width: number, order: readonly Part[]): string {
  return [x, y].flatMap((value) => order.map((part) => word(value[part], width))).join('')
}

/** A point of a twist that is in no group of prime order, as almost all of them. */
function outside(field: typeof bn254.fields.Fp2, b: Record<Part, bigint>): Affine<Record<Part, bigint>> {
  for (let c0 = 1n; ; c0++) {
    const x = { c0, c1: 1n }
    try {
      return { x, y: field.sqrt(field.add(field.mul(field.sqr(x), x), b as never)) }
    } catch {}
  }
}

function firstPoint(): Affine<bigint> {
  const { Fp } = bls12_381.fields
  for (let x = 1n; ; x++) {
    try {
      const y = Fp.sqrt(Fp.add(Fp.mul(Fp.sqr(x), x), 4n))
      if (!bls12_381.G1.Point.fromAffine({ x, y }).isTorsionFree()) return { x, y }
    } catch {}
  }
}

const onCurve = 'point is not on curve'
const inField = 'invalid fp.Element encoding'
const length = 'invalid input length'
const blsOnCurve = 'invalid point: not on curve'
const topBytes = 'invalid field element top bytes'
const kzg = 'error verifying kzg proof: '

const cases: readonly [contract: number, data: string, why: string][] = [
  [5, word(1025) + word(1) + word(1), 'one or more of base/exponent/modulus length exceeded 1024 bytes'],
  [5, word(2n ** 70n) + word(0) + word(0), 'out of gas'],
  [6, bnOff, onCurve],
  [6, word(1), onCurve],
  [6, bnPoint + bnOff, onCurve],
  [6, word(bnOrder) + word(2), inField],
  [6, word(0) + word(bnOrder), inField],
  [6, bnOff + word(bnOrder), onCurve],
  [7, bnOff + scalar, onCurve],
  [7, word(bnOrder) + word(1) + scalar, inField],
  [8, zeros(191), 'bad elliptic curve pairing size'],
  [8, bnOff + bnTwist, onCurve],
  [8, bnPoint + bnTwistOutside, 'point is not in correct subgroup'],
  [8, bnPoint + word(bnOrder) + zeros(96), inField],
  [8, bnPoint + word(1).repeat(4), onCurve],
  [8, bnPoint + bnTwistOutside + bnOff + bnTwist, 'point is not in correct subgroup'],
  [8, bnPoint + bnTwist + bnOff + bnTwistOutside, onCurve],
  [9, zeros(212), length],
  [9, `${zeros(212)}02`, 'invalid final flag'],
  [10, zeros(191), length],
  [10, zeros(192), 'mismatched versioned hash'],
  [10, proved(commitment), `${kzg}can't verify opening proof`],
  [10, proved(`c0${zeros(46)}01`), `${kzg}invalid infinity point encoding`],
  [10, proved(`e0${zeros(47)}`), `${kzg}invalid point encoding`],
  [10, proved(zeros(48)), `${kzg}short buffer`],
  [10, proved(`9f${'ff'.repeat(47)}`), `${kzg}${inField}`],
  [10, proved(`8${word(1, 48).slice(1)}`), `${kzg}invalid compressed coordinate: square root doesn't exist`],
  [10, proved(`8${word(g1Found.x, 48).slice(1)}`), `${kzg}invalid point: subgroup check failed`],
  [
    10,
    evaluation(word(1), word(2), infinity, `a0${zeros(47)}`),
    `${kzg}invalid point: subgroup check failed`,
  ],
  [
    10,
    evaluation('ff'.repeat(32), word(2), commitment, commitment),
    `${kzg}scalar is not canonical when interpreted as a big integer in big-endian`,
  ],
  [11, zeros(255), length],
  [11, g1 + g1Off, blsOnCurve],
  [11, g1Off + g1Top, blsOnCurve],
  [11, g1Top + g1Off, topBytes],
  [11, g1 + g1Large, inField],
  [12, '', length],
  [12, zeros(161), length],
  [12, g1Outside + scalar, 'g1 point is not on correct subgroup'],
  [12, g1Outside + scalar + g1Off + scalar, 'g1 point is not on correct subgroup'],
  [12, g1Off + scalar, blsOnCurve],
  [13, zeros(511), length],
  [13, g2 + g2Off, blsOnCurve],
  [14, zeros(287), length],
  [14, g2Outside + scalar, 'g2 point is not on correct subgroup'],
  [15, '', length],
  [15, g1Outside + g2, 'g1 point is not on correct subgroup'],
  [15, g1 + g2Outside, 'g2 point is not on correct subgroup'],
  [15, g1Outside + g2Off, blsOnCurve],
  [15, g1Top + g2, topBytes],
  [16, zeros(63), length],
  [16, `01${zeros(63)}`, topBytes],
  [16, word(blsOrder, 64), inField],
  [17, zeros(129), length],
  [17, zeros(64) + word(blsOrder, 64), inField],
]

const requestTo = (contract: number, data: string, gas = 1_000_000n) =>
  requestOf({ to: padLeft(toMinimalBytes(contract), 20), data: hexToBytes(data), gas })

t.test('a refused input is a failure with the reason of go-ethereum', async (t) => {
  for (const [contract, data, why] of cases) {
    const { failure, gasUsed } = await demoExecution.call(requestTo(contract, data), goOn)
    t.same(
      { failure, gasUsed },
      { failure: { kind: 'ExecutionFailed', why }, gasUsed: 1_000_000n },
      `${contract} ${why}`,
    )
  }
})

t.test('an estimate says the same, and how much gas there was where that is short', async (t) => {
  for (const [contract, data, why] of cases) {
    const fault =
      why === 'out of gas'
        ? { kind: 'GasExceedsAllowance', allowance: 1_000_000n }
        : { kind: 'ExecutionFailed', why }
    t.same(
      await faultOf(demoExecution.estimate(requestTo(contract, data), goOn)),
      fault,
      `${contract} ${why}`,
    )
  }
})

t.test('gas is charged before the input is looked at', async (t) => {
  const rounds = `ffffffff${zeros(208)}02`
  for (const [contract, data] of [
    [8, zeros(191)],
    [9, rounds],
    [15, zeros(385)],
  ] as const) {
    const { failure } = await demoExecution.call(requestTo(contract, data, 50_000n), goOn)
    t.same(failure, { kind: 'ExecutionFailed', why: 'out of gas' }, `${contract}`)
  }
})

t.test('a contract that calls it goes on without the gas that it gave', async (t) => {
  const to = addressOf(1)
  // Calls the sum of points with two words of ones and 50,000 gas, and returns whether that succeeded.
  const code = concatBytes(
    assemble(1, 0, 'MSTORE', 1, 32, 'MSTORE', 0, 0, 128, 0, 6, 50_000, 'STATICCALL'),
    returnTop,
  )
  const request = requestOf({ to }, [{ address: to, code }])
  const { returnData, gasUsed, failure } = await demoExecution.call(request, goOn)
  t.equal(failure, undefined)
  t.same(returnData, new Uint8Array(32))
  t.ok(gasUsed > 71_000n && gasUsed < 71_300n, `${gasUsed}`)
  const { gas } = await demoExecution.estimate(request, goOn)
  t.ok(gas <= gasUsed, 'with less the contract fails for want of gas, which its caller survives as well')
})
