import fc from 'fast-check'
import t from 'tap'
import {
  decodeTrieRow,
  differenceOf,
  encodeTrieRow,
  type TrieRow,
} from '../../../../src/data/store/layouts/trieRow.js'
import { contentBefore } from '../../../../src/data/store/layouts/trieRowBefore.js'
import {
  currentRow,
  decodeVersions,
  olderThan,
  rowAfter,
  type TrieVersions,
  versionBefore,
} from '../../../../src/data/store/layouts/trieValues.js'
import { emptyCodeHash, emptyTrieRoot } from '../../../../src/primitives/keccak.js'
import { propertyRuns } from '../../../library/property.js'

const bytes = (minLength: number, maxLength = minLength) => fc.uint8Array({ minLength, maxLength })

function rlp(payload: Uint8Array): Uint8Array {
  const head = payload.length < 56 ? [0xc0 + payload.length] : [0xf8, payload.length]
  return Uint8Array.from([...head, ...payload])
}

const hashed = bytes(32).map((of) => Uint8Array.of(0xa0, ...of))

function slotLeaf(path: Uint8Array, value: Uint8Array): Uint8Array {
  return rlp(Uint8Array.of(0x80 + path.length, ...path, 0x80 + value.length, ...value))
}

/** Leaf of an account with neither storage nor code: rows store it without its end. */
function accountLeaf(path: Uint8Array, balance: Uint8Array): Uint8Array {
  const of = [7, 0x80 + balance.length, ...balance, 0xa0, ...emptyTrieRoot, 0xa0, ...emptyCodeHash]
  const value = rlp(Uint8Array.from(of))
  return rlp(Uint8Array.of(0x80 + path.length, ...path, 0xb8, value.length, ...value))
}

/** A child as it was and as it is: often the leaf of the same path. */
const child = fc
  .tuple(
    fc.constantFrom(slotLeaf, accountLeaf),
    bytes(28),
    bytes(1, 12),
    bytes(1, 12),
    fc.array(fc.option(hashed, { nil: undefined }), { minLength: 2, maxLength: 2 }),
    fc.nat(3),
  )
  .map(([leaf, path, value, other, [was, is], kind]) => {
    if (kind === 0) return [was, is] as const
    if (kind === 1) return [was, leaf(path, value)] as const
    return [leaf(path, value), leaf(path, kind === 2 ? value : other)] as const
  })

const change = fc
  .tuple(fc.uint8Array({ max: 15, maxLength: 5 }), fc.array(child, { minLength: 16, maxLength: 16 }))
  .map(([extension, children]): readonly [before: TrieRow, after: TrieRow] => {
    const before = children.map(([was]) => was)
    const after = children.map(([, is]) => is)
    return [
      { extension, children: before, leaf: undefined },
      { extension, children: after, leaf: undefined },
    ]
  })
  .filter((rows) => rows.every(({ children }) => children.some((each) => each !== undefined)))

t.test('the content of a row is read as it was written', async (t) => {
  fc.assert(
    fc.property(change, ([before]) => {
      t.strictSame(decodeTrieRow(encodeTrieRow(before)), { ...before, leaf: undefined })
    }),
    propertyRuns(200),
  )
})

t.test('a difference says what was before, and none of its bits may be another', async (t) => {
  fc.assert(
    fc.property(change, fc.nat(), ([before, after], flips) => {
      const was = encodeTrieRow(before)
      const is = encodeTrieRow(after)
      const difference = differenceOf(was, is)
      if (difference === undefined || Buffer.compare(was, is) === 0) return
      const undone = (by: Uint8Array) => {
        return Buffer.from(contentBefore(is, by, [0, by.length])).toString('hex')
      }
      t.equal(undone(difference), Buffer.from(was).toString('hex'))
      for (let count = 0; count < 30; count++) {
        const bit = (flips + count * 7_919) % (8 * difference.length)
        const damaged = difference.with(bit >> 3, (difference[bit >> 3] as number) ^ (1 << (bit & 7)))
        let found: string | undefined
        try {
          found = undone(damaged)
        } catch (error) {
          if (!(error instanceof RangeError)) throw error
        }
        if (found === Buffer.from(was).toString('hex')) throw new Error(`bit ${bit} may be anything`)
      }
    }),
    propertyRuns(1_000),
  )
})

/** Versions of a row one after the other, each with some children of the next one of its own. */
const versions = fc.tuple(
  fc.array(change, { minLength: 2, maxLength: 12 }),
  fc.array(fc.tuple(fc.nat(0xffff), fc.integer({ min: 1, max: 300 })), { minLength: 12, maxLength: 12 }),
)

t.test('a row with many versions beside it is read as it was after each block', async (t) => {
  let found = 0
  fc.assert(
    fc.property(versions, ([rows, steps]) => {
      const all = rows.flat()
      let row = all[0] as TrieRow
      let number = 1
      let written: TrieVersions = { from: number, content: encodeTrieRow(row), older: new Uint8Array(0) }
      const history = [{ number, row }]
      for (const [index, next] of all.slice(1).entries()) {
        const [chosen, age] = steps[index % steps.length] as [number, number]
        const children = row.children.map((child, nibble) =>
          chosen & (1 << nibble) ? next.children[nibble] : child,
        )
        if (children.every((child) => child === undefined)) continue
        row = { ...row, children }
        const content = encodeTrieRow(row)
        if (Buffer.compare(content, written.content) === 0) continue
        number += age
        const older = olderThan(content, written, number, 30)
        // A row without room for more: it begins again.
        if (older === undefined) history.length = 0
        history.push({ number, row })
        written = { from: number, content, older: Uint8Array.from(older ?? []) }
      }
      const value = currentRow(written)
      const read = decodeVersions(value, undefined)
      for (const [index, { number: first, row: wanted }] of history.entries()) {
        const last = (history[index + 1]?.number ?? number + 10) - 1
        for (const at of [first, last]) {
          t.strictSame(rowAfter(read, at), wanted)
          found++
        }
      }
      t.equal(rowAfter(read, (history[0] as { number: number }).number - 1), undefined)
      for (let version: TrieVersions | undefined = read, at = history.length; version !== undefined; at--) {
        t.strictSame(decodeTrieRow(version.content), history[at - 1]?.row)
        version = versionBefore(version)
      }
      const kept = rowAfter(read, number)
      value.fill(0)
      t.strictSame(kept, row, 'it has memory of its own')
    }),
    propertyRuns(100),
  )
  t.ok(found > 0)
})
