import { keccak_256 } from '@noble/hashes/sha3.js'
import t from 'tap'
import { examples } from '../../rpc/demoChain.js'
import { checkRefusals, type ErrorCase } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'tidegate_getMappingSlot'
const service = await startService()
t.teardown(() => service.stop())

const word = (digits: string) => digits.padStart(64, '0')
const hash = (digits: string) => Buffer.from(keccak_256(Buffer.from(digits, 'hex'))).toString('hex')

async function ask(...params: unknown[]): Promise<string[]> {
  const { result, error } = await service.call(method, params)
  if (error) throw new Error(JSON.stringify(error))
  return result
}

function person(name: string): string {
  return examples.accounts.find((each) => each.name === name)?.address ?? ''
}

function slotOf(label: string): string {
  return examples.slots.find((each) => each.label === label)?.slot ?? ''
}

t.test('slots of the demo network', async (t) => {
  t.strictSame(await ask([person('bea')], '0x3'), [slotOf('Tide of bea')])
  t.strictSame(await ask([[person('dot'), person('eve')]], '0x4'), [slotOf('allowance of dot to eve')])
  t.strictSame(await ask(['0x2a'], '0x5'), [slotOf('struct in a mapping')])
  const topic = `0x${Buffer.from('tide').toString('hex').padEnd(64, '0')}`
  const nested = [slotOf('nested mapping by bytes32')]
  t.strictSame(await ask([[person('bea'), topic]], '0x6'), nested)
  t.strictSame(await ask([[person('bea'), topic]], '0x6', ['address', 'bytes32']), nested)
  const short = Buffer.from('tide').toString('hex')
  const asBytes4 = hash(short.padEnd(64, '0') + hash(word(person('bea').slice(2)) + word('6')))
  t.strictSame(await ask([[person('bea'), `0x${short}`]], '0x6', ['address', 'bytes4']), [`0x${asBytes4}`])
})

t.test('texts are not padded', async (t) => {
  t.strictSame(await ask(['tide', ''], '0x7', 'string'), [
    `0x${hash(`74696465${word('7')}`)}`,
    `0x${hash(word('7'))}`,
  ])
  t.strictSame(await ask(['0x74696465'], '0x7', ['bytes']), [`0x${hash(`74696465${word('7')}`)}`])
})

t.test('10,000 keys are answered in their order, and none as well', async (t) => {
  const keys = Array.from({ length: 10_000 }, (_, i) => i)
  const slots = await ask(keys, '0x1')
  t.equal(slots.length, 10_000)
  let wrong = 0
  for (const key of keys) if (slots[key] !== `0x${hash(word(key.toString(16)) + word('1'))}`) wrong++
  t.equal(wrong, 0)
  t.strictSame(await ask([], '0x1'), [])
})

t.test('around the number of keys that are computed at once, all are there', async (t) => {
  for (const count of [31, 32, 33, 2_999, 3_000, 3_001, 6_001]) {
    const slots = await ask(
      Array.from({ length: count }, (_, i) => i),
      '0x1',
    )
    t.equal(slots.length, count)
    t.equal(slots.at(-1), `0x${hash(word((count - 1).toString(16)) + word('1'))}`)
  }
})

t.test('as many values as may be asked are answered, in keys of any depth', async (t) => {
  const slots = await ask(Array(625).fill(Array(16).fill('0x1')), '0x1')
  t.equal(slots.length, 625)
  t.equal(new Set(slots).size, 1)
})

t.test('wrong input is refused, with the key that is wrong', async (t) => {
  const invalid = -32602
  const wants =
    'want at most 32 bytes as 0x and hex digits; texts, bytesN and numbers in other notation need their key type'
  const types = 'uint8 to uint256, int8 to int256, address, bool, bytes1 to bytes32, bytes or string'
  const tooManyValues = 'want at most 10000 values in all keys (136 characters of a long one count as one)'
  const cases: [params: unknown[], message: string][] = [
    [['0x1', '0x0'], 'invalid argument 0: want an array of keys, got string'],
    [[Array(10_001).fill('0x1'), '0x0'], 'invalid argument 0: want at most 10000 keys, got 10001'],
    [[Array(626).fill(Array(16).fill('0x1')), '0x0'], `invalid argument 0: ${tooManyValues}`],
    [[['x'.repeat(1_360_000)], '0x0', 'string'], `invalid argument 0: ${tooManyValues}`],
    [[['0x1', '42'], '0x0'], `invalid argument 0: keys[1]: ${wants}, got "42"`],
    [[[['0x1', '']], '0x0'], `invalid argument 0: keys[0][1]: ${wants}, got ""`],
    [[[null], '0x0'], `invalid argument 0: keys[0]: ${wants}, got null`],
    [[[[]], '0x0'], 'invalid argument 0: keys[0]: want 1 to 16 values, got 0'],
    [[[Array(17).fill('0x1')], '0x0'], 'invalid argument 0: keys[0]: want 1 to 16 values, got 17'],
    [[[[['0x1']]], '0x0'], `invalid argument 0: keys[0][0]: ${wants}, got an array`],
    [
      [['0x1'], '0x0', ['address', 'uint256']],
      'invalid argument 0: keys[0]: want 2 values, one for each key type, got 1',
    ],
    [
      [['0x1'], '0x0', 'address'],
      'invalid argument 0: keys[0]: want an address as 0x and 40 hex digits, got "0x1"',
    ],
    [[[300], '0x0', 'uint8'], 'invalid argument 0: keys[0]: 300 does not fit into uint8'],
    [[['0x1'], '0x0', 'uint7'], `invalid argument 2: unknown key type "uint7", want ${types}`],
    [[['0x1'], '0x0', []], 'invalid argument 2: want a key type or a list of them, got an empty list'],
    [[['0x1'], '0x0', [5]], 'invalid argument 2: want a key type, got number'],
    [[['0x1'], '0xzz'], 'invalid hex in storage key: "0xzz"'],
    [[['0x1'], 5], 'invalid argument 1: want a storage key, got number'],
    [[['0x1']], 'missing value for required argument 1'],
    [[['0x1'], '0x0', 'bool', 1], 'too many arguments, want at most 3'],
  ]
  await checkRefusals(
    t,
    service,
    method,
    cases.map(([params, message]): ErrorCase => [params, invalid, message]),
  )
})
