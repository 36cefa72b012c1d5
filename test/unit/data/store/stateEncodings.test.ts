/** Accounts, dated values, numbers, undo records and digests as rows keep them. */
import fc from 'fast-check'
import t from 'tap'
import { encodeAccount } from '../../../../src/data/state/account.js'
import { datedValue, endOfNumber, readNumber } from '../../../../src/data/store/layouts/datedValue.js'
import { RowDigest } from '../../../../src/data/store/layouts/rowDigest.js'
import { fullAccount, slimAccount } from '../../../../src/data/store/layouts/slimAccounts.js'
import { decodeUndo, encodeUndo, type UndoEntry } from '../../../../src/data/store/layouts/undoRecord.js'
import { readVarint, varintBytes, writeVarint } from '../../../../src/data/store/layouts/varint.js'
import { concatBytes, toHash32 } from '../../../../src/primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot } from '../../../../src/primitives/keccak.js'
import { propertyRuns } from '../../../library/property.js'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const hash = bytes(32).map(toHash32)
const since = fc.oneof(fc.nat(), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), fc.constant(0))

t.test(
  'an account is read as it was written, and takes little where it has neither code nor slots',
  async (t) => {
    const account = fc.record({
      nonce: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      balance: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      storageRoot: fc.oneof(fc.constant(emptyTrieRoot), hash),
      codeHash: fc.oneof(fc.constant(emptyCodeHash), hash),
    })
    fc.assert(
      fc.property(fc.oneof(account.map(encodeAccount), fc.uint8Array({ maxLength: 120 })), (rlp) => {
        if (Buffer.compare(fullAccount(slimAccount(rlp)), rlp) !== 0) throw new Error('another account')
      }),
      propertyRuns(500),
    )
    const plain = encodeAccount({
      nonce: 3n,
      balance: 10n ** 18n,
      storageRoot: emptyTrieRoot,
      codeHash: emptyCodeHash,
    })
    t.equal(plain.length, 78)
    t.equal(slimAccount(plain).length, 11)
    for (const row of [Uint8Array.of(1 + 2, 7), Uint8Array.of(9), Uint8Array.of(8, 1, 1)])
      t.throws(() => fullAccount(row), RangeError)
  },
)

t.test('a value is read with the block since which it holds', async (t) => {
  fc.assert(
    fc.property(since, fc.uint8Array({ maxLength: 40 }), (number, value) => {
      const row = datedValue(number, value)
      if (readNumber(row, 0) !== number || Buffer.compare(row.subarray(endOfNumber(row, 0)), value) !== 0)
        throw new Error('another row')
    }),
    propertyRuns(300),
  )
  t.equal(datedValue(0, Uint8Array.of(7)).length, 2)
  for (const row of [new Uint8Array(0), Uint8Array.of(3, 1, 2), Uint8Array.of(9, 1, 1, 1, 1, 1, 1, 1, 1, 1)])
    t.throws(() => readNumber(row, 0), RangeError)
})

t.test('an undo record names the keys and blocks that it was made of', async (t) => {
  const entries = (key: fc.Arbitrary<Uint8Array>) =>
    fc
      .array(fc.tuple(key, fc.option(since, { nil: undefined })), { maxLength: 30 })
      .map((list): UndoEntry[] => list.sort(([a], [b]) => Buffer.compare(a, b)))
  const owner = fc.constantFrom(new Uint8Array(20), new Uint8Array(20).fill(255), new Uint8Array(20).fill(7))
  const slotKey = fc.tuple(owner, bytes(32)).map(([address, slot]) => concatBytes(address, slot))
  const text = (list: readonly UndoEntry[]) =>
    list.map(([key, number]) => `${Buffer.from(key).toString('hex')} ${number}`).join()
  fc.assert(
    fc.property(entries(bytes(20)), entries(slotKey), (accounts, slots) => {
      const row = encodeUndo({ accounts, slots })
      const read = decodeUndo(row)
      if (text(read.accounts) !== text(accounts) || text(read.slots) !== text(slots))
        throw new Error('another record')
      for (const damaged of [row.subarray(0, -1), concatBytes(row, Uint8Array.of(0))])
        try {
          decodeUndo(damaged)
          throw new Error('a record of another length was read')
        } catch (error) {
          if (!(error instanceof RangeError)) throw error
        }
    }),
    propertyRuns(200),
  )
  t.pass('each time')
})

t.test('a digest does not depend on the order of rows, and differs where one bit does', async (t) => {
  const row = fc.tuple(bytes(20), since, fc.uint8Array({ maxLength: 40 }))
  fc.assert(
    fc.property(
      fc.uniqueArray(row, { minLength: 1, maxLength: 8, selector: String }),
      fc.nat(),
      (rows, at) => {
        const of = (list: typeof rows): string => {
          const digest = new RowDigest()
          for (const [key, number, value] of list) digest.toggle(key, number, value)
          return Buffer.from(digest.bytes).toString('hex')
        }
        if (of(rows) !== of([...rows].reverse())) throw new Error('order matters')
        const [key, number, value] = rows[at % rows.length] as (typeof rows)[number]
        const own = concatBytes(key, value)
        const bit = at % (8 * own.length)
        own[bit >> 3] = (own[bit >> 3] as number) ^ (1 << (bit & 7))
        const others = rows.filter((_, index) => index !== at % rows.length)
        if (of(rows) === of([...others, [own.slice(0, 20), number, own.slice(20)]]))
          throw new Error(`bit ${bit}`)
        if (of(rows) === of([...others, [key, number + 1, value]]))
          throw new Error('the block does not matter')
      },
    ),
    propertyRuns(500),
  )
  t.pass('each time')
})

t.test('a number has one form, so that each wrong bit makes it another one or none', async (t) => {
  const number = fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 2 ** 48 - 1 }))
  fc.assert(
    fc.property(number, fc.uint8Array({ maxLength: 2 }), (number, after) => {
      const row = new Uint8Array(varintBytes(number) + after.length)
      row.set(after, writeVarint(row, number, 0))
      if (readVarint(row, 0) !== number) throw new Error('another number')
      for (let bit = 0; bit < 8 * varintBytes(number); bit++) {
        const wrong = Uint8Array.from(row)
        wrong[bit >> 3] = (wrong[bit >> 3] as number) ^ (1 << (bit & 7))
        const read = () => readVarint(wrong, 0)
        if (isRefused(read) || read() !== number) continue
        throw new Error(`bit ${bit}`)
      }
    }),
    propertyRuns(500),
  )
  t.pass('each time')
})

function isRefused(read: () => number): boolean {
  try {
    read()
    return false
  } catch (error) {
    if (error instanceof RangeError) return true
    throw error
  }
}
