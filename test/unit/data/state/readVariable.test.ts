import { join } from 'node:path'
import t from 'tap'
import { readVariable } from '../../../../src/data/state/readVariable.js'
import { parseStorageLayout } from '../../../../src/data/state/storageLayout.js'
import { VariableError } from '../../../../src/data/state/variablePath.js'
import { bytesToHex, hexDigits } from '../../../../src/primitives/bytes.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { compile, RunningContract } from '../../../rpc/solidityContracts.js'

const compiled = compile(join(packageRoot(), 'test/solidity/Cabinet.sol'), 'Cabinet')
const layout = parseStorageLayout(compiled.storageLayout)
const contract = await RunningContract.create(compiled.creationCode)
const { slots } = contract
const self = bytesToHex(contract.address)

function read(path: string) {
  const reading = readVariable(layout, path, (slot) => slots.get(hexDigits(slot)))
  return { ...reading, value: JSON.parse(reading.valueJson) as unknown }
}

function faultOf(path: string): string {
  try {
    return `no fault: ${read(path).valueJson}`
  } catch (error) {
    if (error instanceof VariableError) return error.message
    throw error
  }
}

const numbers = (length: number, value: (i: number) => number | bigint) =>
  Array.from({ length }, (_, i) => String(value(i)))
const noHinge = { angle: '0', code: '0x000000', oiled: false }
const drawer = (seed: number, label = 'label') => ({
  width: String(seed),
  label,
  hinges: [noHinge, { angle: String(seed * -100), code: '0xabcdef', oiled: true }],
  spoons: [String(seed), String(seed * 1000)],
  polish: null,
})
const noDrawer = { width: '0', label: '', hinges: [noHinge, noHinge], spoons: [], polish: null }
const twin = `0x${'1'.repeat(40)}`

/** Values that the constructor wrote, by path. */
const expected: readonly (readonly [path: string, value: unknown])[] = [
  ['hidden', '2'],
  ['flag', true],
  ['tiny', '-128'],
  ['huge', String(-(2n ** 255n))],
  ['most', String(2n ** 256n - 1n)],
  ['owner', '0x00000000000000000000000000000000deadbeef'],
  ['wood', '2'],
  ['twin', twin],
  ['price', `0x${123456789012345678901234567n.toString(16).padStart(24, '0')}`],
  ['tag', '0xcafebabe'],
  ['word', `0x${Buffer.from('thirty-two').toString('hex').padEnd(64, '0')}`],
  ['one', '0x7f'],
  ['empty', ''],
  ['short31', '0123456789012345678901234567890'],
  ['long32', '01234567890123456789012345678901'],
  ['long33', 'Gezeitentür – 潮の門, more than a slot'],
  ['shortBytes', '0x00ff00'],
  [
    'longBytes',
    `0x${numbers(100, (i) => i)
      .map((i) => Number(i).toString(16).padStart(2, '0'))
      .join('')}`,
  ],
  ['broken', 'a\ufffdb'],
  ['packed', numbers(70, (i) => i * 3)],
  ['packed[0]', '0'],
  ['packed[31]', '93'],
  ['packed[32]', '96'],
  ['packed[0x45]', '207'],
  ['packed.length', '70'],
  ['triples', numbers(23, (i) => i * 700_000)],
  ['triples[9]', '6300000'],
  ['triples[10]', '7000000'],
  ['fixedInts', numbers(7, (i) => -BigInt(i) * 10n ** 15n)],
  ['fixedInts[6]', '-6000000000000000'],
  [
    'grid',
    [
      ['1', '2', '3'],
      ['11', '12', '13'],
    ],
  ],
  ['grid[1]', ['11', '12', '13']],
  ['grid[1][2]', '13'],
  ['ragged', [[], numbers(40, (i) => i), ['9']]],
  ['ragged[1][39]', '39'],
  ['ragged[2].length', '1'],
  ['ragged.length', '3'],
  [
    'rows',
    [
      ['1', '2', '3', '4'],
      ['5', '6', '7', '65535'],
    ],
  ],
  ['rows[1][3]', '65535'],
  ['people', [`0x${'1'.padStart(40, '0')}`, self]],
  ['names', ['first', '', 'the third name is longer than one slot can hold']],
  ['names[2]', 'the third name is longer than one slot can hold'],
  ['names[2].length', '47'],
  ['short31.length', '31'],
  ['long32.length', '32'],
  ['empty.length', '0'],
  ['flags', Array.from({ length: 40 }, (_, i) => [0, 31, 32, 39].includes(i))],
  ['flags[39]', true],
  ['flags[38]', false],
  [
    'hinges',
    [
      { angle: '-90', code: '0x616263', oiled: true },
      { ...noHinge, angle: '1' },
    ],
  ],
  ['hinges[0].angle', '-90'],
  ['hinges[0].code', '0x616263'],
  ['drawer', drawer(1)],
  ['drawer.hinges[1].oiled', true],
  [`drawer.polish[0x${'1'.padStart(40, '0')}]`, '1'],
  [`drawer.polish[0x${'2'.padStart(40, '0')}]`, '0'],
  ['drawers', [drawer(2), noDrawer]],
  ['drawers[0].spoons[1]', '2000'],
  [
    'tree',
    {
      value: '1',
      children: [
        { value: '0', children: [] },
        { value: '3', children: [{ value: '4', children: [] }] },
      ],
    },
  ],
  ['tree.children[1].children[0].value', '4'],
  ['byNumber[0]', '5'],
  ['byNumber[1]', '0'],
  [`byNumber[${2n ** 200n}]`, '6'],
  [`byNumber[0x${(2n ** 200n).toString(16)}]`, '6'],
  ['bySigned[-1]', '-2'],
  ['bySigned[ 127 ]', '3'],
  ['byBool[true]', '7'],
  ['byBool[false]', '8'],
  ['byWood[1]', 'ash'],
  ['byWood[0]', ''],
  [`byContract[${twin}]`, '9'],
  ['byBytes4[0xCAFEbabe]', '10'],
  ['byText["ada"]', '11'],
  ['byText[""]', '12'],
  ['byText["a]\\"b"]', '13'],
  ['byText["a key that is longer than thirty-two bytes, as texts may well be"]', '14'],
  ['byText["nobody"]', '0'],
  ['byBytes[0xcafebabe]', '15'],
  ['byPrice[16]', '16'],
  ['byPrice[0x10]', '16'],
  [`deep[${self}]["x"][7]`, { angle: '12', code: '0x010203', oiled: true }],
  [`deep[${self}]["x"][7].angle`, '12'],
  ['lists[3]', ['31', '32']],
  ['lists[3][1]', '32'],
  ['lists[4]', []],
  ['maps', [null, null]],
  ['maps[1][5]', '55'],
  ['maps[0][5]', '0'],
  ['stock[9]', drawer(4, 'a label that is longer than one slot, to be sure')],
  ['stock[8]', noDrawer],
]

t.test('every kind of variable has the value that its constructor wrote', async (t) => {
  for (const [path, value] of expected) t.strictSame(read(path).value, value, path)
})

t.test('no variable of the contract is left out', async (t) => {
  const seen = new Set(expected.map(([path]) => /^\w+/.exec(path)?.[0]))
  seen.add('callback')
  t.strictSame([...new Set(layout.variables.map(({ name }) => name))].sort(), [...seen].sort())
})

t.test('a function is the bytes of its address and selector', async (t) => {
  const { value, type } = read('callback')
  t.equal(type, 'function (uint256) external returns (bool)')
  t.equal((value as string).length, 50)
  t.ok((value as string).startsWith(self))
})

t.test('a reading says where it was made', async (t) => {
  const word = (digits: string) => `0x${digits.padStart(64, '0')}`
  const flag = read('flag')
  t.strictSame([flag.type, bytesToHex(flag.slot), flag.offset], ['bool', word('1'), 0])
  const reading = read('drawer.hinges[1].oiled')
  t.equal(reading.type, 'bool')
  t.equal(reading.offset, 5)
  t.strictSame(
    reading.words.map(({ slot, word }) => [bytesToHex(slot), hexDigits(word)]),
    [
      [
        bytesToHex(reading.slot),
        Buffer.from(slots.get(hexDigits(reading.slot)) ?? [])
          .toString('hex')
          .padStart(64, '0'),
      ],
    ],
  )
  t.equal(read('packed').words.length, 4)
  t.equal(read('long33').words.length, 3)
  t.equal(read('packed[40]').words.length, 1)
  t.equal(read('packed.length').type, 'uint256')
  t.equal(read('empty').words.length, 1)
})

t.test('a path that leads nowhere is told where it goes wrong and what would fit', async (t) => {
  const cases: [path: string, fault: RegExp | string][] = [
    ['', 'a path begins with the name of a variable, as in balanceOf[0x…] or books[42].title'],
    ['[0]', /^a path begins with/],
    ['pakced', 'there is no variable pakced; did you mean packed?'],
    ['zzz', /^there is no variable zzz; the variables are hidden, flag, hidden, tiny, .* and others$/],
    ['constructor', /^there is no variable constructor; /],
    ['__proto__', /^there is no variable __proto__; /],
    ['drawer.lable', 'drawer (struct Cabinet.Drawer) has no member lable; did you mean label?'],
    [
      'drawer.zzz',
      'drawer (struct Cabinet.Drawer) has no member zzz; its members are width, label, hinges, spoons, polish',
    ],
    ['drawer[width]', 'drawer (struct Cabinet.Drawer) has no entries; did you mean width?'],
    ['drawer.width.x', 'drawer.width (uint8) has no members; the path ends there'],
    ['most[0]', 'most (uint256) has no entries; the path ends there'],
    ['short31[0]', 'short31 (string) has no entries; the path ends there'],
    [
      'hinges.angle',
      'hinges (struct Cabinet.Hinge[]) has no members; it is an array, so an index comes first, as in hinges[0]',
    ],
    [
      'stock.width',
      'stock (mapping(uint256 => struct Cabinet.Drawer)) has no members; it is a mapping, so a key (uint256) comes first, as in stock[…].width',
    ],
    ['byNumber', 'byNumber is a mapping; name an entry by its key (uint256), as in byNumber[…]'],
    [
      `deep[${self}]["x"]`,
      new RegExp(`^deep\\[${self}\\]\\["x"\\] is a mapping; name an entry by its key \\(uint8\\)`),
    ],
    ['byNumber.length', /^byNumber .* has no members; it is a mapping/],
    ['fixedInts.length', 'fixedInts (int64[7]) always has 7 items; its length is not stored'],
    ['packed.length.x', 'packed.length is a number; nothing follows it'],
    ['fixedInts[7]', 'fixedInts (int64[7]) has the items [0] to [6]; there is no [7]'],
    ['packed[70]', 'packed (uint8[]) has the items [0] to [69] after this block; there is no [70]'],
    ['ragged[0][0]', 'ragged[0] (uint8[]) has no items after this block; there is no [0]'],
    ['ragged[2][1]', 'ragged[2] (uint8[]) has one item after this block, [0]; there is no [1]'],
    ['packed[-1]', 'packed (uint8[]) is an array; want an index from 0, got -1'],
    ['packed["0"]', 'packed (uint8[]) is an array; want an index from 0, got 0'],
    ['packed[x]', 'packed (uint8[]) is an array; want an index from 0, got x'],
    ['byText[ada]', 'the keys of byText are texts; write them in double quotes, as in byText["…"]'],
    ['byNumber["1"]', 'the keys of byNumber are of type uint256; write them without quotes'],
    ['bySigned[128]', 'the keys of bySigned are of type int8: "128" does not fit into int8'],
    ['byBool[1]', 'the keys of byBool are of type bool: want true or false, got "1"'],
    [
      'byContract[0x12]',
      /^the keys of byContract are of type contract Cabinet: want an address as 0x and 40 hex digits/,
    ],
    ['byBytes4[0x12]', /^the keys of byBytes4 are of type bytes4: want a bytes4 as 0x and 8 hex digits/],
    ['packed[', /^the key after packed does not end with "\]"/],
    ['packed[1', /^the key after packed does not end with "\]"/],
    ['byText["ada]', /^the key after byText does not end with "\]"/],
    ['byText["\\q"]', /^the text key after byText is not written as JSON writes text/],
    ['packed[]', 'the key after packed is empty'],
    ['packed[1]x', 'after packed[1] a member (.name) or a key ([key]) may follow, not "x"'],
    ['packed[1].', 'after packed[1] a member (.name) or a key ([key]) may follow, not "."'],
    ['drawer..width', /^after drawer a member/],
    ['packed ', /^after packed a member/],
    [`byText["${'x'.repeat(10_000)}"]`, 'the path has 10010 characters, at most 10000 are read'],
  ]
  for (const [path, fault] of cases) {
    const said = faultOf(path)
    if (typeof fault === 'string') t.equal(said, fault)
    else t.match(said, fault)
  }
})

t.test('a value of more than 1,024 words is read in parts', async (t) => {
  const types = {
    t_uint256: { encoding: 'inplace', label: 'uint256', numberOfBytes: '32' },
    t_uint8: { encoding: 'inplace', label: 'uint8', numberOfBytes: '1' },
    t_string: { encoding: 'bytes', label: 'string', numberOfBytes: '32' },
    dynamic: { encoding: 'dynamic_array', label: 'uint256[]', numberOfBytes: '32', base: 't_uint256' },
    packed: { encoding: 'dynamic_array', label: 'uint8[]', numberOfBytes: '32', base: 't_uint8' },
    nested: { encoding: 'dynamic_array', label: 'uint256[][]', numberOfBytes: '32', base: 'dynamic' },
    vast: {
      encoding: 'inplace',
      label: `uint256[${2n ** 200n}]`,
      numberOfBytes: String(2n ** 205n),
      base: 't_uint256',
    },
  }
  const names = ['t_string', 'dynamic', 'packed', 'nested', 'vast']
  const storage = names.map((type, slot) => ({ label: type, slot: String(slot), offset: 0, type }))
  const big = parseStorageLayout({ storage, types })
  const readAs = (path: string, word: number) =>
    readVariable(big, path, () => Uint8Array.of(word >> 16, word >> 8, word)).words.length
  t.equal(readAs('dynamic', 1_024), 1_025)
  t.throws(
    () => readAs('dynamic', 1_025),
    /dynamic takes 1025 words, at most 1024 .*; name single items, as in dynamic\[0\]/,
  )
  t.equal(readAs('dynamic[1024]', 1_025), 1)
  t.equal(readAs('packed', 1_024 * 32), 1_025)
  t.throws(() => readAs('packed', 1_024 * 32 + 1), /takes 1025 words/)
  t.equal(readAs('t_string', 1_024 * 64 - 1), 1_025)
  t.throws(() => readAs('t_string', 0x1_0003), /t_string takes 1025 words/)
  t.throws(() => readAs('nested', 40), /takes 40 words/)
  t.throws(
    () => readAs('vast', 1),
    /takes 1606938044258990275541962092341162602522202993782792835301376 words/,
  )
  t.equal(readAs(`vast[${2n ** 200n - 1n}]`, 1), 1)
})

t.test('a slot that no string can have left is a sign of a wrong layout', async (t) => {
  const word = (last: number, first = 0) =>
    Uint8Array.from({ length: 32 }, (_, i) => (i === 31 ? last : i === 0 ? first : 0))
  const fault =
    /the slot of short31 holds no string as Solidity stores it; does the layout fit the contract\?/
  for (const bad of [word(64), word(63), word(1), word(254)]) {
    t.throws(() => readVariable(layout, 'short31', () => bad), fault)
  }
  t.throws(() => readVariable(layout, 'short31', () => word(1, 255)), /takes .* words/)
})

t.test('a user-defined type is decoded where the layout says what lies under it', async (t) => {
  const raw = structuredClone(compiled.storageLayout) as {
    types: Record<string, { label: string; underlying?: string }>
  }
  for (const type of Object.values(raw.types)) {
    if (type.label === 'Price') type.underlying = 'uint96'
    if (type.label === 'Tag') type.underlying = 'bytes4'
  }
  const reported = parseStorageLayout(raw)
  const jsonOf = (path: string) =>
    readVariable(reported, path, (slot) => slots.get(hexDigits(slot))).valueJson
  t.equal(jsonOf('price'), '"123456789012345678901234567"')
  t.equal(jsonOf('tag'), '"0xcafebabe"')
  t.equal(jsonOf('byPrice[16]'), '"16"')
})
