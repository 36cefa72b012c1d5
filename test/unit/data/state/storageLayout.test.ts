import t from 'tap'
import { LayoutError, parseStorageLayout } from '../../../../src/data/state/storageLayout.js'

const uint = { encoding: 'inplace', label: 'uint256', numberOfBytes: '32' }
const variable = (type: string, rest = {}) => ({ label: 'x', slot: '0', offset: 0, type, ...rest })
const struct = (bytes: string, ...members: unknown[]) => ({
  encoding: 'inplace',
  label: 'struct S',
  numberOfBytes: bytes,
  members,
})

t.test('a layout may stand alone or in an artifact, and may be empty', async (t) => {
  const layout = { storage: [variable('u')], types: { u: uint } }
  t.strictSame(parseStorageLayout(layout), parseStorageLayout({ abi: [], storageLayout: layout }))
  t.strictSame(parseStorageLayout({ storage: [], types: null }), { variables: [] })
})

t.test('a struct may hold itself by way of an array or a mapping', async (t) => {
  const types = {
    u: uint,
    list: { encoding: 'dynamic_array', label: 'struct S[]', numberOfBytes: '32', base: 's' },
    pair: { encoding: 'inplace', label: 'struct S[2]', numberOfBytes: '128', base: 's' },
    map: { encoding: 'mapping', label: 'mapping', numberOfBytes: '32', key: 'u', value: 'pair' },
    s: struct('64', variable('list'), variable('map', { slot: '1' })),
  }
  for (const first of Object.keys(types)) {
    t.equal(parseStorageLayout({ storage: [variable(first)], types }).variables.length, 1, first)
  }
})

t.test('what solc would not write is refused with its place', async (t) => {
  const cases: [layout: unknown, fault: string][] = [
    [null, 'the layout: expected an object'],
    [[], 'the layout: expected an object'],
    [{}, 'storageLayout: expected an object'],
    [{ storage: {}, types: {} }, 'storage: expected an array'],
    [{ storage: [], types: [] }, 'types: expected an object'],
    [{ storage: [5], types: {} }, 'storage[0]: expected an object'],
    [{ storage: [variable('u')], types: null }, 'storage[0].type: there is no types["u"]'],
    [{ storage: [variable('toString')], types: {} }, 'storage[0].type: there is no types["toString"]'],
    [
      { storage: [variable('u', { slot: 5 })], types: { u: uint } },
      'storage[0].slot: expected decimal digits in a text',
    ],
    [
      { storage: [variable('u', { offset: 32 })], types: { u: uint } },
      'storage[0].offset: expected an integer from 0 to 31',
    ],
    [
      { storage: [variable('u', { offset: 1 })], types: { u: uint } },
      'storage[0].offset: 32 bytes do not fit into the slot at offset 1',
    ],
    [{ storage: [variable('u', { label: '' })], types: { u: uint } }, 'storage[0].label: expected a text'],
    [
      { storage: [variable('u')], types: { u: { ...uint, encoding: 'outside' } } },
      'types["u"].encoding: expected inplace, mapping, dynamic_array or bytes',
    ],
    [
      { storage: [variable('u')], types: { u: { ...uint, numberOfBytes: '16' } } },
      'types["u"].numberOfBytes: uint256 does not have 16 bytes',
    ],
    [
      { storage: [variable('u')], types: { u: { ...uint, label: 'Wad', underlying: 'uint129' } } },
      'types["u"].underlying: expected a value type such as uint128',
    ],
    [
      { storage: [variable('s')], types: { s: struct('32', variable('s')) } },
      'types: struct S contains itself',
    ],
    [
      { storage: [variable('s')], types: { u: uint, s: struct('32', variable('u', { slot: '1' })) } },
      'types["s"].members[0]: it ends beyond the struct',
    ],
    [
      { storage: [variable('a')], types: { a: { ...uint, label: 'uint256[3]', base: 'u' }, u: uint } },
      'types["a"].numberOfBytes: 3 items of 32 bytes take other space',
    ],
    [
      { storage: [variable('a')], types: { a: { ...uint, label: 'T[1]', base: 'a' } } },
      'types: T[1] contains itself',
    ],
    [
      {
        storage: [variable('m')],
        types: { u: uint, s: struct('32'), m: { ...uint, encoding: 'mapping', key: 's', value: 'u' } },
      },
      'types["m"].key: struct S cannot be a key',
    ],
  ]
  for (const [layout, fault] of cases) {
    try {
      parseStorageLayout(layout)
      t.fail(fault)
    } catch (error) {
      t.ok(error instanceof LayoutError)
      t.equal((error as Error).message, fault)
    }
  }
})
