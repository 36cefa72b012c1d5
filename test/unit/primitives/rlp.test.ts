import { type Input, RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import t from 'tap'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import {
  decodeRlp,
  decodeRlpList,
  encodeRlp,
  encodeRlpListOfEncoded,
  type RlpItem,
  rlpBytes,
  rlpLength,
  rlpList,
  rlpListSpans,
  rlpPayloadLength,
  rlpSpanAt,
} from '../../../src/primitives/rlp.js'
import { propertyRuns } from '../../library/property.js'

const string = fc.oneof(
  fc.uint8Array({ maxLength: 3 }),
  fc.uint8Array({ minLength: 53, maxLength: 58 }),
  fc.uint8Array({ minLength: 250, maxLength: 260 }),
)
const { item } = fc.letrec<{ item: RlpItem; list: RlpItem[] }>((tie) => ({
  item: fc.oneof({ maxDepth: 5, withCrossShrink: true }, string, tie('list')),
  list: fc.array(tie('item'), { maxLength: 6 }),
}))

const plain = (item: RlpItem): unknown => (item instanceof Uint8Array ? bytesToHex(item) : item.map(plain))
const same = (a: RlpItem, b: RlpItem) => JSON.stringify(plain(a)) === JSON.stringify(plain(b))

t.test('encoding equals that of an independent encoder and decodes to the same items', async (t) => {
  fc.assert(
    fc.property(item, (item) => {
      const encoded = encodeRlp(item)
      return bytesToHex(encoded) === bytesToHex(RLP.encode(item as Input)) && same(decodeRlp(encoded), item)
    }),
    propertyRuns(1000),
  )
  t.pass('all agree')
})

t.test('a large item has its length in more bytes', async (t) => {
  for (const length of [0xff, 0x100, 0xffff, 0x1_0000, 0x100_0000]) {
    const bytes = new Uint8Array(length)
    t.ok(Buffer.from(encodeRlp(bytes)).equals(RLP.encode(bytes)), `${length}`)
    t.equal(encodeRlp(bytes).length, rlpLength(length))
    t.equal(rlpBytes(decodeRlp(encodeRlp([bytes]).subarray(-rlpLength(length)))).length, length)
  }
})

t.test('what decodes is canonical: encoding it gives the input back', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      let item: RlpItem
      try {
        item = decodeRlp(bytes)
      } catch (error) {
        return (error as Error).name === 'RlpError'
      }
      return bytesToHex(encodeRlp(item)) === bytesToHex(bytes)
    }),
    propertyRuns(5_000),
  )
  t.pass('all canonical')
})

t.test('spans cut a list into the encodings of its items', async (t) => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 6 }), (items) => {
      const encoded = encodeRlp(items)
      const parts = rlpListSpans(encoded, rlpSpanAt(encoded, 0)).map(({ start, end }) =>
        encoded.subarray(start, end),
      )
      return (
        parts.every((part, index) => bytesToHex(part) === bytesToHex(encodeRlp(items[index] as RlpItem))) &&
        bytesToHex(encodeRlpListOfEncoded(parts)) === bytesToHex(encoded)
      )
    }),
    propertyRuns(500),
  )
  t.pass('all agree')
})

t.test('an item cut short anywhere, or followed by a byte, is refused', async (t) => {
  fc.assert(
    fc.property(item, (item) => {
      const encoded = encodeRlp(item)
      const isRefused = (bytes: Uint8Array) => {
        try {
          decodeRlp(bytes)
          return false
        } catch (error) {
          return (error as Error).name === 'RlpError'
        }
      }
      if (!isRefused(Buffer.concat([encoded, Uint8Array.of(0)]))) return false
      for (let length = 0; length < encoded.length; length++) {
        if (!isRefused(encoded.subarray(0, length))) return false
      }
      return true
    }),
    propertyRuns(100),
  )
  t.pass('all refused')
})

t.test('forms that are not canonical are refused with the byte where they begin', async (t) => {
  const cases: [hex: string, why: RegExp][] = [
    ['', /item missing at byte 0/],
    ['8100', /single byte with a header at byte 0/],
    ['817f', /single byte with a header at byte 0/],
    ['c2817f', /single byte with a header at byte 1/],
    ['b800', /leading zero at byte 0/],
    ['b801ff', /long form for a short item at byte 0/],
    [`b837${'ff'.repeat(55)}`, /long form for a short item at byte 0/],
    [`b90038${'ff'.repeat(56)}`, /leading zero at byte 0/],
    [`f837${'01'.repeat(55)}`, /long form for a short item at byte 0/],
    ['bfffffffffffffffff', /2\^53 at byte 0/],
    ['ffffffffffffffffff', /2\^53 at byte 0/],
    ['bf0020000000000000', /leading zero at byte 0/],
    ['bb7fffffff', /item cut short at byte 0/],
    ['fb7fffffff', /item cut short at byte 0/],
    ['c3b838ff', /item cut short at byte 1/],
    ['c183010203', /item cut short at byte 1|bytes after/],
    ['c1c1', /cut short at byte 1/],
    ['c0c0', /bytes after the item at byte 1/],
    ['b9', /length cut short at byte 0/],
  ]
  for (const [hex, why] of cases) {
    t.throws(() => decodeRlp(hexToBytes(hex)), { name: 'RlpError', message: why }, hex || 'nothing')
  }
  t.throws(() => decodeRlpList(hexToBytes('80')), { message: /expected a list/ })
  t.throws(() => rlpBytes([]), { message: /expected a byte string/ })
  t.throws(() => rlpBytes(undefined), { message: /item missing/ })
  t.throws(() => rlpList(new Uint8Array(0)), { message: /expected a list/ })
})

t.test('nesting beyond any Ethereum object is refused before the stack ends', async (t) => {
  const nest = (depth: number) => {
    let encoded: Uint8Array = Uint8Array.of(0xc0)
    for (let i = 1; i < depth; i++) encoded = encodeRlpListOfEncoded([encoded])
    return encoded
  }
  t.doesNotThrow(() => decodeRlp(nest(32)))
  t.throws(() => decodeRlp(nest(33)), { name: 'RlpError', message: /nested too deeply/ })
  t.throws(() => decodeRlp(nest(20_000)), { name: 'RlpError', message: /nested too deeply/ })
})

t.test('the payload of an item is as long as its encoding leaves room for', async (t) => {
  const lengths = [
    0,
    1,
    2,
    54,
    55,
    56,
    57,
    254,
    255,
    256,
    257,
    65_533,
    65_535,
    65_536,
    65_540,
    2 ** 24 - 1,
    2 ** 24,
  ]
  for (const length of lengths) t.equal(rlpPayloadLength(rlpLength(length)), length)
})
