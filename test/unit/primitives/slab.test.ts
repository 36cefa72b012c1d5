import fc from 'fast-check'
import t from 'tap'
import { briefSlab, Slab } from '../../../src/primitives/slab.js'
import { propertyRuns } from '../../library/property.js'

t.test('copies keep what they were made of, whatever is copied after them', async (t) => {
  const lengths = fc.array(
    fc.oneof(fc.nat(40), fc.nat(3_000), fc.constantFrom(8_191, 8_192, 8_193, 70_000)),
    {
      minLength: 1,
      maxLength: 200,
    },
  )
  fc.assert(
    fc.property(lengths, (lengths) => {
      const source = Buffer.alloc(80_000)
      const copies = lengths.map((length, index) => {
        source.fill(index + 1)
        return briefSlab.copy(source.subarray(5), length)
      })
      for (const [index, copy] of copies.entries()) {
        if (copy.length !== lengths[index] || !copy.every((byte) => byte === ((index + 1) & 0xff)))
          return false
        // Writing through the copy must not change the bytes of others.
        copy.fill(0)
      }
      return true
    }),
    propertyRuns(50),
  )
  t.pass('all agree')
})

t.test('what is taken is zeros, and nobody else has it', async (t) => {
  const slab = new Slab(1_024)
  const taken = Array.from({ length: 400 }, (_, length) => slab.take(length))
  t.ok(taken.every((bytes, length) => bytes.length === length && bytes.every((byte) => byte === 0)))
  for (const [index, bytes] of taken.entries()) bytes.fill(index & 0xff)
  t.ok(taken.every((bytes, index) => bytes.every((byte) => byte === (index & 0xff))))
})
