import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { examples, headBlock, quantity, unknownHash } from '../../rpc/demoChain.js'
import { askResults, blockRefusals, checkRefusals, type ErrorCase } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'tidegate_getStorageByKeys'
const service = await startService()
t.teardown(() => service.stop())

interface Entry {
  readonly key: unknown
  readonly slot: string
  readonly value: string
}

async function ask(...params: unknown[]): Promise<Entry[]> {
  const { result, error } = await service.call(method, params)
  if (error) throw new Error(JSON.stringify(error))
  return result
}

const people = examples.accounts.filter(({ privateKey }) => privateKey !== undefined)
const tide = examples.contracts.find(({ name }) => name === 'Tide')?.address ?? ''

t.test('balances of a token have the values that eth_getStorageAt finds, at every block', async (t) => {
  const keys = people.map(({ address }) => address)
  const slots = await askResults(service, [['tidegate_getMappingSlot', [keys, '0x3']]])
  let nonZero = 0
  for (let number = 0; number <= headBlock.number; number += 4) {
    const entries = await ask(tide, '0x3', keys, quantity(number))
    const values = await askResults(
      service,
      slots[0].map((slot: string) => ['eth_getStorageAt', [tide, slot, quantity(number)]]),
    )
    t.strictSame(
      entries,
      keys.map((key, index) => ({ key, slot: slots[0][index], value: values[index] })),
      `block ${number}`,
    )
    nonZero += values.filter((value) => BigInt(value) > 0n).length
  }
  t.ok(nonZero > 100)
})

t.test('nested and typed keys are repeated as they were written', async (t) => {
  const example = examples.slots.find(({ label }) => label === 'allowance of dot to eve')
  const address = (name: string) => people.find((each) => each.name === name)?.address
  const key = [address('dot'), address('eve')]
  t.strictSame(await ask(tide, '0x4', [key], quantity(example?.block ?? 0), ['address', 'address']), [
    { key, slot: example?.slot, value: example?.value },
  ])
  const texts = ['ä"\n', '0x1']
  const entries = await ask(tide, '0x4', texts, 'latest', 'string')
  t.strictSame(
    entries.map(({ key }) => key),
    texts,
  )
})

t.test('10,000 keys are read in their order, and the block may be left out', async (t) => {
  const keys: unknown[] = Array.from({ length: 10_000 }, (_, i) => i)
  keys[9_999] = people[0]?.address
  for (const block of ['latest', '0x80', undefined]) {
    const entries = await ask(tide, '0x3', keys, ...(block === undefined ? [] : [block]))
    t.equal(entries.length, 10_000)
    t.strictSame(entries.slice(9_999), await ask(tide, '0x3', keys.slice(9_999), block ?? 'latest'))
    t.ok(BigInt(entries[9_999]?.value ?? 0) > 0n)
    t.ok(entries.slice(0, 9_999).every(({ key, value }, index) => key === index && BigInt(value) === 0n))
  }
  t.strictSame(await ask(tide, '0x3', []), [])
})

t.test('wrong input is refused', async (t) => {
  const invalid = -32602
  const beyond = quantity(headBlock.number + 1)
  const cases: ErrorCase[] = [
    [['0x12', '0x3', ['0x1']], invalid, 'invalid argument 0: hex string has length 2, want 40 for address'],
    [[tide, '0xz', ['0x1']], invalid, 'invalid hex in storage key: "0xz"'],
    [[tide, '0x3', '0x1'], invalid, 'invalid argument 2: want an array of keys, got string'],
    [
      [tide, '0x3', [256], 'latest', 'uint8'],
      invalid,
      'invalid argument 2: keys[0]: 256 does not fit into uint8',
    ],
    [[tide, '0x3', ['0x1'], beyond], -32000, 'header not found'],
    [[tide, '0x3', ['0x1'], unknownHash], -32000, 'header for hash not found'],
    [[tide, '0x3'], invalid, 'missing value for required argument 2'],
    [[tide, '0x3', [], 'latest', 'bool', 1], invalid, 'too many arguments, want at most 5'],
  ]
  await checkRefusals(t, service, method, [
    ...cases,
    ...blockRefusals(3, (block) => [tide, '0x3', ['0x1'], block]),
  ])
})

t.test('the example of docs/methods.md is what is answered', async (t) => {
  const page = readFileSync(join(packageRoot(), 'docs/methods.md'), 'utf8')
  const [, body = '', answer] = /-d '(.*"tidegate_getStorageByKeys".*)'\n(.*)\n/.exec(page) ?? []
  const { text } = await service.post('/', body)
  t.equal(text.trim(), answer)
})
