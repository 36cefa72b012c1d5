/**
 * The block at `pending` of a developer chain has the waiting transactions, as anvil's has. Also tests the moved clock.
 */
import t, { type Test } from 'tap'
import { makeFolder } from '../../library/folder.js'
import { startDev } from '../../service/developerChain.js'
import { startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'

const [from, other] = [
  '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
  '0x70997970c51812dc3a010c7d01b50e0d17dc79c8',
] as const
const counter = `0x${'c1'.repeat(20)}`
const clock = `0x${'c2'.repeat(20)}`
/** Adds one to slot 0, and returns the earlier value and the time. */
const counterCode = '0x5f54806001015f555f525f5f5ff3'
/** Returns the time. */
const clockCode = '0x425f5260205ff3'
/** Returns slot 0. */
const readerCode = '0x5f545f5260205ff3'
/** Creation code of the reader. */
const creation = `0x6008600c60003960086000f3${readerCode.slice(2)}`

type Call = (method: string, ...params: unknown[]) => Promise<unknown>

/** The answers at `pending`, and at `latest`, while transactions wait. */
async function scene(call: Call) {
  await call('evm_setAutomine', false)
  await call('anvil_setCode', counter, counterCode)
  const sent = [
    await call('eth_sendTransaction', { from, to: counter, value: '0x7', gas: '0x186a0' }),
    await call('eth_sendTransaction', { from, to: counter, value: '0x2', gas: '0x186a0' }),
    await call('eth_sendTransaction', { from: other, data: creation, gas: '0x186a0' }),
  ]
  const block = (await call('eth_getBlockByNumber', 'pending', false)) as { transactions: unknown[] }
  const full = (await call('eth_getBlockByNumber', 'pending', true)) as { transactions: { hash: string }[] }
  const created = `0x8464135c8f25da09e49bc8782676a84730c318bc`
  const at = async (tag: string) => ({
    balance: await call('eth_getBalance', counter, tag),
    slot: await call('eth_getStorageAt', counter, '0x0', tag),
    nonce: await call('eth_getTransactionCount', from, tag),
    code: await call('eth_getCode', created, tag),
    count: await call('eth_getBlockTransactionCountByNumber', tag),
    reading: await call('eth_call', { to: created }, tag),
  })
  return {
    isHash: JSON.stringify(block.transactions) === JSON.stringify(sent),
    isFull: JSON.stringify(full.transactions.map(({ hash }) => hash)) === JSON.stringify(sent),
    pending: await at('pending'),
    latest: await at('latest'),
  }
}

const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`
const expected = {
  isHash: true,
  isFull: true,
  pending: { balance: '0x9', slot: word(2), nonce: '0x2', code: readerCode, count: '0x3', reading: word(0) },
  latest: { balance: '0x0', slot: word(0), nonce: '0x0', code: '0x', count: '0x0', reading: '0x' },
}

async function ours(test: Test, words: readonly string[] = []): Promise<Call> {
  const { ask } = await startDev(test, words)
  return async (method, ...params) => {
    const { result, error } = await ask(method, ...params)
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }
}

t.test('block, balances, slots, nonces, code and calls at "pending" have what waits', async (t) => {
  const call = await ours(t)
  t.strictSame(await scene(call), expected)
  const before = await call('eth_getBlockByNumber', 'pending', false)
  await call('evm_mine')
  t.match(await call('eth_getBlockByNumber', 'latest', false), {
    gasUsed: (before as { gasUsed: string }).gasUsed,
    transactionsRoot: (before as { transactionsRoot: string }).transactionsRoot,
  })
  for (const tag of ['latest', 'pending']) t.equal(await call('eth_getBalance', counter, tag), '0x9', tag)
  t.match(await call('eth_getBlockByNumber', 'pending', false), { transactions: [], gasUsed: '0x0' })
})

t.test("these answers are anvil's", { skip: withoutAnvil }, async (t) => {
  const anvil = await startAnvil(t, makeFolder(t), null)
  t.strictSame(await scene((method, ...params) => anvil.ask(method, params)), expected)
})

t.test('a draft and an estimate are made after what waits', async (t) => {
  const call = await ours(t, ['--no-mining'])
  await call('anvil_setBalance', counter, '0x0')
  await call('anvil_impersonateAccount', counter)
  await call('eth_sendTransaction', { from, to: counter, value: '0xde0b6b3a7640000', gas: '0x5208' })
  const hash = await call('eth_sendTransaction', { from, to: other, value: '0x1' })
  t.match(await call('eth_getTransactionByHash', hash), { nonce: '0x1', blockNumber: null })
  t.equal(await call('eth_estimateGas', { from: counter, to: other, value: '0x5' }), '0x5208')
  await call('evm_mine')
  t.equal(await call('eth_getBlockTransactionCountByNumber', 'latest'), '0x2')
})

t.test('what is dropped, taken back or changed by hand is not at "pending" any more', async (t) => {
  const call = await ours(t, ['--no-mining'])
  const balance = () => call('eth_getBalance', counter, 'pending')
  const id = await call('evm_snapshot')
  const first = await call('eth_sendTransaction', { from, to: counter, value: '0x1' })
  await call('eth_sendTransaction', { from: other, to: counter, value: '0x2' })
  t.equal(await balance(), '0x3')
  await call('anvil_dropTransaction', first)
  t.equal(await balance(), '0x2')
  await call('anvil_setBalance', counter, '0x10')
  t.equal(await balance(), '0x12')
  t.equal(await call('eth_getBalance', counter, 'latest'), '0x10')
  await call('anvil_dropAllTransactions')
  t.equal(await balance(), '0x10')
  await call('eth_sendTransaction', { from, to: counter, value: '0x4' })
  t.equal(await balance(), '0x14')
  await call('evm_revert', id)
  t.equal(await balance(), '0x0')
  t.equal(await call('eth_getBlockTransactionCountByNumber', 'pending'), '0x0')
})

t.test('a moved clock is what "pending" and what waits see', async (t) => {
  const call = await ours(t, ['--no-mining'])
  await call('anvil_setCode', clock, clockCode)
  const time = async () => Number(await call('eth_call', { to: clock }, 'pending'))
  const begun = Number(
    ((await call('eth_getBlockByNumber', 'latest', false)) as { timestamp: string }).timestamp,
  )
  await call('eth_sendTransaction', { from, to: counter, value: '0x1' })
  await call('evm_setNextBlockTimestamp', begun + 100_000)
  t.equal(await time(), begun + 100_000)
  t.match(await call('eth_getBlockByNumber', 'pending', false), {
    timestamp: `0x${(begun + 100_000).toString(16)}`,
  })
  t.equal(await call('eth_getBlockTransactionCountByNumber', 'pending'), '0x1')
  await call('evm_mine')
  await call('evm_increaseTime', 50_000)
  t.ok((await time()) >= begun + 150_000)
})

t.test('many that are sent at once are all at "pending"', async (t) => {
  const call = await ours(t, ['--no-mining'])
  await Promise.all(
    Array.from({ length: 100 }, () => call('eth_sendTransaction', { from, to: counter, value: '0x1' })),
  )
  t.equal(await call('eth_getBalance', counter, 'pending'), '0x64')
  t.equal(await call('eth_getTransactionCount', from, 'pending'), '0x64')
  await call('evm_mine')
  t.equal(await call('eth_getBalance', counter, 'latest'), '0x64')
})
