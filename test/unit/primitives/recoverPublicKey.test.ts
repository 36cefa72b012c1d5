import { ecrecover } from '@ethereumjs/util'
import fc from 'fast-check'
import t from 'tap'
import { bytesToHex, padLeft, toMinimalBytes } from '../../../src/primitives/bytes.js'
import {
  addTimes,
  fieldPrime,
  mul,
  newElement,
  readElement,
  sqr,
  writeElement,
} from '../../../src/primitives/curveField.js'
import { curveOrder, recoverPublicKey } from '../../../src/primitives/recoverPublicKey.js'
import { propertyRuns } from '../../property.js'

const word = (value: bigint) => padLeft(toMinimalBytes(value), 32)
/** Any number below `end`, those near the ends and near powers of two often. */
const below = (end: bigint) =>
  fc.oneof(
    fc.bigInt({ min: 0n, max: end - 1n }),
    fc.bigInt({ min: 0n, max: 40n }).map((near) => end - 1n - near),
    fc
      .tuple(fc.integer({ min: 0, max: 255 }), fc.bigInt({ min: -2n, max: 2n }))
      .map(([bit, near]) => ((1n << BigInt(bit)) + near + end) % end),
  )

/** What an independent implementation says; undefined where it refuses. */
function expectedKey(hash: Uint8Array, isOdd: boolean, r: Uint8Array, s: Uint8Array): string | undefined {
  try {
    return bytesToHex(ecrecover(hash, isOdd ? 28n : 27n, r, s))
  } catch {
    return undefined
  }
}

function recoveredKey(hash: Uint8Array, isOdd: boolean, r: Uint8Array, s: Uint8Array): string | undefined {
  const key = recoverPublicKey(hash, isOdd, r, s)
  return key && bytesToHex(key)
}

t.test('a key is the one that an independent implementation recovers, or both find none', async (t) => {
  let found = 0
  fc.assert(
    fc.property(
      below(1n << 256n),
      fc.boolean(),
      below(curveOrder + 9n),
      below(curveOrder + 9n),
      (hash, isOdd, r, s) => {
        const input = [word(hash), isOdd, word(r), word(s)] as const
        const key = recoveredKey(...input)
        if (key !== undefined) found++
        return key === expectedKey(...input)
      },
    ),
    propertyRuns(60),
  )
  t.ok(found > 10, 'not only refusals were compared')
})

t.test('numbers without their leading zeros are the same numbers', async (t) => {
  const hash = word(5n)
  const [r, s] = [toMinimalBytes(2n), toMinimalBytes(9n)]
  t.equal(recoveredKey(hash, true, r, s), recoveredKey(hash, true, word(2n), word(9n)))
  t.equal(recoveredKey(hash, true, r, s), expectedKey(hash, true, r, s))
})

t.test('a sum that meets its own point is left to a slower way, never wrong', async (t) => {
  // R = G and the scalars equal or opposite: sums pass through doublings and the point at infinity.
  const generatorX = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n
  for (const s of [1n, 2n, 3n, curveOrder - 1n, 1n << 128n]) {
    for (const hash of [0n, s, curveOrder - s, 2n * s]) {
      for (const isOdd of [false, true]) {
        const input = [word(hash % curveOrder), isOdd, word(generatorX), word(s)] as const
        const key = recoveredKey(...input)
        if (key !== undefined) t.equal(key, expectedKey(...input), `s ${s}, hash ${hash}, odd ${isOdd}`)
      }
    }
  }
})

t.test('field arithmetic is that of integers modulo p, however it is chained', async (t) => {
  const [a, b, c] = [newElement(), newElement(), newElement()]
  const multiple = fc.integer({ min: -8, max: 8 })
  const steps = fc.array(fc.tuple(fc.constantFrom('mul', 'sqr', 'addTimes'), multiple), { maxLength: 20 })
  fc.assert(
    fc.property(below(1n << 256n), below(1n << 256n), steps, (first, second, steps) => {
      writeElement(a, first)
      writeElement(b, second)
      let [x, y] = [first, second]
      for (const [step, k] of steps) {
        let z: bigint
        if (step === 'mul') {
          mul(c, a, b)
          z = x * y
        } else if (step === 'sqr') {
          sqr(c, a)
          z = x * x
        } else {
          addTimes(c, a, b, k)
          z = x + y * BigInt(k)
        }
        // The newest result and the one before go on.
        addTimes(a, b, b, 0)
        addTimes(b, c, c, 0)
        ;[x, y] = [y, ((z % fieldPrime) + fieldPrime) % fieldPrime]
        if (readElement(b) !== y) return false
      }
      return true
    }),
    propertyRuns(300),
  )
  t.pass('all agree')
})
