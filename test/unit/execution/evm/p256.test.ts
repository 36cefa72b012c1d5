/** Signatures on P-256 beside @noble/curves, mostly at the limits of the contract's inputs. */
import { p256 } from '@noble/curves/nist.js'
import t from 'tap'
import { bytesToHex, concatBytes } from '../../../../src/primitives/bytes.js'
import { modulo, run, seed, someNumber, word } from './curveInputs.js'

t.test('signatures on P-256, valid and not', async (t) => {
  const { ORDER: n } = p256.Point.Fn
  const p = p256.Point.Fp.ORDER
  const g = p256.Point.BASE
  const inverse = (value: bigint) => p256.Point.Fn.inv(modulo(value, n))
  const encode = (point: typeof g) => point.toBytes(false).subarray(1)
  const check = (hash: bigint, r: bigint, s: bigint, key: Uint8Array, what: string) => {
    const got = run(0x100, word(hash), word(r), word(s), key) === bytesToHex(word(1n))
    let expected = false
    try {
      const options = { lowS: false, prehash: false }
      const full = concatBytes(Uint8Array.of(4), key)
      expected = p256.verify(concatBytes(word(r), word(s)), word(hash), full, options)
    } catch {
      // No signature, or no key.
    }
    t.equal(got, expected, `${what}, seed ${seed}`)
    return got
  }
  const secret = (someNumber() % (n - 1n)) + 1n
  const key = g.multiply(secret)
  const sign = (hash: bigint, k: bigint) => {
    const r = g.multiply(k).toAffine().x % n
    return [r, modulo(inverse(k) * (hash + r * secret), n)] as const
  }
  for (const hash of [0n, 1n, n - 1n, n, n + 5n, 2n ** 256n - 1n, someNumber(), someNumber()]) {
    const [r, s] = sign(hash, (someNumber() % (n - 1n)) + 1n)
    t.ok(check(hash, r, s, encode(key), 'signed'))
    t.ok(check(hash, r, n - s, encode(key), 'with the other s'))
    for (const [a, b] of [
      [r, s + 1n],
      [r + 1n, s],
      [s, r],
      [0n, s],
      [r, 0n],
      [n, s],
      [r, n],
      [r + n, s],
    ] as const) {
      if (a < 2n ** 256n) check(hash, a, b, encode(key), `${a} ${b}`)
    }
  }
  // Sums that meet the exceptions of addition: both terms alike, opposite, and a key that is the generator.
  for (const [u1, u2] of [
    [1n, 1n],
    [2n, 1n],
    [n - 1n, 1n],
    [5n, n - 5n],
    [1n, n - 1n],
    [0n, 3n],
  ] as const) {
    for (const point of [g, g.negate(), key]) {
      const sum = [u1 === 0n ? p256.Point.ZERO : g.multiply(u1), point.multiply(u2)] as const
      const total = sum[0].add(sum[1])
      const r = total.is0() ? 7n : total.toAffine().x % n
      const s = modulo(r * inverse(u2), n)
      const got = check(modulo(u1 * s, n), r, s, encode(point), `${u1} ${u2}`)
      t.equal(got, !total.is0())
    }
  }
  // The sum's x is at least the order, and r is its remainder.
  for (let small = 1n, found = 0; found < 2; small++) {
    const x = n + small
    try {
      const y = p256.Point.Fp.sqrt(modulo(x ** 3n - 3n * x + p256.Point.CURVE().b, p))
      const sum = p256.Point.fromAffine({ x, y })
      const hash = someNumber() % n
      const s = (someNumber() % (n - 1n)) + 1n
      const u1 = modulo(hash * inverse(s), n)
      const u2 = modulo(small * inverse(s), n)
      const signer = sum.subtract(g.multiply(u1)).multiply(inverse(u2))
      t.ok(check(hash, small, s, encode(signer), 'x above the order'))
      check(hash, small + 1n, s, encode(signer), 'x above the order, another r')
      found++
    } catch {
      // The number is not a square.
    }
  }
  const [r, s] = sign(1n, 5n)
  const { x, y } = key.toAffine()
  for (const [a, b] of [
    [0n, 0n],
    [x, y + 1n],
    [x, 0n],
    [x + p, y],
    [p, y],
    [x, p],
    [2n ** 256n - 1n, y],
    [x, p - y],
  ] as const) {
    if (a < 2n ** 256n) check(1n, r, s, concatBytes(word(a), word(b)), `the key ${a} ${b}`)
  }
})
