/**
 * Compares every variable of the demo network's contracts, at several blocks, with the result of its getter. The getter
 * runs on storage of the store, and does not use layouts.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type AbiValue, encodeCall } from '../../../data/devnet/abi.js'
import { decodeAccount } from '../../../src/data/state/account.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { toAddress, toHash32 } from '../../../src/primitives/bytes.js'
import { bytesOf, devnetDir, examples, headBlock, hex, quantity, unknownHash } from '../../rpc/demoChain.js'
import {
  askResults,
  blockRefusals,
  checkRefusals,
  countRefusals,
  type ErrorCase,
} from '../../rpc/questions.js'
import { RunningContract } from '../../rpc/solidityContracts.js'
import { fixtureDir } from '../../service/fixtures.js'
import { startService } from '../../service/service.js'

const method = 'tidegate_readVariable'
const service = await startService()
t.teardown(() => service.stop())
const store = ChainReader.open({ path: join(fixtureDir, 'networks/demo/chain.mdb') })
t.teardown(() => store.close())

function contract(name: string): string {
  const found = examples.contracts.find((each) => each.name === name)
  if (found === undefined) throw new RangeError(`no contract is called ${name}`)
  return found.address
}

function person(name: string): string {
  return examples.accounts.find((each) => each.name === name)?.address ?? ''
}

interface Reading {
  readonly type: string
  readonly slot: string
  readonly offset: number
  readonly words: readonly { readonly slot: string; readonly value: string }[]
  readonly value: unknown
}

async function ask(...params: unknown[]): Promise<Reading> {
  const { result, error } = await service.call(method, params)
  if (error) throw new Error(`${JSON.stringify(params)}: ${JSON.stringify(error)}`)
  return result
}

/** A contract as it was after a block. */
function contractAt(address: string, number: number): Promise<RunningContract> | undefined {
  const account = store.readAccountAt(toAddress(bytesOf(address)), number)
  const code = account && store.readCode(toHash32(decodeAccount(account).codeHash))
  if (code === undefined || code.length === 0) return undefined
  const slots = Array.from(store.slotsOfAt(toAddress(bytesOf(address)), number), ([slot, value]) => {
    return [Uint8Array.from(slot), Uint8Array.from(value)] as const
  })
  return RunningContract.load(bytesOf(address), Uint8Array.from(code), slots)
}

/** The written form of a word that a getter returns for a type. */
function decodeWord(type: string, word: Uint8Array): unknown {
  if (type.startsWith('uint')) return String(BigInt(hex(word)))
  if (type === 'bool') return word[31] === 1
  if (type === 'bytes32') return hex(word)
  return hex(word.slice(12))
}

function decodeReturn(type: string, data: Uint8Array): unknown {
  if (type !== 'string' && type !== 'bytes') return decodeWord(type, data.slice(0, 32))
  const length = Number(BigInt(hex(data.slice(32, 64))))
  const content = data.slice(64, 64 + length)
  return type === 'string' ? new TextDecoder().decode(content) : hex(content)
}

interface Case {
  readonly contract: string
  readonly path: string
  readonly getter: string
  readonly args?: readonly AbiValue[]
  readonly type: string
}

const topic = `0x${Buffer.from('tide').toString('hex').padEnd(64, '0')}`
const shelf: Omit<Case, 'contract'>[] = [
  { path: 'pages', getter: 'pages()', type: 'uint128' },
  { path: 'year', getter: 'year()', type: 'uint64' },
  { path: 'lent', getter: 'lent()', type: 'bool' },
  { path: 'rating', getter: 'rating()', type: 'uint8' },
  { path: 'shortTitle', getter: 'shortTitle()', type: 'string' },
  { path: 'longTitle', getter: 'longTitle()', type: 'string' },
  { path: 'scan', getter: 'scan()', type: 'bytes' },
  { path: 'owner', getter: 'owner()', type: 'address' },
  ...['bea', 'cal'].map((name) => ({
    path: `notes[${person(name)}][${topic}]`,
    getter: 'notes(address,bytes32)',
    args: [bytesOf(person(name)), bytesOf(topic)],
    type: 'uint256',
  })),
  ...[0, 1, 2, 3].map((i) => ({
    path: `corners[${i}]`,
    getter: 'corners(uint256)',
    args: [i],
    type: 'uint256',
  })),
]
const cases: readonly Case[] = [
  ...['Shelf', 'Second shelf'].flatMap((name) => shelf.map((each) => ({ contract: name, ...each }))),
  ...['Tide', 'Foam'].flatMap((token) => [
    { contract: token, path: 'name', getter: 'name()', type: 'string' },
    { contract: token, path: 'symbol', getter: 'symbol()', type: 'string' },
    { contract: token, path: 'totalSupply', getter: 'totalSupply()', type: 'uint256' },
    ...['ada', 'bea', 'dot', 'eve', 'ivy'].flatMap((name) => [
      {
        contract: token,
        path: `balanceOf[${person(name)}]`,
        getter: 'balanceOf(address)',
        args: [bytesOf(person(name))],
        type: 'uint256',
      },
      {
        contract: token,
        path: `allowance[${person(name)}][${contract('Exchange')}]`,
        getter: 'allowance(address,address)',
        args: [bytesOf(person(name)), bytesOf(contract('Exchange'))],
        type: 'uint256',
      },
    ]),
  ]),
  { contract: 'Exchange', path: 'tokenA', getter: 'tokenA()', type: 'contract Token' },
  { contract: 'Exchange', path: 'tokenB', getter: 'tokenB()', type: 'contract Token' },
  { contract: 'Exchange', path: 'reserveA', getter: 'reserveA()', type: 'uint112' },
  { contract: 'Exchange', path: 'reserveB', getter: 'reserveB()', type: 'uint112' },
  { contract: 'Exchange', path: 'lastTrade', getter: 'lastTrade()', type: 'uint32' },
  { contract: 'Exchange', path: 'totalShares', getter: 'totalShares()', type: 'uint256' },
  {
    contract: 'Exchange',
    path: `shares[${person('ada')}]`,
    getter: 'shares(address)',
    args: [bytesOf(person('ada'))],
    type: 'uint256',
  },
  { contract: 'OldCounter', path: 'count', getter: 'count()', type: 'uint256' },
  { contract: 'Phoenix', path: 'life', getter: 'life()', type: 'uint256' },
  ...[0, 3, 7].map((i) => ({
    contract: 'Phoenix',
    path: `feathers[${i}]`,
    getter: 'feathers(uint256)',
    args: [i],
    type: 'uint256',
  })),
  { contract: 'Nest', path: 'hatched', getter: 'hatched()', type: 'uint256' },
]

t.test('every variable has the value that the contract itself returns, at several blocks', async (t) => {
  const numbers = [0, 3, 10, 20, 21, 43, 44, 57, 60, 80, 103, 130, 165, 200, 220, headBlock.number]
  let compared = 0
  let nonZero = 0
  for (const number of numbers) {
    const running = new Map<string, Promise<RunningContract> | undefined>()
    const there = cases.filter(({ contract: name }) => {
      if (!running.has(name)) running.set(name, contractAt(contract(name), number))
      return running.get(name) !== undefined
    })
    const readings: Reading[] = await askResults(
      service,
      there.map(({ contract: name, path }) => [method, [contract(name), path, quantity(number)]]),
    )
    for (const [index, each] of there.entries()) {
      const reading = readings[index] as Reading
      const returned = await (await running.get(each.contract))?.call(encodeCall(each.getter, each.args))
      const value = decodeReturn(each.type, returned ?? new Uint8Array())
      t.strictSame(
        [reading.type, reading.value],
        [each.type, value],
        `${each.contract} ${each.path} at ${number}`,
      )
      compared++
      if (reading.words.some((word) => BigInt(word.value) !== 0n)) nonZero++
    }
  }
  t.ok(compared > 600 && nonZero > 300, `${compared} compared, ${nonZero} not zero`)
})

t.test('arrays and structs of the shelf as the story filled them', async (t) => {
  const address = contract('Shelf')
  const value = async (path: string) => (await ask(address, path, '0x14')).value
  t.strictSame(
    await value('numbers'),
    Array.from({ length: 12 }, (_, i) => String(1000 + i)),
  )
  t.equal(await value('numbers.length'), '12')
  t.equal(await value('numbers[3]'), '1003')
  t.strictSame(
    await value('tiny'),
    Array.from({ length: 12 }, (_, i) => String((1000 + i) & 255)),
  )
  const { title, ...book } = (await value('books[42]')) as Record<string, string>
  t.strictSame(book, { year: '1851', author: person('cal') })
  t.ok((title ?? '').length > 0)
  t.equal(await value('books[42].title'), title)
  t.equal(await value(`notes[${person('bea')}][${topic}]`), '99')
})

t.test('a proxy’s variables are read with the layout of what it runs', async (t) => {
  const count = examples.slots.find(
    ({ how, block }) => how.startsWith('slot 0 of the proxy') && block === headBlock.number,
  )
  const reading = await ask(contract('Proxy'), 'count', 'latest')
  t.equal(reading.value, String(BigInt(count?.value ?? -1)))
})

t.test('a reading has the words and the place that eth_getStorageAt knows', async (t) => {
  const address = contract('Shelf')
  const reading = await ask(address, 'year', '0x14')
  const slot = `0x${'0'.repeat(64)}`
  const word = examples.slots.find(({ label }) => label === 'packed')?.value
  t.strictSame(reading, {
    type: 'uint64',
    slot,
    offset: 16,
    words: [{ slot, value: word }],
    value: String((BigInt(word ?? 0) >> 128n) & (2n ** 64n - 1n)),
  })
  const title = await ask(address, 'longTitle', '0x14')
  const values = await askResults(
    service,
    title.words.map((each) => ['eth_getStorageAt', [address, each.slot, '0x14']]),
  )
  t.strictSame(
    title.words.map(({ value }) => value),
    values,
  )
  t.equal(title.words.length, 4)
})

t.test('every contract of the layouts answers for each of its variables, at any block', async (t) => {
  const layouts: Record<string, { storage: { label: string; type: string }[] }> = JSON.parse(
    readFileSync(join(devnetDir, 'layouts.json'), 'utf8'),
  )
  t.ok(Object.keys(layouts).length > 15)
  for (const [address, { storage }] of Object.entries(layouts)) {
    const plain = storage.filter(({ type }) => !type.startsWith('t_mapping'))
    for (const block of [
      'earliest',
      '0x64',
      'latest',
      'pending',
      { blockHash: headBlock.hash },
      headBlock.hash,
    ]) {
      const readings: Reading[] = await askResults(
        service,
        plain.map(({ label }) => [method, [address.toUpperCase().replace('0X', '0x'), label, block]]),
      )
      t.equal(readings.length, plain.length)
    }
  }
})

t.test('wrong input is refused, with what would fit', async (t) => {
  const address = contract('Tide')
  const invalid = -32602
  const beyond = quantity(headBlock.number + 1)
  const cases: ErrorCase[] = [
    [
      [person('ada'), 'name', 'latest'],
      invalid,
      'invalid argument 0: network demo knows no storage layout of this address; its operator can add one to the file "storageLayouts" of the configuration',
    ],
    [['0x12', 'name', 'latest'], invalid, 'invalid argument 0: hex string has length 2, want 40 for address'],
    [[address, 5, 'latest'], invalid, 'invalid argument 1: want a path to a variable, got number'],
    [
      [address, 'allowances[0x1]', 'latest'],
      invalid,
      'invalid argument 1: there is no variable allowances; did you mean allowance?',
    ],
    [
      [address, `allowance[${person('dot')}]`, 'latest'],
      invalid,
      `invalid argument 1: allowance[${person('dot')}] is a mapping; name an entry by its key (address), as in allowance[${person('dot')}][…]`,
    ],
    [
      [address, 'balanceOf[ada]', 'latest'],
      invalid,
      'invalid argument 1: the keys of balanceOf are of type address: want an address as 0x and 40 hex digits, got "ada"',
    ],
    [[address, 'name', beyond], -32000, 'header not found'],
    [[address, 'name', unknownHash], -32000, 'header for hash not found'],
  ]
  await checkRefusals(t, service, method, [
    ...cases,
    ...blockRefusals(2, (block) => [address, 'name', block]),
    ...countRefusals([address, 'name', 'latest'], 2),
  ])
})
