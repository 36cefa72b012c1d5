/**
 * Methods by which test suites reset a developer chain, dump its state, set the times of its blocks, and clear waiting
 * transactions.
 */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { startDev } from '../../service/developerChain.js'
import { SocketClient } from '../../transport/socketClient.js'
import { startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'

type Ask = Awaited<ReturnType<typeof startDev>>['ask']

const rich = [
  '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
  '0x70997970c51812dc3a010c7d01b50e0d17dc79c8',
] as const
const stranger = `0x${'57'.repeat(20)}`
const contract = `0x${'c0'.repeat(20)}`
const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`

/** The result of a call, which may not fail. */
async function result(ask: Ask, method: string, ...params: unknown[]) {
  const answer = await ask(method, ...params)
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}

const pay = (ask: Ask, from: string, value: string) =>
  result(ask, 'eth_sendTransaction', { from, to: stranger, value })
const balance = async (ask: Ask) => Number(await result(ask, 'eth_getBalance', stranger, 'latest'))
const head = async (ask: Ask) => Number(await result(ask, 'eth_blockNumber'))

t.test('a dump has the whole state, and makes it anew elsewhere', async (t) => {
  const { ask } = await startDev(t)
  await pay(ask, rich[0], '0x9')
  await result(ask, 'anvil_setCode', contract, '0x60015460005260206000f3')
  await result(ask, 'anvil_setStorageAt', contract, '0x1', word(42))
  const dump = await result(ask, 'anvil_dumpState')
  const other = (await startDev(t)).ask
  await result(other, 'anvil_setStorageAt', contract, '0x2', word(7))
  await result(other, 'anvil_setNonce', rich[1], '0x5')
  t.equal(await result(other, 'anvil_loadState', dump), true)
  t.equal(await balance(other), 9)
  t.equal(await result(other, 'eth_call', { to: contract }, 'latest'), word(42))
  t.equal(await result(other, 'eth_getStorageAt', contract, '0x2', 'latest'), word(7), 'other slots stay')
  t.equal(await result(other, 'eth_getTransactionCount', rich[0], 'latest'), '0x1')
  t.equal(await result(other, 'eth_getTransactionCount', rich[1], 'latest'), '0x0')
  await pay(other, rich[0], '0x1')
  const again = await result(other, 'anvil_dumpState')
  t.equal(await result(ask, 'hardhat_loadState', again), true)
  t.equal(await balance(ask), 10)

  const text = (json: unknown) => `0x${Buffer.from(JSON.stringify(json)).toString('hex')}`
  t.equal(await result(ask, 'anvil_loadState', text({ accounts: { [stranger]: { balance: '0x3' } } })), true)
  t.equal(await balance(ask), 3, 'a dump that is not packed')
  const packed = (bytes: Buffer) => `0x${gzipSync(bytes).toString('hex')}`
  for (const [wrong, why] of [
    [7, /expected a dump in hex/],
    ['0x1f8b00', /expected the result of anvil_dumpState/],
    [text([]), /it is no JSON object/],
    [text({ block: null }), /it has no "accounts"/],
    [text({ accounts: { '0x12': {} } }), /0x12 is no account/],
    [text({ accounts: { [stranger]: { code: 1 } } }), /has no code or storage/],
    [packed(Buffer.alloc(70 * 2 ** 20, 0x20)), /it has more than 67108864 bytes/],
  ] as const) {
    t.match(await ask('anvil_loadState', wrong), { error: { code: -32602, message: why } })
  }
  t.equal(await balance(ask), 3)
})

t.test('anvil reads a dump, and its dumps are read', { skip: withoutAnvil }, async (t) => {
  const { ask } = await startDev(t)
  const anvil = await startAnvil(t, makeFolder(t), null)
  await result(ask, 'anvil_setStorageAt', contract, '0x1', word(42))
  await result(ask, 'anvil_setCode', contract, '0x60015460005260206000f3')
  t.equal(await anvil.ask('anvil_loadState', [await result(ask, 'anvil_dumpState')]), true)
  t.equal(await anvil.ask('eth_call', [{ to: contract }, 'latest']), word(42))
  await anvil.ask('anvil_setStorageAt', [contract, '0x1', word(43)])
  await anvil.ask('anvil_setNonce', [stranger, '0x11'])
  t.equal(await result(ask, 'anvil_loadState', await anvil.ask('anvil_dumpState')), true)
  t.equal(await result(ask, 'eth_call', { to: contract }, 'latest'), word(43))
  t.equal(await result(ask, 'eth_getTransactionCount', stranger, 'latest'), '0x11')
})

t.test('a reset leaves the chain as it began', async (t) => {
  const { ask } = await startDev(t)
  const genesis = await result(ask, 'eth_getBlockByNumber', '0x0', false)
  await result(ask, 'anvil_setBalance', stranger, '0x5')
  await pay(ask, rich[0], '0x9')
  const id = await result(ask, 'evm_snapshot')
  await result(ask, 'evm_increaseTime', 10_000)
  await result(ask, 'evm_setAutomine', false)
  await result(ask, 'anvil_setCoinbase', contract)
  t.equal(await result(ask, 'eth_coinbase'), contract)
  await result(ask, 'anvil_autoImpersonateAccount', true)
  await pay(ask, rich[0], '0x1')
  t.equal(await result(ask, 'hardhat_reset'), true)
  t.strictSame(await result(ask, 'eth_getBlockByNumber', 'latest', false), genesis)
  t.equal(await balance(ask), 0)
  t.equal(await result(ask, 'eth_coinbase'), `0x${'0'.repeat(40)}`)
  t.equal(await result(ask, 'evm_revert', id), false)
  t.equal(await result(ask, 'txpool_status').then(({ pending }) => pending), '0x0')
  await pay(ask, rich[0], '0x2')
  t.equal(await head(ask), 1, 'each transaction has a block again')
  t.match(await ask('eth_sendTransaction', { from: contract, to: stranger, gas: '0x5208' }), {
    error: { message: /unknown account/ },
  })
  t.match(await ask('anvil_reset', { forking: { jsonRpcUrl: 'http://127.0.0.1:1' } }), {
    error: {
      message: /^anvil_reset with "forking" is not possible here: .*; begin a chain on another base, with/,
    },
  })
  t.equal(await result(ask, 'anvil_reset', {}), null)
  t.equal(await head(ask), 0)
})

t.test(
  'a rollback takes blocks back; a reorganisation replaces them, and their transactions wait again',
  async (t) => {
    const { ask } = await startDev(t)
    for (const value of ['0x1', '0x2', '0x4']) await pay(ask, rich[0], value)
    t.equal(await result(ask, 'anvil_rollback', 2), null)
    t.equal(await head(ask), 1)
    t.equal(await balance(ask), 1)
    await result(ask, 'anvil_rollback')
    t.equal(await head(ask), 0)
    t.match(await ask('anvil_rollback', 1), {
      error: { message: /1 blocks cannot be taken back: 0 were made/ },
    })

    const first = await pay(ask, rich[0], '0x1')
    const second = await pay(ask, rich[0], '0x2')
    const hashes = async () =>
      Promise.all(
        [1, 2].map(async (at) => (await result(ask, 'eth_getBlockByNumber', `0x${at}`, false)).hash),
      )
    const old = await hashes()
    const raw = await result(ask, 'eth_signTransaction', {
      from: rich[1],
      to: stranger,
      value: '0x10',
      nonce: '0x0',
    })
    await result(ask, 'evm_setAutomine', false)
    t.equal(await result(ask, 'anvil_reorg', 2, [[raw, 1]]), null)
    t.equal(await head(ask), 2)
    for (const [at, hash] of (await hashes()).entries()) t.not(hash, old[at])
    t.equal(await balance(ask), 0x10)
    t.equal((await result(ask, 'eth_getBlockByNumber', '0x1', false)).transactions.length, 0)
    for (const hash of [first, second])
      t.match(await result(ask, 'eth_getTransactionByHash', hash), { blockNumber: null }, 'it waits')
    await result(ask, 'evm_mine')
    t.equal(await balance(ask), 0x13)
    t.match(await ask('anvil_reorg', 4, []), {
      error: { message: /4 blocks cannot be taken back: 3 were made/ },
    })
    t.match(await ask('anvil_reorg', 1, [[raw, 1]]), {
      error: { message: /block 1 is none of 1 new blocks/ },
    })
    t.match(await ask('anvil_reorg', 1, [[{ from: rich[0] }, 0]]), {
      error: { message: /signed transactions in hex/ },
    })
    t.equal(await head(ask), 3)
  },
)

t.test('many blocks of one call are all there, with their times, and each is announced', async (t) => {
  const { ask, url } = await startDev(t)
  const socket = await SocketClient.connect(`${url.replace('http', 'ws')}/ws`)
  t.teardown(() => socket.socket.close())
  await socket.ask('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
  const last = 120
  const mined = result(ask, 'hardhat_mine', last, 12)
  const heads: { number: string; timestamp: string; hash: string; parentHash: string }[] = []
  while (heads.length < last) heads.push(JSON.parse((await socket.next()) ?? '{}').params.result)
  t.equal(await mined, true)
  t.equal(await head(ask), last)
  const first = Number(heads[0]?.timestamp)
  for (const [at, { number, timestamp, parentHash }] of heads.entries()) {
    t.equal(Number(number), at + 1)
    t.equal(Number(timestamp), first + 12 * at)
    if (at > 0) t.equal(parentHash, heads[at - 1]?.hash)
  }
  await result(ask, 'anvil_setCode', contract, '0x5f35405f5260205ff3')
  t.equal(
    await result(ask, 'eth_call', { to: contract, data: word(17) }, 'latest'),
    heads[16]?.hash,
    'BLOCKHASH',
  )
})

t.test('an interval of timestamps replaces the clock', async (t) => {
  const { ask } = await startDev(t)
  const timeOf = async (block: string) =>
    Number((await result(ask, 'eth_getBlockByNumber', block, false)).timestamp)
  t.equal(await result(ask, 'anvil_removeBlockTimestampInterval'), false)
  const begun = await timeOf('latest')
  await result(ask, 'anvil_setBlockTimestampInterval', 777)
  t.equal(await timeOf('pending'), begun + 777)
  await result(ask, 'anvil_mine', 3)
  t.equal(await timeOf('latest'), begun + 3 * 777)
  t.equal(await timeOf('pending'), begun + 4 * 777)
  t.equal(await result(ask, 'anvil_removeBlockTimestampInterval'), true)
  await result(ask, 'evm_mine')
  t.equal(await timeOf('latest'), begun + 3 * 777 + 1, 'the clock is behind, so one second more')
})

t.test('what waits is dropped by sender; the pace of blocks is answered', async (t) => {
  const { ask } = await startDev(t, ['--no-mining'])
  for (const from of [rich[0], rich[0], rich[1]]) await pay(ask, from, '0x1')
  t.equal(await result(ask, 'anvil_removePoolTransactions', rich[0]), null)
  t.equal(await result(ask, 'txpool_status').then(({ pending }) => pending), '0x1')
  t.equal(await result(ask, 'anvil_getIntervalMining'), null)
  t.equal(await result(ask, 'hardhat_intervalMine'), true)
  t.equal(await balance(ask), 1)
  await result(ask, 'evm_setIntervalMining', 3_600)
  t.equal(await result(ask, 'anvil_getIntervalMining'), 3_600)
})

t.test('what is refused says why, and what there is in its place', async (t) => {
  const { ask } = await startDev(t)
  for (const method of ['anvil_setChainId', 'anvil_setMinGasPrice', 'anvil_setRpcUrl']) {
    const { error } = await ask(method, '0x1')
    t.equal(error.code, -32000)
    t.match(error.message, new RegExp(`^${method} is not possible here: .+; .+`))
  }
})
