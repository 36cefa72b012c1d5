import fc from 'fast-check'
import t from 'tap'
import { encodeKey, KeyError, parseKeyType } from '../../../../src/data/state/mappingKeys.js'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { propertyRuns } from '../../../library/property.js'

function encode(type: string, value: unknown): string {
  const parsed = parseKeyType(type)
  if (parsed === undefined) throw new RangeError(`no type ${type}`)
  return bytesToHex(encodeKey(parsed, value))
}

const word = (digits: string) => `0x${digits.padStart(64, '0')}`

t.test('integers of every width are padded with zeros or their sign', async (t) => {
  const widths = fc.integer({ min: 1, max: 32 }).map((bytes) => bytes * 8)
  fc.assert(
    fc.property(widths, fc.bigInt({ min: -(2n ** 256n), max: 2n ** 256n }), (bits, value) => {
      for (const [name, fits] of [
        [`uint${bits}`, value >= 0n && value < 2n ** BigInt(bits)],
        [`int${bits}`, value >= -(2n ** BigInt(bits - 1)) && value < 2n ** BigInt(bits - 1)],
      ] as const) {
        let encoded: string | undefined
        try {
          encoded = encode(name, String(value))
        } catch (error) {
          if (!(error instanceof KeyError)) throw error
        }
        const expected = fits ? word(((value + 2n ** 256n) % 2n ** 256n).toString(16)) : undefined
        if (encoded !== expected) return false
      }
      return true
    }),
    propertyRuns(2_000) as fc.Parameters<[number, bigint]>,
  )
  t.pass()
})

t.test('an integer may be a JSON number, a quantity or decimal digits', async (t) => {
  for (const value of [42, '42', '0x2a', '0X2A', '0x002a']) t.equal(encode('uint8', value), word('2a'))
  t.equal(encode('int', -1), `0x${'f'.repeat(64)}`)
  t.equal(encode('uint', 0), word('0'))
})

t.test('addresses, booleans and bytes have their width', async (t) => {
  t.equal(encode('address', `0x${'Ab'.repeat(20)}`), word('ab'.repeat(20)))
  t.equal(encode('bool', true), word('1'))
  t.equal(encode('bool', 'false'), word('0'))
  t.equal(encode('bytes3', '0xabcdef'), `0x${'abcdef'.padEnd(64, '0')}`)
  t.equal(encode('bytes32', word('1')), word('1'))
  t.equal(encode('bytes', '0xabcdef'), '0xabcdef')
  t.equal(encode('bytes', '0x'), '0x')
  t.equal(encode('string', '0xé'), '0x3078c3a9')
  t.equal(encode('string', ''), '0x')
})

t.test('what is no type is no type', async (t) => {
  for (const name of [
    '',
    'uint0',
    'uint7',
    'uint264',
    'uint08',
    'bytes0',
    'bytes33',
    'Address',
    'mapping',
    'word',
  ])
    t.equal(parseKeyType(name), undefined, name)
})

t.test('a value that does not fit its type is refused', async (t) => {
  const cases: [type: string, value: unknown][] = [
    ['uint8', 256],
    ['uint8', -1],
    ['int8', 128],
    ['uint256', `1${'0'.repeat(100)}`],
    ['uint256', 1.5],
    ['uint256', 2 ** 60],
    ['uint256', ''],
    ['uint256', '0x'],
    ['uint256', '1e3'],
    ['uint256', ' 1'],
    ['uint256', '007'],
    ['uint256', true],
    ['uint256', null],
    ['address', '0x12'],
    ['address', 'ab'.repeat(20)],
    ['bool', 1],
    ['bytes4', '0x123456'],
    ['bytes4', '0x1234567890'],
    ['bytes', '0x123'],
    ['bytes', 'text'],
    ['string', 5],
    ['string', 'half a pair: \ud800'],
    ['string', ['a']],
  ]
  for (const [type, value] of cases) {
    t.throws(() => encode(type, value), KeyError, `${type} ${JSON.stringify(value)}`)
  }
})

t.test('without a type bytes are padded on the left, as the specification has it', async (t) => {
  const untyped = (value: unknown) => bytesToHex(encodeKey({ kind: 'word' }, value))
  t.equal(untyped('0x2a'), word('2a'))
  t.equal(untyped('0xA'), word('a'))
  t.equal(untyped(42), word('2a'))
  t.equal(untyped(`0x${'f'.repeat(64)}`), `0x${'f'.repeat(64)}`)
  for (const value of [
    '0x',
    '',
    '42',
    'ebb',
    `0x${'f'.repeat(65)}`,
    '0xzz',
    -1,
    1.5,
    2 ** 53,
    true,
    null,
    {},
  ]) {
    t.throws(() => untyped(value), KeyError, JSON.stringify(value))
  }
})
