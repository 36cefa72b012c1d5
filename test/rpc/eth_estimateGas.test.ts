import t from 'tap'
import { type Service, startService } from '../service.js'
import { sights } from './demoChain.js'

let service: Service
t.before(async () => {
  service = await startService()
})
t.teardown(() => service.stop())

const account = (name: string) => sights.accounts.find((account) => account.name === name)?.address ?? ''
const contract = (name: string) => sights.contracts.find((contract) => contract.name === name)?.address ?? ''
const word = (hex: string) => hex.slice(2).padStart(64, '0')

t.test('a plain transfer takes 21,000', async (t) => {
  const { result } = await service.call('eth_estimateGas', [
    { from: account('ada'), to: account('bea'), value: '0x1' },
  ])
  t.equal(result, '0x5208')
})

t.test('the estimate is the least gas with which a token transfer succeeds', async (t) => {
  const call = {
    from: account('ada'),
    to: contract('Tide'),
    data: `0xa9059cbb${word(account('bea'))}${word('0x5')}`,
  }
  const { result } = await service.call('eth_estimateGas', [call])
  const gas = BigInt(result)
  const run = (limit: bigint) =>
    service.call('eth_call', [{ ...call, gas: `0x${limit.toString(16)}` }, 'latest'])
  t.equal((await run(gas)).error, undefined, `${gas} is enough`)
  t.not((await run(gas - 1n)).error, undefined, `${gas - 1n} is not`)
})

t.test('a call that reverts, or needs more than it is given, has no estimate', async (t) => {
  const target = '0x00000000000000000000000000000000000000ab'
  const override = (code: string) => ({ [target]: { code } })
  const reverted = await service.call('eth_estimateGas', [{ to: target }, 'latest', override('0x5f5ffd')])
  t.match(reverted.error, { code: 3, message: 'execution reverted' })
  const endless = await service.call('eth_estimateGas', [
    { to: target, gas: '0xc350' },
    'latest',
    override('0x5b5f56'),
  ])
  t.match(endless.error, { code: -32000, message: /gas required exceeds allowance \(50000\)/ })
  const poor = await service.call('eth_estimateGas', [{ from: target, to: account('ada'), value: '0x1' }])
  t.match(poor.error, { code: -32000, message: /insufficient funds for transfer/ })
  t.match((await service.call('eth_estimateGas', [])).error, { code: -32602 })
})
