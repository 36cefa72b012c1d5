import { join } from 'node:path'
import { RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import t from 'tap'
import { readTrie } from '../../../src/data/state/trie.js'
import { historicalTries } from '../../../src/data/state/tries.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { toHash32 } from '../../../src/primitives/bytes.js'
import { propertyRuns } from '../../library/property.js'
import {
  blockAt,
  bytesOf,
  examples,
  genesis,
  headBlock,
  keccak,
  quantity,
  unknownHash,
} from '../../rpc/demoChain.js'
import { askResults, blockRefusals, checkRefusals, countRefusals } from '../../rpc/questions.js'
import { fixtureDir } from '../../service/fixtures.js'
import { startService } from '../../service/service.js'

const method = 'eth_getStorageAt'
const service = await startService()
t.teardown(() => service.stop())

const zero = `0x${'0'.repeat(64)}`
const numbers = Array.from({ length: headBlock.number + 1 }, (_, number) => number)

function word(slot: string): string {
  return `0x${slot.slice(2).padStart(64, '0')}`
}

/** Values of a slot after each block from genesis to the head. */
function history(address: string, slot: string): Promise<string[]> {
  return askResults(
    service,
    numbers.map((number) => [method, [address, slot, quantity(number)]]),
  )
}

async function ask(...params: unknown[]): Promise<string> {
  const { result, error } = await service.call(method, params)
  if (error) throw new Error(`${JSON.stringify(params)}: ${JSON.stringify(error)}`)
  return result
}

function example(label: string) {
  const found = examples.slots.find((each) => each.label === label)
  if (found === undefined) throw new RangeError(`no slot is called ${label}`)
  return found
}

function contract(name: string) {
  const found = examples.contracts.find((each) => each.name === name)
  if (found === undefined) throw new RangeError(`no contract is called ${name}`)
  return found
}

t.test('examples: every slot has its value after its block', async (t) => {
  t.ok(examples.slots.length > 60)
  const answers = await askResults(
    service,
    examples.slots.map(({ address, slot, block }) => [method, [address, slot, quantity(block)]]),
  )
  for (const [index, { label, value }] of examples.slots.entries()) t.equal(answers[index], value, label)
})

t.test('a slot that is seen at the head has the same value under every name of the head', async (t) => {
  const atHead = examples.slots.filter(({ block }) => block === headBlock.number)
  t.ok(atHead.length > 0)
  const { hash, number } = headBlock
  const names = [
    ...['latest', 'pending', 'safe', 'finalized', quantity(number), hash],
    ...[{ blockHash: hash }, { blockHash: hash, requireCanonical: true }, { blockNumber: 'latest' }],
    ...[{ blockNumber: 'pending' }, { blockNumber: quantity(number) }, null],
  ]
  for (const { address, slot, value, label } of atHead) {
    const answers = await askResults(
      service,
      names.map((name) => [method, [address, slot, name]]),
    )
    for (const [at, answer] of answers.entries())
      t.equal(answer, value, `${label} at ${JSON.stringify(names[at])}`)
    t.equal(await ask(address, slot), value, 'without a block')
  }
})

t.test('a position may be a quantity, 32 bytes, odd, without 0x, in either case', async (t) => {
  const { address, slot, value } = example('Tide of ada at the head')
  const digits = slot.slice(2)
  for (const key of [slot, digits, `0X${digits.toUpperCase()}`])
    t.equal(await ask(address, key, 'latest'), value)
  const vault = contract('Vault').address
  for (const key of ['0x1', '1', '0x01', '01', '001', '0x001', word('0x1'), word('0x1').slice(2)]) {
    t.equal(await ask(vault, key, 'latest'), word('0x2222'), key)
  }
  for (const key of ['0x0', '0', '0x', '', '0x00', zero]) {
    t.equal(await ask(vault, key, 'latest'), word('0x1111'), JSON.stringify(key))
  }
  t.equal(await ask(vault, `0x${'f'.repeat(64)}`, 'earliest'), word('0x1'), 'the last slot of all')
})

t.test('an address may be written in any case', async (t) => {
  const { address, slot, value } = example('Tide of ada at the head')
  t.equal(await ask(`0X${address.slice(2).toUpperCase()}`, slot), value)
})

t.test('a slot keeps its value from a change to the next', async (t) => {
  const { address, slot } = example('count at genesis')
  const counts = (await history(address, slot)).map(BigInt)
  t.equal(counts[0], 1000n)
  for (let number = 1; number < counts.length; number++) {
    const before = counts[number - 1] as bigint
    t.ok((counts[number] as bigint) >= before, `OldCounter never counts down, block ${number}`)
  }
  const seen = example('count after genesis')
  t.equal(counts[seen.block], BigInt(seen.value))
  t.ok((counts.at(-1) as bigint) > 1000n)
})

t.test('a contract has no storage before it is made', async (t) => {
  for (const { address, slot, label, contract: name } of examples.slots) {
    const { block, source } = contract(name)
    // An account that delegates, and an account of genesis, may have storage from the beginning.
    if (block === 0 || source.includes('Wallet')) continue
    t.equal(await ask(address, slot, quantity(block - 1)), zero, label)
  }
})

t.test('a contract that never changes reads the same at every block', async (t) => {
  const vault = contract('Vault').address
  t.strictSame(new Set(await history(vault, '0x0')), new Set([word('0x1111')]))
})

t.test('a slot never written and an unknown account read as zero at every block', async (t) => {
  const { address } = contract('Tide')
  for (const [account, slot] of [
    [address, `0x${'5e'.repeat(32)}`],
    [`0x${'5e'.repeat(20)}`, '0x0'],
    [`0x${'00'.repeat(20)}`, '0x0'],
    [`0x${'ff'.repeat(20)}`, `0x${'ff'.repeat(32)}`],
  ] as const) {
    t.strictSame(new Set(await history(account, slot)), new Set([zero]), `${account} ${slot}`)
  }
})

t.test('storage ends with a self-destruct and begins anew with the contract', async (t) => {
  const first = example('feather in the first life')
  const burnt = example('feather after the fire')
  const second = example('feather in the second life')
  t.not(first.value, zero)
  t.equal(burnt.value, zero)
  const values = await history(first.address, first.slot)
  t.equal(values[first.block], first.value)
  t.equal(values[burnt.block], zero)
  t.equal(values[second.block], second.value)
  const after = examples.slots.filter(({ label }) => /death and birth in one block/.test(label))
  t.ok(after.length >= 3)
  for (const { address, slot, block, value, label } of after) {
    t.equal(await ask(address, slot, quantity(block)), value, label)
  }
  // The constructor writes 1 into slot 0 and the first feathers raise it.
  const lives = (await history(first.address, '0x0')).map(BigInt)
  t.strictSame(lives.slice(first.block - 1, second.block + 1), [0n, 2n, 0n, 2n])
})

t.test('a slot set to zero reads as zero from then on', async (t) => {
  const cleared = example('array, length, after clear')
  const values = await history(cleared.address, cleared.slot)
  t.not(values[example('array, length').block], zero)
  t.equal(values[cleared.block], zero)
})

t.test('any slot at any block is what the tries below its state root say', async (t) => {
  const store = ChainReader.open({ path: join(fixtureDir, 'networks/demo/chain.mdb') })
  t.teardown(() => store.close())
  const accounts = [...new Set([...examples.contracts, ...examples.accounts].map(({ address }) => address))]
  const known = new Map(
    accounts.map((address) => [address, examples.slots.filter((each) => each.address === address)]),
  )
  const stateRoots = [
    (await service.call('eth_getBlockByNumber', ['0x0', false])).result.stateRoot,
    ...numbers
      .slice(1)
      .map((number) => `0x${Buffer.from(blockAt(number).header[3] as Uint8Array).toString('hex')}`),
  ]
  const triple = fc
    .constantFrom(...accounts)
    .chain((address) =>
      fc.tuple(
        fc.constant(address),
        fc.oneof(
          fc.constantFrom('0x0', '0x1', '0x2', '0x3', '0x4', '0x5', '0x7', '0xc'),
          fc.constantFrom('0x0', ...(known.get(address) ?? []).map(({ slot }) => slot)),
        ),
        fc.integer({ min: 0, max: headBlock.number }),
      ),
    )
  let written = 0
  await fc.assert(
    fc.asyncProperty(triple, async ([address, slot, number]) => {
      const expected = readSlotByTrie(store, number, stateRoots[number], address, slot)
      if (expected !== zero) written++
      const value = await ask(address, slot, quantity(number))
      if (value !== expected) throw new Error(`answered ${value}, the trie says ${expected}`)
    }),
    propertyRuns(400),
  )
  t.ok(written > 20, `${written} of them not zero`)
})

/** Walks down the state trie and the account's storage trie. */
function readSlotByTrie(
  store: ChainReader,
  number: number,
  stateRoot: string,
  address: string,
  slot: string,
): string {
  const tries = historicalTries(store, number)
  const walk = (root: Uint8Array, key: string, owner?: Uint8Array) =>
    readTrie(toHash32(root), toHash32(bytesOf(keccak(bytesOf(key)))), tries(owner))
  const account = walk(bytesOf(stateRoot), address)
  if (account === undefined) return zero
  const [, , storageRoot] = RLP.decode(account) as Uint8Array[]
  const value = walk(storageRoot as Uint8Array, word(slot), bytesOf(address))
  return value === undefined
    ? zero
    : word(`0x${Buffer.from(RLP.decode(value) as Uint8Array).toString('hex')}`)
}

t.test('the root of genesis storage is that of genesis.json', async (t) => {
  const { alloc } = genesis as unknown as { alloc: Record<string, { storage?: Record<string, string> }> }
  let slots = 0
  for (const [account, { storage = {} }] of Object.entries(alloc)) {
    const address = account.startsWith('0x') ? account : `0x${account}`
    for (const [slot, value] of Object.entries(storage)) {
      t.equal(await ask(address, slot, 'earliest'), word(value), `${address} ${slot}`)
      slots++
    }
  }
  t.ok(slots > 10)
})

t.test('state at an unknown block is an error, in the words for number and hash', async (t) => {
  const { address } = contract('Vault')
  await checkRefusals(t, service, method, [
    [[address, '0x0', quantity(headBlock.number + 1)], -32000, 'header not found'],
    [[address, '0x0', '0x7fffffffffffffff'], -32000, 'header not found'],
    [[address, '0x0', { blockNumber: quantity(headBlock.number + 1) }], -32000, 'header not found'],
    [[address, '0x0', unknownHash], -32000, 'header for hash not found'],
    [[address, '0x0', { blockHash: unknownHash }], -32000, 'header for hash not found'],
    [
      [address, '0x0', { blockHash: unknownHash, requireCanonical: true }],
      -32000,
      'header for hash not found',
    ],
  ])
})

t.test('wrong parameters are refused', async (t) => {
  const { address } = contract('Vault')
  const long = `0x${'1'.repeat(65)}`
  const account = (value: unknown, why: string) =>
    [[value, '0x0', 'latest'], -32602, `invalid argument 0: ${why}`] as const
  await checkRefusals(t, service, method, [
    ...countRefusals([address, '0x0', 'latest'], 2),
    ...blockRefusals(2, (block) => [address, '0x0', block]),
    account('', 'empty hex string'),
    account(address.slice(2), 'hex string without 0x prefix'),
    account('0x', 'hex string has length 0, want 40 for address'),
    account(address.slice(0, -1), 'hex string of odd length'),
    account(address.slice(0, -2), 'hex string has length 38, want 40 for address'),
    account(`${address}00`, 'hex string has length 42, want 40 for address'),
    account(`0x${'zz'.repeat(20)}`, 'invalid hex string'),
    account(1, 'want a hex string for address, got number'),
    account([], 'want a hex string for address, got array'),
    [[address, long, 'latest'], -32602, `storage key too long (want at most 32 bytes): "${long}"`],
    [
      [address, '1'.repeat(65), 'latest'],
      -32602,
      `storage key too long (want at most 32 bytes): "${'1'.repeat(65)}"`,
    ],
    [[address, '0xzz', 'latest'], -32602, 'invalid hex in storage key: "0xzz"'],
    [[address, '"\\', 'latest'], -32602, 'invalid hex in storage key: "\\"\\\\"'],
    [[address, '0x-1', 'latest'], -32602, 'invalid hex in storage key: "0x-1"'],
    [[address, 0, 'latest'], -32602, 'invalid argument 1: want a storage key, got number'],
    [[address, '0x0', 0], -32602, 'invalid argument 2: want a block number or tag, got number'],
  ])
})
