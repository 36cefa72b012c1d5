import fc from 'fast-check'
import t from 'tap'
import { JsonBytes } from '../../../src/primitives/jsonBytes.js'
import { propertyRuns } from '../../property.js'

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
