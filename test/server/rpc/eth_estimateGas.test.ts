import t from 'tap'
import { encodeCall } from '../../../data/devnet/abi.js'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import { makeAuthority } from '../../rpc/authorizing.js'
import { checkCallRefusals, checkIgnoredMembers } from '../../rpc/callRefusals.js'
import { addressOf, examples } from '../../rpc/demoChain.js'
import { startService } from '../../service/service.js'

const service = await startService()
t.teardown(() => service.stop())

const ask = (...params: unknown[]) => service.call('eth_estimateGas', params)
const here = `0x${'77'.repeat(20)}` as const
const run = (code: string, call: object = {}) =>
  ask({ to: here, ...call }, 'latest', { [here]: { code: `0x${code}` } })
const quantity = (value: bigint) => `0x${value.toString(16)}`

t.test('a token transfer needs what it is estimated to, and not less', async (t) => {
  const data = bytesToHex(encodeCall('transfer(address,uint256)', [hexToBytes(addressOf('cal')), 1]))
  const call = { from: addressOf('bea'), to: addressOf('Tide'), data }
  for (const block of [
    undefined,
    'latest',
    'pending',
    'finalized',
    `0x${(examples.head.number - 5).toString(16)}`,
  ]) {
    const params = block === undefined ? [call] : [call, block]
    const gas = BigInt((await ask(...params)).result)
    const at = (limit: bigint) =>
      service.call('eth_call', [{ ...call, gas: quantity(limit) }, block ?? 'latest'])
    t.equal((await at(gas)).error, undefined)
    t.match((await at(gas - 1n)).error, { code: -32000, message: 'out of gas' })
  }
})

t.test('a plain transfer costs 21,000', async (t) => {
  t.equal((await ask({ from: addressOf('bea'), to: addressOf('cal'), value: '0x1' })).result, '0x5208')
  t.equal((await ask({ to: `0x${'99'.repeat(20)}` }, 'earliest')).result, '0x5208')
})

t.test('an authorization is paid for whether or not it holds, and its code where it does', async (t) => {
  const { address, authorize } = makeAuthority(here)
  const estimate = async (chainId: number, nonce: number) => {
    const authorizationList = [await authorize(chainId, nonce)]
    // PUSH1 0, 3 gas.
    return ask({ to: address, authorizationList }, 'latest', { [here]: { code: '0x6000' } })
  }
  t.equal((await estimate(8433, 0)).result, quantity(21_000n + 25_000n + 3n))
  t.equal((await estimate(8433, 1)).result, quantity(21_000n + 25_000n))
  t.equal((await estimate(1, 0)).result, quantity(21_000n + 25_000n))
})

t.test('a revert has code 3, its reason and its data', async (t) => {
  const data = `0x4e487b71${'01'.padStart(64, '0')}`
  t.same((await run('365f5f37365ffd', { data })).error, {
    code: 3,
    message: 'execution reverted: assert(false)',
    data,
  })
})

t.test('what no gas helps is named, and so is too little of it', async (t) => {
  t.same((await run('fe')).error, { code: -32000, message: 'invalid opcode: INVALID' })
  t.same((await run('5b5f56', { gas: '0xffff' })).error, {
    code: -32000,
    message: 'gas required exceeds allowance (65535)',
  })
  const poor = { from: addressOf('bea'), gasPrice: quantity(10n ** 25n) }
  t.match((await run('00', poor)).error, { code: -32000, message: /^gas required exceeds allowance \(0\)$/ })
})

t.test('without gas the pending block bounds it, as far as a transaction may go', async (t) => {
  // Since Osaka: 2^24 (EIP-7825).
  t.same((await run('5b5f56')).error, {
    code: -32000,
    message: `gas required exceeds allowance (${16_777_216})`,
  })
})

t.test('members that mean nothing are ignored', (t) => checkIgnoredMembers(t, service, 'eth_estimateGas'))

t.test('calls that cannot be executed are refused', (t) => checkCallRefusals(t, service, 'eth_estimateGas'))

t.test('the block may be another one than that of the chain', async (t) => {
  // REVERT unless NUMBER is 0x1234.
  const code = { [here]: { code: '0x6112344314600b575f5ffd5b00' } }
  t.match((await ask({ to: here }, 'latest', code)).error, { code: 3 })
  const { result } = await ask({ to: here }, 'latest', code, { number: '0x1234' })
  t.ok(Number(result) > 21_000, result)
  t.match((await ask({ to: here }, 'latest', {}, {}, {})).error, {
    code: -32602,
    message: 'too many arguments, want at most 4',
  })
})
