/** Contracts of elliptic curves beside @noble/curves, mostly at the limits of their inputs. */
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bn254 } from '@noble/curves/bn254.js'
import t from 'tap'
import { bls12381, isInGroup1 } from '../../../../src/execution/evm/precompiles/bls12381.js'
import { fieldBytes, g1Bytes } from '../../../../src/execution/evm/precompiles/mcl.js'
import { bytesToHex, concatBytes } from '../../../../src/primitives/bytes.js'
import { runsFactor } from '../../../library/property.js'
import { dice, modulo, run, seed, someNumber, word } from './curveInputs.js'

const rounds = Math.ceil(runsFactor)
const oneOf = <T>(values: readonly T[]): T => values[dice.throw(values.length)] as T

interface Point {
  readonly is0: () => boolean
  add(other: Point): Point
  negate(): Point
  multiplyUnsafe(scalar: bigint): Point
  toAffine(): { readonly x: unknown; readonly y: unknown }
  isTorsionFree(): boolean
}
interface Group {
  readonly BASE: Point
  readonly ZERO: Point
  fromAffine(affine: never): Point
}

/** Points of a group that tests reuse: infinity, the generator, small multiples and their negatives, others. */
function pointsOf(group: Group, order: bigint): Point[] {
  const some = [2n, 3n, (someNumber() % order) | 1n, order >> 1n].map((n) => group.BASE.multiplyUnsafe(n))
  return [group.ZERO, ...[group.BASE, ...some].flatMap((point) => [point, point.negate()])]
}

function scalarsOf(order: bigint): bigint[] {
  const top = 2n ** 256n - 1n
  const edges = [0n, 1n, 2n, order - 1n, order, order + 1n, top, (1n << 128n) - 1n, 1n << 255n, order >> 1n]
  return [...edges, someNumber(), someNumber(16), modulo(-someNumber(2), order)]
}

const times = (point: Point, scalar: bigint, order: bigint, zero: Point) => {
  const factor = scalar % order
  return factor === 0n || point.is0() ? zero : point.multiplyUnsafe(factor)
}

type Fp2 = { readonly c0: bigint; readonly c1: bigint }
const bytesOf1 = (width: number) => (point: Point) => {
  if (point.is0()) return new Uint8Array(2 * width)
  const { x, y } = point.toAffine() as { x: bigint; y: bigint }
  return concatBytes(word(x, width), word(y, width))
}
const bytesOf2 = (width: number, order: readonly ('c0' | 'c1')[]) => (point: Point) => {
  if (point.is0()) return new Uint8Array(4 * width)
  const { x, y } = point.toAffine() as { x: Fp2; y: Fp2 }
  return concatBytes(...[x, y].flatMap((value) => order.map((part) => word(value[part], width))))
}

interface Curve {
  readonly name: string
  readonly order: bigint
  readonly modulus: bigint
  readonly width: number
  readonly g1: Group
  readonly g2: Group
  readonly encode1: (point: Point) => Uint8Array
  readonly encode2: (point: Point) => Uint8Array
  readonly add1: number
  readonly pair: number
}

const bls: Curve = {
  name: 'BLS12-381',
  order: bls12_381.fields.Fr.ORDER,
  modulus: bls12_381.fields.Fp.ORDER,
  width: 64,
  g1: bls12_381.G1.Point as unknown as Group,
  g2: bls12_381.G2.Point as unknown as Group,
  encode1: bytesOf1(64),
  encode2: bytesOf2(64, ['c0', 'c1']),
  add1: 0x0b,
  pair: 0x0f,
}
const bn: Curve = {
  name: 'BN254',
  order: bn254.fields.Fr.ORDER,
  modulus: bn254.fields.Fp.ORDER,
  width: 32,
  g1: bn254.G1.Point as unknown as Group,
  g2: bn254.G2.Point as unknown as Group,
  encode1: bytesOf1(32),
  encode2: bytesOf2(32, ['c1', 'c0']),
  add1: 0x06,
  pair: 0x08,
}

/** Points of a curve that are in no group of prime order. */
function outside(curve: Curve, field: 'Fp' | 'Fp2'): Point {
  const { fields } = bls12_381
  for (let n = BigInt(dice.throw(1000)) + 1n; ; n++) {
    try {
      if (field === 'Fp') {
        const y = fields.Fp.sqrt(fields.Fp.add(fields.Fp.pow(n, 3n), 4n))
        return curve.g1.fromAffine({ x: n, y } as never)
      }
      const own = curve === bls ? fields.Fp2 : bn254.fields.Fp2
      const b = curve === bls ? bls12_381.G2.Point.CURVE().b : bn254.G2.Point.CURVE().b
      const x = { c0: n, c1: n + 1n }
      const y = own.sqrt(own.add(own.mul(own.sqr(x), x), b))
      return curve.g2.fromAffine({ x, y } as never)
    } catch {
      // The number is not a square.
    }
  }
}

t.test('sums of two points of either curve', async (t) => {
  for (const curve of [bls, bn]) {
    const points = pointsOf(curve.g1, curve.order)
    // Sums take points that are in no group too; noble's own sum is of any.
    if (curve === bls) points.push(outside(bls, 'Fp'), outside(bls, 'Fp'))
    for (const a of points) {
      for (const b of points) {
        const expected = bytesToHex(curve.encode1(a.add(b)))
        if (run(curve.add1, curve.encode1(a), curve.encode1(b)) !== expected) t.fail(`${curve.name}, ${seed}`)
      }
    }
  }
  const points = [...pointsOf(bls.g2, bls.order), outside(bls, 'Fp2')]
  for (const a of points) {
    for (const b of points) {
      const expected = bytesToHex(bls.encode2(a.add(b)))
      if (run(0x0d, bls.encode2(a), bls.encode2(b)) !== expected) t.fail(`second group, ${seed}`)
    }
  }
  t.pass('all agree')
})

t.test('products and sums of products', async (t) => {
  const bnPoints = pointsOf(bn.g1, bn.order)
  for (const scalar of scalarsOf(bn.order)) {
    for (const point of [...dice.times(2, () => oneOf(bnPoints)), bn.g1.ZERO]) {
      const expected = bytesToHex(bn.encode1(times(point, scalar, bn.order, bn.g1.ZERO)))
      t.equal(run(7, bn.encode1(point), word(scalar)), expected, `${scalar} ${seed}`)
    }
  }
  const groups = [
    [0x0c, bls.g1, bls.encode1],
    [0x0e, bls.g2, bls.encode2],
  ] as const
  for (const [number, group, encode] of groups) {
    const points = pointsOf(group, bls.order)
    const scalars = scalarsOf(bls.order)
    const products = new Map<string, Point>()
    const productOf = (at: number, scalar: bigint) => {
      const key = `${at} ${scalar}`
      const found = products.get(key) ?? times(points[at] as Point, scalar, bls.order, group.ZERO)
      products.set(key, found)
      return found
    }
    // Past the number that is computed at a time.
    for (const count of [1, 1, 1, 2, 2, 3, 7, 16, 17, 33, 128, 129, 200, ...Array(rounds).fill(5)]) {
      const terms = dice.times(count, () => [dice.throw(points.length), oneOf(scalars)] as const)
      const data = terms.map(([at, scalar]) => concatBytes(encode(points[at] as Point), word(scalar)))
      const expected = terms.reduce((sum, [at, scalar]) => sum.add(productOf(at, scalar)), group.ZERO)
      if (run(number, ...data) !== bytesToHex(encode(expected))) t.fail(`${number}, ${count} terms, ${seed}`)
    }
    // The terms are the same point many times, and a sum that cancels out.
    const point = encode(group.BASE)
    const scalar = word(scalars[10] as bigint)
    const same = Array(40).fill(concatBytes(point, scalar))
    const product = times(group.BASE, 40n * (scalars[10] as bigint), bls.order, group.ZERO)
    t.equal(run(number, ...same), bytesToHex(encode(product)))
    const none = concatBytes(encode(group.BASE.negate()), scalar)
    t.equal(run(number, ...Array(20).fill(concatBytes(point, scalar, none))), bytesToHex(encode(group.ZERO)))
  }
})

t.test('products of pairings', async (t) => {
  const isOne = (curve: Curve, pairs: readonly (readonly [Point, Point])[]) =>
    run(curve.pair, ...pairs.flatMap(([a, b]) => [curve.encode1(a), curve.encode2(b)]))
  const flag = (isTrue: boolean) => bytesToHex(word(isTrue ? 1n : 0n))
  for (const curve of [bls, bn]) {
    const g = curve.g1.BASE
    const h = curve.g2.BASE
    const none1 = curve.g1.ZERO
    const none2 = curve.g2.ZERO
    const a = (someNumber(8) | 1n) % curve.order
    const b = (someNumber(8) | 1n) % curve.order
    const ga = g.multiplyUnsafe(a)
    const hb = h.multiplyUnsafe(b)
    const product = g.multiplyUnsafe((a * b) % curve.order)
    const cases: readonly (readonly [boolean, readonly (readonly [Point, Point])[]])[] = [
      [true, [[none1, h]]],
      [true, [[g, none2]]],
      [true, [[none1, none2]]],
      [false, [[g, h]]],
      [
        true,
        [
          [ga, hb],
          [product.negate(), h],
        ],
      ],
      [
        false,
        [
          [ga, hb],
          [product, h],
        ],
      ],
      [
        true,
        [
          [ga, hb],
          [none1, hb],
          [product.negate(), h],
          [ga, none2],
        ],
      ],
      [
        true,
        [
          [g, hb],
          [g.negate(), hb],
        ],
      ],
      [
        true,
        [
          [g, hb],
          [g, hb.negate()],
        ],
      ],
      [
        false,
        [
          [g, hb],
          [g.negate(), hb.negate()],
        ],
      ],
      // Past the number that is computed at a time, on both sides of it.
      [true, [...Array(16).fill([g, h]), [g.multiplyUnsafe(16n).negate(), h]]],
      [true, [...Array(40).fill([g, h]), [g, h.multiplyUnsafe(40n).negate()]]],
      [false, [...Array(33).fill([g, h]), [g.multiplyUnsafe(32n).negate(), h]]],
      [true, Array(20).fill([none1, h])],
    ]
    for (const [index, [expected, pairs]] of cases.entries()) {
      t.equal(isOne(curve, pairs), flag(expected), `${curve.name} ${index}, seed ${seed}`)
    }
    t.equal(isOne(curve, [[g, outside(curve, 'Fp2')]]), undefined, 'outside of the second group')
    t.equal(isOne(curve, [[none1, outside(curve, 'Fp2')]]), undefined, 'the same beside infinity')
  }
  t.equal(isOne(bls, [[outside(bls, 'Fp'), bls.g2.BASE]]), undefined, 'outside of the first group')
  t.equal(isOne(bls, [[outside(bls, 'Fp'), bls.g2.ZERO]]), undefined, 'the same beside infinity')
  t.equal(run(8), flag(true), 'no pairs')
})

/** Multiplication by doubling and adding alone, for points of any order. */
function multiple(point: Point, scalar: bigint, zero: Point): Point {
  let sum = zero
  let power = point
  for (let left = scalar; left > 0n; left >>= 1n) {
    if (left & 1n) sum = sum.add(power)
    power = power.add(power)
  }
  return sum
}

t.test('points of small order, and their sums with points of the group, are in no group', async (t) => {
  const twist = bn254.G2.Point as unknown as Group
  const cofactor1 = 0x396c8c005555e1568c00aaab0000aaabn
  const cofactor2 =
    0x5d543a95414e7f1091d50792876a202cd91de4547085abaa68a205b2e5a7ddfa628f1cb4d9e82ef21537e293a6691ae1616ec6e786f0c70cf1c38e31c7238e5n
  const cases = [
    // Prime divisors of each cofactor; 1 means all other divisors together.
    [bls, 'Fp', bls.g1, cofactor1, [1n, 3n, 11n, 10_177n, 859_267n, 52_437_899n]],
    [bls, 'Fp2', bls.g2, cofactor2, [1n, 13n, 23n, 2_713n, 11_953n, 262_069n]],
    [bn, 'Fp2', twist, 2n * bn.modulus - bn.order, [1n, 10_069n, 5_864_401n]],
  ] as const
  for (const [curve, field, group, cofactor, primes] of cases) {
    const isFirst = field === 'Fp'
    const isRefused = (point: Point) => {
      const bytes = isFirst ? curve.encode1(point) : curve.encode2(point)
      const inPair = isFirst
        ? run(curve.pair, bytes, curve.encode2(curve.g2.BASE))
        : run(curve.pair, curve.encode1(curve.g1.BASE), bytes)
      const inSum = curve === bn ? undefined : run(isFirst ? 0x0c : 0x0e, bytes, word(1n))
      return inPair === undefined && inSum === undefined
    }
    for (const prime of primes) {
      t.equal(cofactor % prime, 0n, `${prime}`)
      // In the part of the group whose orders are powers of the prime, the last multiple that is not infinity.
      let rest = cofactor
      while (prime > 1n && rest % prime === 0n) rest /= prime
      let small = group.ZERO
      for (let tries = 0; small.is0() && tries < 100; tries++) {
        small = multiple(outside(curve, field), curve.order * (prime === 1n ? 1n : rest), group.ZERO)
      }
      if (prime > 1n) {
        for (let next = small; !next.is0(); next = multiple(next, prime, group.ZERO)) small = next
      }
      t.notOk(small.is0(), `a point of order ${prime}`)
      const own = group.BASE.multiplyUnsafe(someNumber(8) | 1n)
      const all = [small, small.negate(), small.add(own), own.negate().add(small), small.add(group.BASE)]
      for (const point of all) t.ok(isRefused(point), `${curve.name} ${field} ${prime}, seed ${seed}`)
      t.notOk(isRefused(own))
    }
  }
})

t.test('numbers that are no field elements, and points that are not on the curve', async (t) => {
  for (const curve of [bls, bn]) {
    const { x, y } = curve.g1.BASE.toAffine() as { x: bigint; y: bigint }
    const top = 2n ** (curve === bls ? 384n : 256n) - 1n
    const bad = [
      [x + curve.modulus, y],
      [x, y + curve.modulus],
      [curve.modulus, 0n],
      [0n, curve.modulus],
      [top, top],
      [x, y + 1n],
      [x, 0n],
      [0n, y],
      [curve.modulus - 1n, curve.modulus - 1n],
    ] as const
    const zero = curve.encode1(curve.g1.ZERO)
    const twist = curve.encode2(curve.g2.BASE)
    for (const [a, b] of bad) {
      const point = concatBytes(word(a, curve.width), word(b, curve.width))
      t.equal(run(curve.add1, point, zero), undefined, `${curve.name} ${a} ${b}`)
      t.equal(run(curve.add1, zero, point), undefined)
      t.equal(run(curve.pair, point, twist), undefined)
      t.equal(run(curve.pair, point, curve.encode2(curve.g2.ZERO)), undefined)
    }
    for (let part = 0; part < 4; part++) {
      for (const value of [curve.modulus, top, 1n]) {
        const changed = twist.slice()
        changed.set(word(value, curve.width), part * curve.width)
        t.equal(run(curve.pair, zero, changed), undefined, `${curve.name} ${part} ${value}`)
      }
    }
  }
})

t.test('field elements mapped to points', async (t) => {
  const { ORDER } = bls12_381.fields.Fp
  const edges = [0n, 1n, 2n, ORDER - 1n, ORDER - 2n, ORDER >> 1n, (ORDER >> 1n) + 1n]
  const numbers = [...edges, ...dice.times(6 * rounds, () => someNumber(48) % ORDER)]
  for (const number of numbers) {
    const point = bls12_381.G1.mapToCurve(number as never) as { x: bigint; y: bigint }
    t.equal(run(0x10, word(number, 64)), bytesToHex(concatBytes(word(point.x, 64), word(point.y, 64))))
    for (const other of [oneOf(numbers), number, 0n]) {
      const { x, y } = bls12_381.G2.mapToCurve([number, other]) as { x: Fp2; y: Fp2 }
      const expected = concatBytes(...[x.c0, x.c1, y.c0, y.c1].map((part) => word(part, 64)))
      t.equal(run(0x11, word(number, 64), word(other, 64)), bytesToHex(expected), `${number} ${other}`)
    }
  }
})

t.test('the first group of BLS12-381 is told from all other points of its curve', async (t) => {
  const { Fp, Fr } = bls12_381.fields
  const { mcl } = bls12381()
  const at = mcl.allocate(g1Bytes)
  const isInside = (point: Point): boolean => {
    if (point.is0()) mcl.lib.mclBnG1_clear(at)
    else {
      const { x, y } = point.toAffine() as { x: bigint; y: bigint }
      mcl.readField(at, word(x, fieldBytes), 0)
      mcl.readField(at + fieldBytes, word(y, fieldBytes), 0)
      mcl.completeG1(at)
    }
    return isInGroup1(at)
  }
  /** A multiple by any number, not only by numbers below the order. */
  const multiple = (point: Point, factor: bigint): Point => {
    let sum = bls.g1.ZERO
    for (const bit of factor.toString(2)) {
      sum = sum.add(sum)
      if (bit === '1') sum = sum.add(point)
    }
    return sum
  }
  const anyPoint = (): Point => {
    for (;;) {
      const x = someNumber(fieldBytes) % Fp.ORDER
      try {
        return bls.g1.fromAffine({ x, y: Fp.sqrt((x ** 3n + 4n) % Fp.ORDER) } as never)
      } catch {
        // No point of the curve has this x.
      }
    }
  }
  const cofactor = 0x396c8c005555e1568c00aaab0000aaabn
  const counts = { inside: 0, outside: 0 }
  const check = (point: Point, want: boolean, name: string) => {
    if (point.isTorsionFree() !== want || isInside(point) !== want) t.fail(`${name} (seed ${seed})`)
    else counts[want ? 'inside' : 'outside']++
  }
  for (let round = 0; round < 2 * rounds; round++) {
    const point = anyPoint()
    check(point, false, 'any point')
    const own = multiple(point, cofactor)
    check(own, true, 'a point of the group')
    check(own.negate(), true, 'its negative')
    check(multiple(point, Fr.ORDER), false, 'a point of the cofactor')
    // Points whose order is a prime of the cofactor, alone and beside one of the group.
    for (const prime of [3n, 11n, 10_177n, 859_267n, 52_437_899n]) {
      let rest = Fr.ORDER * cofactor
      while (rest % prime === 0n) rest /= prime
      let small = multiple(point, rest)
      for (let next = small; !next.is0(); next = multiple(next, prime)) small = next
      if (small.is0()) continue
      check(small, false, `a point of order ${prime}`)
      check(small.add(own), false, `a point of order ${prime} and one of the group`)
      check(multiple(small.add(own), prime), true, `its multiple by ${prime}`)
    }
  }
  for (const point of pointsOf(bls.g1, Fr.ORDER)) check(point, true, 'a point that comes again')
  t.ok(counts.inside > 10 && counts.outside > 10, JSON.stringify(counts))
})
