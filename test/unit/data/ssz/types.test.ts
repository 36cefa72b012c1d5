import {
  BitVectorType,
  ByteListType,
  ByteVectorType,
  ContainerType,
  UintBigintType,
  UintNumberType,
  VectorCompositeType,
} from '@chainsafe/ssz'
import fc from 'fast-check'
import t from 'tap'
import {
  branchRoot,
  byteList,
  byteVector,
  container,
  integer,
  SszError,
  type SszType,
  uint,
  vector,
} from '../../../../src/data/ssz/types.js'
import { propertyRuns } from '../../../library/property.js'

const inner = container({ slot: integer, text: byteList(32), key: byteVector(48) })
const whole = container({
  first: uint(8),
  inner,
  roots: vector(byteVector(32), 5),
  wide: uint(32),
  note: byteList(100),
  bits: byteVector(4),
})

const innerOracle = new ContainerType(
  { slot: new UintNumberType(8), text: new ByteListType(32), key: new ByteVectorType(48) },
  { jsonCase: 'snake' },
)
const oracle = new ContainerType(
  {
    first: new UintBigintType(8),
    inner: innerOracle,
    roots: new VectorCompositeType(new ByteVectorType(32), 5),
    wide: new UintBigintType(32),
    note: new ByteListType(100),
    bits: new BitVectorType(32),
  },
  { jsonCase: 'snake' },
)

const bytesOf = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const values = fc.record({
  first: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  inner: fc.record({ slot: fc.maxSafeNat(), text: fc.uint8Array({ maxLength: 32 }), key: bytesOf(48) }),
  roots: fc.array(bytesOf(32), { minLength: 5, maxLength: 5 }),
  wide: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  note: fc.uint8Array({ maxLength: 100 }),
  bits: bytesOf(4),
})

t.test('bytes, JSON, roots and branches are those of @chainsafe/ssz', async (t) => {
  fc.assert(
    fc.property(values, (value) => {
      const bytes = whole.write(value)
      const theirs = oracle.deserialize(bytes)
      t.same(Buffer.from(oracle.serialize(theirs)), Buffer.from(bytes))
      t.same(whole.read(bytes), value)
      t.same(whole.fromJson(oracle.toJson(theirs)), value)
      const root = whole.root(value)
      t.same(Buffer.from(root), Buffer.from(oracle.hashTreeRoot(theirs)))
      const leaves = Object.keys(value) as (keyof typeof value)[]
      for (const [index, name] of leaves.entries()) {
        const leaf = {
          first: uint(8),
          inner,
          roots: vector(byteVector(32), 5),
          wide: uint(32),
          note: byteList(100),
          bits: byteVector(4),
        }[name] as SszType<never>
        t.same(
          Buffer.from(branchRoot(leaf.root(value[name] as never), whole.branchOf(value, name), 8 + index)),
          Buffer.from(root),
          name,
        )
      }
    }),
    propertyRuns(20),
  )
})

t.test('bytes that are of no value are refused', async (t) => {
  const value = fc.sample(values, { seed: 7, numRuns: 1 })[0] as Parameters<typeof whole.write>[0]
  const bytes = whole.write({
    ...value,
    note: new Uint8Array(3),
    inner: { ...value.inner, text: new Uint8Array(5) },
  })
  const refused = (change: (copy: Uint8Array) => Uint8Array) =>
    t.throws(() => whole.read(change(bytes.slice())), SszError)
  refused((copy) => copy.subarray(0, 20))
  refused((copy) => copy.subarray(0, copy.length - 9))
  refused((copy) => Uint8Array.from([...copy, ...new Uint8Array(98)]))
  // The first offset, and the second, which may be another one if the members keep their limits.
  for (const [at, bits] of [
    [8, 1],
    [8, 0x80],
    [12 + 160 + 32, 0x80],
  ] as const) {
    refused((copy) => {
      copy[at] = (copy[at] as number) ^ bits
      return copy
    })
  }
})

t.test('JSON that is of no value is refused', async (t) => {
  const cases: readonly (readonly [SszType<unknown>, unknown])[] = [
    [uint(8), 5],
    [uint(8), '18446744073709551616'],
    [uint(8), '0x1'],
    [integer, '9007199254740992'],
    [byteVector(2), '0x00'],
    [byteVector(2), '0000'],
    [byteList(1), '0x0000'],
    [vector(byteVector(1), 2), ['0x00']],
    [container({ a: integer }), {}],
    [container({ a: integer }), null],
  ]
  for (const [type, json] of cases) t.throws(() => type.fromJson(json), SszError, JSON.stringify(json))
})
