import { keccak_256 } from '@noble/hashes/sha3.js'
import fc from 'fast-check'
import t from 'tap'
import { equalBytes } from '../../../src/primitives/bytes.js'
import { keccak256 } from '../../../src/primitives/keccak.js'
import { propertyRuns } from '../../library/property.js'

t.test('hashes of any bytes are those of another library, and stay what they were', async (t) => {
  const lengths = fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 0, max: 300 }) },
    // About the blocks of the hash, and about the memory that bytes are copied to.
    fc.constantFrom(135, 136, 137, 271, 272, 121_855, 121_856, 121_857, 243_712, 300_000),
  )
  const bytes = lengths.chain((length) =>
    fc
      .tuple(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.integer({ min: 0, max: 9 }))
      .map(([seed, skip]) => {
        const whole = Uint8Array.from(
          { length: skip + length },
          (_, i) => (seed[i % 32] as number) ^ (i >> 5),
        )
        return whole.subarray(skip)
      }),
  )
  fc.assert(
    fc.property(bytes, bytes, (first, second) => {
      const before = first.slice()
      const want = keccak_256(first)
      const got = keccak256(first)
      return (
        equalBytes(keccak256(second), keccak_256(second)) &&
        equalBytes(got, want) &&
        equalBytes(first, before)
      )
    }),
    propertyRuns(300),
  )
  t.pass()
})
