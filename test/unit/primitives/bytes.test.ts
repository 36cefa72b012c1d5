import fc from 'fast-check'
import t from 'tap'
import {
  bytesToBigInt,
  bytesToHex,
  bytesToNumber,
  bytesToQuantity,
  concatBytes,
  equalBytes,
  hexToBytes,
  padLeft,
  readUint64,
  toAddress,
  toHash32,
  toMinimalBytes,
  toQuantity,
  trimLeft,
  writeUint64,
} from '../../../src/primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, emptyUnclesHash, keccak256 } from '../../../src/primitives/keccak.js'
import { propertyRuns } from '../../library/property.js'

const bytes = fc.uint8Array({ maxLength: 70 })

t.test('bytes survive hex, also as views into larger memory', async (t) => {
  fc.assert(
    fc.property(bytes, fc.nat(8), (content, before) => {
      const memory = new Uint8Array(before + content.length + 3).fill(0xee)
      memory.set(content, before)
      const view = memory.subarray(before, before + content.length)
      const hex = bytesToHex(view)
      return (
        hex === `0x${[...content].map((byte) => byte.toString(16).padStart(2, '0')).join('')}` &&
        equalBytes(hexToBytes(hex), content) &&
        equalBytes(hexToBytes(hex.slice(2).toUpperCase()), content)
      )
    }),
    propertyRuns(500),
  )
  // The low eight bits of the last character of the last ones are those of digits.
  const many = '12'.repeat(70)
  const wrongs = [
    '0x1',
    '0xzz',
    '0x12g4',
    ' 0x12',
    '0x12\n',
    '0X12',
    `0x${many}g4`,
    '0x1\u0131',
    `0x${many}1\u0131`,
  ]
  for (const wrong of wrongs) {
    t.throws(() => hexToBytes(wrong), RangeError, JSON.stringify(wrong))
  }
})

t.test('integers survive their bytes and quantities', async (t) => {
  const integer = fc.oneof(fc.bigInt({ min: 0n, max: 300n }), fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }))
  fc.assert(
    fc.property(integer, fc.nat(4), (value, zeros) => {
      const minimal = toMinimalBytes(value)
      const padded = concatBytes(new Uint8Array(zeros), minimal)
      return (
        minimal[0] !== 0 &&
        bytesToBigInt(padded) === value &&
        equalBytes(trimLeft(padded), minimal) &&
        bytesToQuantity(padded) === `0x${value.toString(16)}` &&
        toQuantity(value) === `0x${value.toString(16)}` &&
        (value > BigInt(Number.MAX_SAFE_INTEGER) || bytesToNumber(padded) === Number(value)) &&
        equalBytes(padLeft(minimal, 40).subarray(40 - minimal.length), minimal)
      )
    }),
    propertyRuns(500),
  )
  t.equal(toMinimalBytes(0).length, 0)
  t.equal(bytesToQuantity(new Uint8Array(0)), '0x0')
  t.throws(() => toMinimalBytes(-1), RangeError)
  t.throws(() => padLeft(new Uint8Array(3), 2), RangeError)
  t.throws(() => bytesToNumber(hexToBytes('20000000000000')), RangeError)
})

t.test('numbers in keys sort as numbers do', async (t) => {
  const number = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1))
  const key = (value: number) => {
    const target = new Uint8Array(12)
    writeUint64(target, value, 3)
    return target.subarray(3, 11)
  }
  fc.assert(
    fc.property(number, number, (a, b) => {
      return readUint64(key(a), 0) === a && Math.sign(Buffer.compare(key(a), key(b))) === Math.sign(a - b)
    }),
    propertyRuns(500),
  )
  t.throws(() => readUint64(new Uint8Array(8).fill(255), 0), RangeError)
  t.throws(() => readUint64(new Uint8Array(8), 1), RangeError)
  t.throws(() => writeUint64(new Uint8Array(8), 1, 1), RangeError)
  for (const value of [-1, 0.5, 2 ** 53, Number.NaN]) t.throws(() => key(value), RangeError)
})

t.test('lengths of addresses and hashes are checked', async (t) => {
  for (const length of [0, 19, 21, 32]) t.throws(() => toAddress(new Uint8Array(length)), RangeError)
  for (const length of [0, 20, 31, 33]) t.throws(() => toHash32(new Uint8Array(length)), RangeError)
  t.equal(equalBytes(Uint8Array.of(1), Uint8Array.of(1, 0)), false)
})

t.test('Keccak-256 has its published values', async (t) => {
  t.equal(bytesToHex(keccak256(new Uint8Array(0))), bytesToHex(emptyCodeHash))
  t.equal(bytesToHex(keccak256(Uint8Array.of(0x80))), bytesToHex(emptyTrieRoot))
  t.equal(bytesToHex(keccak256(Uint8Array.of(0xc0))), bytesToHex(emptyUnclesHash))
  const vectors = [
    ['abc', '4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45'],
    ['transfer(address,uint256)', 'a9059cbb2ab09eb219583f4a59a5d0623ade346d962bcd4e46b11da047c9049b'],
  ] as const
  for (const [text, hash] of vectors) t.equal(bytesToHex(keccak256(Buffer.from(text))), `0x${hash}`)
})
