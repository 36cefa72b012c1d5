import { join } from 'node:path'
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { blockAt, blocks, examples, headBlock, quantity, unknownHash } from '../../rpc/demoChain.js'
import { hex, type ProofAnswer, verifyAnswer } from '../../rpc/proofOracle.js'
import {
  askResults,
  blockRefusals,
  checkRefusals,
  countRefusals,
  type ErrorCase,
} from '../../rpc/questions.js'
import { checkRandomProofs, proofsPerBlock } from '../../rpc/randomProofs.js'
import { fixtureDir } from '../../service/fixtures.js'
import { startService } from '../../service/service.js'

const method = 'eth_getProof'
const service = await startService()
t.teardown(() => service.stop())
const store = ChainReader.open({ path: join(fixtureDir, 'networks/demo/chain.mdb') })
t.teardown(() => store.close())

const stateRootAt = (number: number) => hex(blockAt(number).header[3] as Uint8Array)
const headRoot = stateRootAt(headBlock.number)
const zeroWord = `0x${'0'.repeat(64)}`

async function ask(...params: unknown[]): Promise<ProofAnswer> {
  const { result, error } = await service.call(method, params)
  if (error) throw new Error(`${JSON.stringify(params)}: ${JSON.stringify(error)}`)
  return result
}

function contract(name: string): string {
  const found = examples.contracts.find((each) => each.name === name)
  if (found === undefined) throw new RangeError(`no contract is called ${name}`)
  return found.address
}

t.test(`${proofsPerBlock} random accounts with 3 slots are proven at every block`, async (t) => {
  const genesis = (await service.call('eth_getBlockByNumber', ['0x0', false])).result
  t.equal(genesis.hash, examples.genesisHash)
  const roots = [genesis.stateRoot, ...blocks.map(({ number }) => stateRootAt(number))]
  t.equal(roots.length, 265)
  const { present, absent, nonZero } = await checkRandomProofs(t, service, store, roots)
  t.ok(
    present > 50 * proofsPerBlock && absent > 50 * proofsPerBlock && nonZero > 10 * proofsPerBlock,
    `${present}, ${absent}, ${nonZero}`,
  )
})

t.test('every slot of the examples is proven with its value', async (t) => {
  const answers = await askResults(
    service,
    examples.slots.map(({ address, slot, block }) => [method, [address, [slot], quantity(block)]]),
  )
  for (const [index, { label, block, value }] of examples.slots.entries()) {
    if (block === 0) continue
    t.strictSame(verifyAnswer(stateRootAt(block), answers[index]), [value], label)
  }
})

t.test('balance and nonce of the examples are proven at the head', async (t) => {
  for (const { name, address, balance, nonce } of examples.accounts) {
    const answer = await ask(address, [], 'latest')
    verifyAnswer(headRoot, answer)
    t.strictSame([answer.balance, answer.nonce], [balance, quantity(nonce)], name)
  }
})

t.test('a contract that was destroyed is proven absent, and present again later', async (t) => {
  const phoenix = contract('Phoenix')
  const presence = new Set<string>()
  for (let number = 50; number <= headBlock.number; number += 3) {
    const answer = await ask(phoenix, ['0x0'], quantity(number))
    verifyAnswer(stateRootAt(number), answer)
    presence.add(answer.codeHash)
  }
  t.ok(presence.size > 1)
})

t.test('the head has one proof under every name', async (t) => {
  const shelf = contract('Shelf')
  const { hash, number } = headBlock
  const first = await ask(shelf, ['0x0'], 'latest')
  t.same(verifyAnswer(headRoot, first).length, 1)
  const names = [
    ...['pending', 'safe', 'finalized', quantity(number), hash, null],
    ...[{ blockHash: hash }, { blockHash: hash, requireCanonical: true }, { blockNumber: quantity(number) }],
  ]
  for (const name of names) t.strictSame(await ask(shelf, ['0x0'], name), first, JSON.stringify(name))
  t.strictSame(await ask(shelf, ['0x0']), first, 'without a block')
})

t.test('keys are repeated as go-ethereum repeats them', async (t) => {
  const vault = contract('Vault')
  const word = (digits: string) => `0x${digits.padStart(64, '0')}`
  const cases: [written: string, repeated: string][] = [
    ['0x0', '0x0'],
    ['0x', '0x0'],
    ['', '0x0'],
    ['0x00', '0x0'],
    ['0x01', '0x1'],
    ['1', '0x1'],
    ['0x0A', '0xa'],
    [word('1').slice(0, -2), '0x0'],
    [word('1'), word('1')],
    [word('1').slice(2), word('1')],
    // 63 digits are 32 bytes too.
    [`0x${'1'.padStart(63, '0')}`, word('1')],
    [`0X${'F'.repeat(64)}`, `0x${'f'.repeat(64)}`],
  ]
  const answer = await ask(
    vault,
    cases.map(([written]) => written),
    'earliest',
  )
  t.strictSame(
    answer.storageProof.map(({ key }) => key),
    cases.map(([, repeated]) => repeated),
  )
  t.equal(answer.storageProof.at(-1)?.value, '0x1')
  t.equal(answer.storageProof[0]?.value, '0x1111')
})

t.test('how a key is written decides each answer, also right after another way', async (t) => {
  const vault = contract('Vault')
  for (let round = 0; round < 2; round++) {
    t.equal((await ask(vault, ['0x1'], '0x7')).storageProof[0]?.key, '0x1')
    t.equal((await ask(vault, [`0x${'1'.padStart(64, '0')}`], '0x7')).storageProof[0]?.key?.length, 66)
  }
})

t.test('1,024 keys are proven in one answer, repeated ones too', async (t) => {
  const keys = Array.from({ length: 1_024 }, (_, i) => quantity(i % 1_000))
  const answer = await ask(contract('Vault'), keys, 'latest')
  const values = verifyAnswer(headRoot, answer)
  t.equal(values.length, 1_024)
  t.equal(values[3], `0x${'4444'.padStart(64, '0')}`)
  t.equal(values[1_003], values[3])
  t.equal(values[500], zeroWord)
})

t.test('an account with storage and no code, and one with code and no storage', async (t) => {
  const oddity = await ask(contract('Oddity'), ['0x7', '0x8'], 'latest')
  t.strictSame(verifyAnswer(headRoot, oddity).map(BigInt), [7n, 0n])
  t.equal(oddity.codeHash, '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470')
  const burner = await ask(contract('Emitter'), ['0x0'], 'latest')
  t.strictSame(verifyAnswer(headRoot, burner), [zeroWord])
  t.strictSame(burner.storageProof, [{ key: '0x0', value: '0x0', proof: [] }])
})

t.test('wrong input is refused in go-ethereum’s words', async (t) => {
  const who = contract('Shelf')
  const invalid = -32602
  const addresses: [address: unknown, why: string][] = [
    ['', 'empty hex string'],
    [who.slice(2), 'hex string without 0x prefix'],
    [who.slice(0, -2), 'hex string has length 38, want 40 for address'],
    [`${who}00`, 'hex string has length 42, want 40 for address'],
    [who.slice(0, -1), 'hex string of odd length'],
    [`${who.slice(0, -2)}zz`, 'invalid hex string'],
    [5, 'want a hex string for address, got number'],
  ]
  const tooLong = `0x${'1'.repeat(65)}`
  const many = Array.from({ length: 1_025 }, () => '0x0')
  const keys: [keys: unknown, message: string][] = [
    ['0x0', 'invalid argument 1: want an array of storage keys, got string'],
    [{}, 'invalid argument 1: want an array of storage keys, got object'],
    [[7], 'invalid argument 1: want a storage key, got number'],
    [[null], 'invalid argument 1: want a storage key, got null'],
    [['0x0', tooLong], `storage key too long (want at most 32 bytes): "${tooLong}"`],
    [['0xzz'], 'invalid hex in storage key: "0xzz"'],
    [['0x-1'], 'invalid hex in storage key: "0x-1"'],
    [many, 'too many storage keys requested (max 1024, got 1025)'],
  ]
  await checkRefusals(t, service, method, [
    ...addresses.map(
      ([address, why]): ErrorCase => [[address, [], 'latest'], invalid, `invalid argument 0: ${why}`],
    ),
    ...keys.map(([list, message]): ErrorCase => [[who, list, 'latest'], invalid, message]),
    ...blockRefusals(2, (block) => [who, [], block]),
    ...countRefusals([who, [], 'latest'], 2),
  ])
})

t.test('a block that is not there is named as go-ethereum names it', async (t) => {
  const who = contract('Shelf')
  const beyond = quantity(headBlock.number + 1)
  await checkRefusals(t, service, method, [
    [[who, [], beyond], -32000, 'header not found'],
    [[who, [], '0x7fffffffffffffff'], -32000, 'header not found'],
    [[who, [], { blockNumber: beyond }], -32000, 'header not found'],
    [[who, [], unknownHash], -32000, 'header for hash not found'],
    [[who, [], { blockHash: unknownHash }], -32000, 'header for hash not found'],
    [[who, [], { blockHash: unknownHash, requireCanonical: true }], -32000, 'header for hash not found'],
  ])
})

t.test('proofs and other calls of one batch are answered in order', async (t) => {
  const who = contract('Shelf')
  const answers = await askResults(service, [
    ['eth_chainId', []],
    [method, [who, [], '0x40']],
    ['eth_blockNumber', []],
    [method, [who, ['0x0'], '0x40']],
  ])
  t.equal(answers[0], quantity(examples.chainId))
  t.equal(answers[2], quantity(headBlock.number))
  t.same(verifyAnswer(stateRootAt(0x40), answers[1]), [])
  t.equal(verifyAnswer(stateRootAt(0x40), answers[3]).length, 1)
})
