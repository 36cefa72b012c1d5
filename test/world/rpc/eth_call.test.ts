// @shares
import { readFileSync } from 'node:fs'
import t from 'tap'
import { encodeCall } from '../../../data/devnet/abi.js'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import { mergedConfig, testGenesis } from '../../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { makeAuthority } from '../../rpc/authorizing.js'
import { checkCallRefusals, checkIgnoredMembers } from '../../rpc/callRefusals.js'
import { addressOf, examples } from '../../rpc/demoChain.js'
import { startDeveloper } from '../../service/developerChain.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

const balanceOf = (name: string) =>
  bytesToHex(encodeCall('balanceOf(address)', [hexToBytes(addressOf(name))]))
const ask = (...params: unknown[]) => service.call('eth_call', params)
const to = `0x${'77'.repeat(20)}`
/** Code at an address of its own, called with these parameters. */
const run = (code: string, call: object = {}, account: object = {}, ...rest: unknown[]) => {
  return ask({ to, ...call }, 'latest', { [to]: { code: `0x${code}`, ...account } }, ...rest)
}
/** Returns the topmost word. */
const returnTop = '60005260206000f3'
const word = (digits: string) => `0x${digits.padStart(64, '0')}`

t.test('token balances are those in the slots of the token, at the head and long ago', async (t) => {
  const slot = examples.slots.find(({ label }) => label === 'Tide of bea at the head')
  const { result } = await ask({ to: addressOf('Tide'), data: balanceOf('bea') })
  t.equal(BigInt(result), BigInt(slot?.value ?? 0))
  const early = examples.slots.find(({ label }) => label === 'Tide of bea')
  const then = await ask({ to: addressOf('Tide'), input: balanceOf('bea') }, `0x${early?.block.toString(16)}`)
  t.equal(BigInt(then.result), BigInt(early?.value ?? 0))
})

t.test('the block may be left out, named by tag, hash or object', async (t) => {
  const call = { to: addressOf('Tide'), data: balanceOf('bea') }
  const { result } = await ask(call)
  const { number, hash } = examples.head
  for (const block of ['latest', 'pending', `0x${number.toString(16)}`, hash, { blockHash: hash }, null]) {
    t.equal((await ask(call, block)).result, result, JSON.stringify(block))
  }
})

t.test('where both are given, input is the data', async (t) => {
  // The code returns its calldata.
  t.equal((await run('365f5f37365ff3', { data: '0x01', input: '0x0203' })).result, '0x0203')
  t.equal((await run('365f5f37365ff3', { data: '0x01', input: null })).result, '0x01')
})

t.test('where nothing is, nothing is returned', async (t) => {
  t.equal((await ask({ to: `0x${'99'.repeat(20)}` })).result, '0x')
  t.equal((await ask({ data: '0x' })).result, '0x')
  t.equal((await ask({ to: addressOf('Tide'), data: balanceOf('bea') }, 'earliest')).result, '0x')
})

t.test('a revert has code 3, its reason and its data', async (t) => {
  const reverting = (data: string) => {
    // Copies the calldata to memory and reverts with it.
    return run('365f5f37365ffd', { data })
  }
  const abiText = `0x08c379a0${'20'.padStart(64, '0')}${'2'.padStart(64, '0')}${'6869'.padEnd(64, '0')}`
  const cases: readonly [data: string, message: string][] = [
    ['0x', 'execution reverted'],
    ['0xdeadbeef', 'execution reverted'],
    [abiText, 'execution reverted: hi'],
    [abiText.slice(0, -64), 'execution reverted'],
    [`0x4e487b71${'11'.padStart(64, '0')}`, 'execution reverted: arithmetic underflow or overflow'],
    [`0x4e487b71${'99'.padStart(64, '0')}`, 'execution reverted: unknown panic code: 0x99'],
  ]
  for (const [data, message] of cases) {
    t.same((await reverting(data)).error, { code: 3, message, data })
  }
})

t.test('other failures are named', async (t) => {
  t.same((await run('fe')).error, { code: -32000, message: 'invalid opcode: INVALID' })
  t.same((await run('5b5f56', { gas: '0xffff' })).error, { code: -32000, message: 'out of gas' })
  t.same((await ask({ to: addressOf('Tide'), gas: '0x5207' })).error, {
    code: -32000,
    message: 'err: intrinsic gas too low: have 20999, want 21000 (supplied gas 20999)',
  })
  t.match(
    (
      await ask({
        from: `0x${'55'.repeat(20)}`,
        to: addressOf('Tide'),
        gas: '0x5208',
        gasPrice: '0xffffffffff',
      })
    ).error,
    {
      code: -32000,
      message:
        /^err: insufficient funds for gas \* price \+ value: address 0x5{40} have 0 want 23089744183275000 \(supplied gas 21000\)$/,
    },
  )
})

t.test('gas is capped at ten times the gas limit of the current block', async (t) => {
  const { result: block } = await service.call('eth_getBlockByNumber', ['latest', false])
  const cap = BigInt(block.gasLimit) * 10n
  const gasLeft = async (call: object) => BigInt((await run(`5a${returnTop}`, call)).result)
  // 21,000 before the first instruction, and 2 for GAS.
  t.equal(await gasLeft({}), cap - 21_002n)
  t.equal(await gasLeft({ gas: '0xffffffffffff' }), cap - 21_002n)
  t.equal(await gasLeft({ gas: '0x186a0' }), 100_000n - 21_002n)
})

t.test('overrides of accounts and of the block', async (t) => {
  const slot = word('1')
  t.equal((await run(`600154${returnTop}`, {}, { stateDiff: { [slot]: word('2a') } })).result, word('2a'))
  t.equal((await run(`600154${returnTop}`, {}, { state: { [slot]: word('2a') } })).result, word('2a'))
  t.equal((await run(`47${returnTop}`, {}, { balance: '0x5' })).result, word('5'))
  t.equal((await run(`43${returnTop}`, {}, {}, { number: '0x3e8' })).result, word('3e8'))
  t.equal((await run(`42${returnTop}`, {}, {}, { time: '0x3e8', number: '0x3e8' })).result, word('3e8'))
  t.equal(
    (await run(`41${returnTop}`, {}, {}, { feeRecipient: `0x${'12'.repeat(20)}` })).result,
    word('12'.repeat(20)),
  )
  t.equal((await run(`44${returnTop}`, {}, {}, { prevRandao: word('7') })).result, word('7'))
  t.equal((await run(`4a${returnTop}`, {}, {}, { blobBaseFee: '0x8' })).result, word('8'))
  const identity = `0x${'4'.padStart(40, '0')}`
  const target = `0x${'66'.repeat(20)}`
  const moved = await ask({ to: target, data: '0x1234' }, 'latest', {
    [identity]: { movePrecompileToAddress: target },
  })
  t.equal(moved.result, '0x1234')
})

t.test('an account runs the code that it authorizes, if the authorization holds', async (t) => {
  const delegate = `0x${'66'.repeat(20)}` as const
  const { address, authorize } = makeAuthority(delegate)
  const call = async (chainId: number, nonce: number) => {
    const authorizationList = [await authorize(chainId, nonce)]
    return (
      await ask({ to: address, authorizationList }, 'latest', {
        [delegate]: { code: `0x602a${returnTop}` },
      })
    ).result
  }
  t.equal(await call(8433, 0), word('2a'))
  t.equal(await call(0, 0), word('2a'))
  t.equal(await call(8433, 1), '0x')
  t.equal(await call(1, 0), '0x')
})

t.test('overrides that are none are refused', async (t) => {
  const at = `0x${'66'.repeat(20)}`
  const cases: readonly [unknown, number, string | RegExp][] = [
    [[], -32602, 'invalid argument 2: want state overrides, got array'],
    [{ '0x66': {} }, -32602, /^invalid argument 2: hex string has length 2/],
    [{ [at]: 5 }, -32602, 'invalid argument 2: want an account override, got number'],
    [{ [at]: { balance: '5' } }, -32602, 'invalid argument 2: balance: hex string without 0x prefix'],
    [{ [at]: { code: '0x5' } }, -32602, 'invalid argument 2: code: hex string of odd length'],
    [
      { [at]: { state: { '0x1': word('1') } } },
      -32602,
      /^invalid argument 2: state: hex string has length 1|odd length/,
    ],
    [
      { [at]: { state: {}, stateDiff: {} } },
      -32000,
      `account 0x${'66'.repeat(20)} has both 'state' and 'stateDiff'`,
    ],
    [{ [at]: { movePrecompileToAddress: at } }, -32000, `account 0x${'66'.repeat(20)} is not a precompile`],
  ]
  for (const [overrides, code, message] of cases) {
    t.match((await ask({}, 'latest', overrides)).error, { code, message }, JSON.stringify(overrides))
  }
  t.match((await ask({}, 'latest', {}, { time: 5 })).error, {
    code: -32602,
    message: /^invalid argument 3: time: /,
  })
  t.match((await ask({}, 'latest', {}, { beaconRoot: word('1') })).error, {
    code: -32000,
    message: 'block override "beaconRoot" is not supported for this RPC method',
  })
  t.match((await ask({}, 'latest', {}, {}, {})).error, {
    code: -32602,
    message: 'too many arguments, want at most 4',
  })
})

t.test('members that mean nothing are ignored', (t) => checkIgnoredMembers(t, service, 'eth_call'))

t.test('calls that cannot be executed are refused', (t) => checkCallRefusals(t, service, 'eth_call'))

t.test('an endless loop ends after five seconds', async (t) => {
  const { dataDir, networks } = JSON.parse(readFileSync(fixtureConfig, 'utf8'))
  // Limits are the defaults of a server.
  const config = writeInto(makeFolder(t), 'tidegate.json', { dataDir, networks })
  const limited = await startService(['--config', config, '--no-auth'])
  t.teardown(() => limited.stop())
  const start = performance.now()
  // Calls BLAKE2b of 10,000 rounds repeatedly: each round costs one gas, so the time is used up long before the gas.
  const code = '630000271060e01b5f525b5f5f60d55f60095afa50600a56'
  const { error } = await limited.call('eth_call', [{ to }, 'latest', { [to]: { code: `0x${code}` } }])
  t.same(error, { code: -32000, message: 'execution aborted (timeout = 5s)' })
  const ms = performance.now() - start
  t.ok(ms >= 5_000, `${ms} ms`)
})

t.test('blocks of the largest gas limit have room for calls without gas', async (t) => {
  const genesis = testGenesis(mergedConfig(), { gasLimit: `0x${(2n ** 63n - 1n).toString(16)}` })
  const { service: dev } = await startDeveloper(t, { genesis })
  t.match(await dev.call('eth_call', [{ to }]), { result: '0x' })
  const { result } = await dev.call('eth_createAccessList', [{ to }])
  t.strictSame(result, { accessList: [], gasUsed: '0x5208' })
})
