import fc from 'fast-check'
import t from 'tap'
import {
  packReceipts,
  ReceiptList,
  unpackReceipts,
} from '../../../../src/data/store/layouts/packedReceipts.js'
import { concatBytes, toMinimalBytes } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { encodeRlp } from '../../../../src/primitives/rlp.js'
import { propertyRuns } from '../../../library/property.js'

/** The bloom by the definition in the yellow paper, bit for bit. */
function bloomOf(items: readonly Uint8Array[]): Uint8Array {
  let bits = 0n
  for (const item of items) {
    const hash = Buffer.from(keccak256(item))
    for (const at of [0, 2, 4]) bits |= 1n << BigInt(hash.readUInt16BE(at) % 2048)
  }
  return Buffer.from(bits.toString(16).padStart(512, '0'), 'hex')
}

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const receipt = fc.record({
  type: fc.constantFrom(undefined, 1, 2, 3, 4),
  outcome: fc.oneof(bytes(32), fc.constant(new Uint8Array(0)), fc.constant(Uint8Array.of(1))),
  gas: fc.nat(),
  logs: fc.array(
    fc.record({
      address: fc.oneof(bytes(20), fc.constantFrom(new Uint8Array(20), new Uint8Array(20).fill(7))),
      topics: fc.array(fc.oneof(bytes(32), fc.constantFrom(new Uint8Array(32), new Uint8Array(32).fill(7))), {
        maxLength: 4,
      }),
      data: fc.oneof(
        { weight: 4, arbitrary: fc.uint8Array({ maxLength: 300 }) },
        fc.constant(new Uint8Array(2_500)),
      ),
    }),
    { maxLength: 5 },
  ),
  isWrong: fc.boolean(),
})

function encode(
  { type, outcome, gas, logs, isWrong }: typeof receipt extends fc.Arbitrary<infer R> ? R : never,
  mayBeWrong: boolean,
): { readonly whole: Uint8Array; readonly zeroed: Uint8Array } {
  const items = logs.flatMap(({ address, topics }) => [address, ...topics])
  const bloom = bloomOf(items)
  if (isWrong && mayBeWrong) bloom[7] = (bloom[7] as number) ^ 4
  const list = (own: Uint8Array) =>
    encodeRlp([
      outcome,
      toMinimalBytes(gas),
      own,
      logs.map(({ address, topics, data }) => [address, topics, data]),
    ])
  const typed = (rlp: Uint8Array) => (type === undefined ? rlp : concatBytes(Uint8Array.of(type), rlp))
  return { whole: typed(list(bloom)), zeroed: typed(list(new Uint8Array(256))) }
}

for (const mayBeWrong of [false, true]) {
  t.test(`receipts are read as they were written, blooms ${mayBeWrong ? 'wrong' : 'right'}`, async (t) => {
    fc.assert(
      fc.property(fc.array(receipt, { maxLength: 12 }), (receipts) => {
        const made = receipts.map((each) => encode(each, mayBeWrong))
        const rlp = encodeRlp(made.map(({ whole }) => whole))
        const row = packReceipts(rlp)
        if (Buffer.compare(unpackReceipts(row), rlp) !== 0) throw new Error('other receipts')
        const list = new ReceiptList(row)
        let logsBefore = 0
        for (const [index, { logs }] of receipts.entries()) {
          const own = list.at(index)
          if (own === undefined) throw new Error(`no receipt ${index}`)
          if (Buffer.compare(own.rlp, encodeRlp(made[index]?.whole as Uint8Array)) !== 0)
            throw new Error(`another receipt ${index}`)
          const gasBefore = encodeRlp(toMinimalBytes(receipts[index - 1]?.gas ?? 0))
          if (own.logsBefore !== logsBefore || Buffer.compare(own.gasBefore, gasBefore) !== 0)
            throw new Error(`other receipts before ${index}`)
          logsBefore += logs.length
        }
        if (list.at(receipts.length) !== undefined) throw new Error('one receipt too many')
        if (mayBeWrong) return
        if (receipts.length > 0 && row.length >= rlp.length - 250 * receipts.length)
          throw new Error(`${row.length} bytes of ${rlp.length} are left`)
        const zeroed = encodeRlp(made.map((each) => each.zeroed))
        if (Buffer.compare(unpackReceipts(row, true), zeroed) !== 0) throw new Error('other logs')
      }),
      propertyRuns(200),
    )
    t.pass('each time')
  })
}

t.test('what is no row of receipts is an error', async (t) => {
  const logs = [[new Uint8Array(20), [], new Uint8Array(3_000)]]
  const items = [Uint8Array.of(1), Uint8Array.of(9), bloomOf([new Uint8Array(20)]), logs]
  const row = packReceipts(encodeRlp([encodeRlp(items)]))
  t.equal(row[0], 1, 'compressed')
  for (const damaged of [
    row.subarray(0, 9),
    Uint8Array.of(3, 1, 2),
    Uint8Array.of(2, 0xc3),
    new Uint8Array(0),
  ])
    t.throws(() => unpackReceipts(damaged))
})

t.test('one receipt of a row that is cut short is an error, and takes no endless walk', async (t) => {
  const receipt = encodeRlp([Uint8Array.of(1), Uint8Array.of(9), bloomOf([]), []])
  const row = packReceipts(encodeRlp([receipt, receipt, receipt]))
  t.equal(row[0], 2, 'not compressed')
  t.ok(new ReceiptList(row).at(2))
  // The first byte is the form of the row, the next ones, up to three, are the list's header.
  for (let length = 5; length < row.length; length++)
    t.throws(() => new ReceiptList(row.subarray(0, length)).at(2), `${length} bytes`)
})

t.test('blooms of more addresses and topics than are remembered are right', async (t) => {
  const numbered = (length: number, n: number) => {
    const item = new Uint8Array(length)
    new DataView(item.buffer).setUint32(length - 4, n)
    return item
  }
  const made = Array.from({ length: 3_000 }, (_, n) => {
    const topics = Array.from({ length: 4 }, (_, at) => numbered(32, 17 * n + at))
    const logs = Array.from({ length: 4 }, (_, at) => ({
      address: numbered(20, 31 * n + at),
      topics,
      data: new Uint8Array(0),
    }))
    return encode({ type: 2, outcome: Uint8Array.of(1), gas: n, logs, isWrong: false }, false)
  })
  const whole = encodeRlp(made.map((each) => each.whole))
  for (let time = 0; time < 2; time++) t.ok(Buffer.from(unpackReceipts(packReceipts(whole))).equals(whole))
})
