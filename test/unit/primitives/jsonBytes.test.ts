import fc from 'fast-check'
import t from 'tap'
import { bytesToHex, bytesToQuantity, toQuantity } from '../../../src/primitives/bytes.js'
import { ascii, JsonBytes, memberNames } from '../../../src/primitives/jsonBytes.js'
import { propertyRuns } from '../../library/property.js'

t.test('whatever is written comes out, from any size expected', async (t) => {
  const part = fc.oneof(
    fc.string({ unit: 'grapheme-ascii', maxLength: 30 }),
    fc.uint8Array({ maxLength: 300 }),
    fc.constant('again' as const),
  )
  fc.assert(
    fc.property(fc.nat(2_000), fc.array(part, { maxLength: 40 }), (expected, parts) => {
      const json = new JsonBytes(expected)
      let text = ''
      for (const each of parts) {
        if (each instanceof Uint8Array) {
          json.hex(each)
          text += `"0x${Buffer.from(each).toString('hex')}"`
        } else if (each === 'again') {
          const start = text.length >> 2
          json.again(start, text.length)
          text += text.slice(start)
        } else {
          json.text(each)
          text += each
        }
        if (json.length !== text.length) return false
      }
      const bytes = json.finish()
      return Buffer.from(bytes).toString('latin1') === text && bytes.buffer.byteLength === text.length
    }),
    propertyRuns(500) as fc.Parameters<[number, (string | Uint8Array)[]]>,
  )
  t.pass()
})

t.test('values are spelled as the rest of the house spells them, wherever they stand', async (t) => {
  // Zeros and single digits often, so that every possible start of a quantity occurs.
  const byte = fc.oneof(fc.constant(0), fc.nat(15), fc.nat(255))
  const source = fc.array(byte, { maxLength: 70 }).map((bytes) => Uint8Array.from(bytes))
  const value = fc.oneof(fc.nat(17), fc.maxSafeNat(), fc.bigInt(0n, 2n ** 80n), fc.constant(2n ** 53n))
  fc.assert(
    fc.property(source, fc.nat(70), fc.nat(70), value, fc.nat(3), (bytes, from, length, value, before) => {
      const start = Math.min(from, bytes.length)
      const end = Math.min(start + length, bytes.length)
      const part = bytes.slice(start, end)
      const json = new JsonBytes(0)
      json.text('garbage of an earlier text'.repeat(20))
      json.clear()
      json.text(' '.repeat(before))
      json.hex(bytes, start, end)
      json.sparseHex(bytes, start, end)
      json.quantityOf(bytes, start, end)
      json.quantity(value)
      const hex = `"${bytesToHex(part)}"`
      const text = `${hex}${hex}"${bytesToQuantity(part)}""${toQuantity(value)}"`
      return (
        json.textFrom(before) === text && Buffer.from(json.finish()).toString() === ' '.repeat(before) + text
      )
    }),
    propertyRuns(500) as fc.Parameters<[Uint8Array, number, number, number | bigint, number]>,
  )
  t.pass()
})

t.test('integers come out in decimal digits', async (t) => {
  const edge = fc.constantFrom(0, 9, 10, 99, 100, 999_999_999, 2 ** 31 - 1, 2 ** 31, 2 ** 53, -1)
  const value = fc.oneof(
    edge,
    edge.map(BigInt),
    fc.nat(),
    fc.maxSafeInteger(),
    fc.bigInt(-(2n ** 70n), 2n ** 70n),
  )
  fc.assert(
    fc.property(fc.nat(40), value, (expected, value) => {
      const json = new JsonBytes(expected)
      json.text('[')
      json.decimal(value)
      json.decimal(value)
      return Buffer.from(json.finish()).toString() === `[${value}${value}`
    }),
    propertyRuns(500) as fc.Parameters<[number, number | bigint]>,
  )
  t.pass()
})

t.test('constants of any length come out as they are, in memory that grows', async (t) => {
  const json = new JsonBytes(0)
  const texts = Array.from({ length: 40 }, (_, length) => 'a"{:}'.repeat(length).slice(0, length))
  for (const text of texts) json.constant(ascii(text))
  t.equal(Buffer.from(json.finish()).toString(), texts.join(''))
  json.clear()
  const name = memberNames('a', 'nameOfManyCharacters')
  json.constant(name.a)
  json.constant(name.nameOfManyCharacters)
  t.equal(Buffer.from(json.finish()).toString(), ',"a":,"nameOfManyCharacters":')
})

t.test(
  'texts for use at once stay as they are while others are written, long ones between them',
  async (t) => {
    const length = fc.oneof(
      { weight: 20, arbitrary: fc.nat(3_000) },
      { weight: 2, arbitrary: fc.integer({ min: 8_000, max: 8_400 }) },
      { weight: 1, arbitrary: fc.nat(100_000) },
    )
    const shared = new JsonBytes(64 * 1_024)
    shared.text('short')
    const first = shared.finish(true)
    shared.clear()
    shared.text('texts')
    t.equal(shared.finish(true).buffer, first.buffer, 'short ones share memory')
    t.equal(Buffer.from(first).toString(), 'short')
    fc.assert(
      fc.property(
        fc.nat(70_000),
        fc.array(fc.tuple(length, fc.boolean()), { maxLength: 80 }),
        (room, texts) => {
          const json = new JsonBytes(room)
          const finished = texts.map(([length, isBrief], index) => {
            json.clear()
            json.text(`left of ${index}`)
            json.cut(2)
            json.again(0, 2)
            if (json.textFrom(1) !== 'ele') throw new Error(json.textFrom(0))
            json.hex(new Uint8Array(length >> 1).fill(index))
            return json.finish(isBrief)
          })
          return finished.every((bytes, index) => {
            const [length] = texts[index] as [number, boolean]
            const digits = index
              .toString(16)
              .padStart(2, '0')
              .repeat(length >> 1)
            return Buffer.from(bytes).toString() === `lele"0x${digits}"`
          })
        },
      ),
      propertyRuns(100) as fc.Parameters<[number, [number, boolean][]]>,
    )
  },
)
