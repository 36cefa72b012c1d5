import t from 'tap'
import { type Service, startService } from '../service.js'
import { sights } from './demoChain.js'

let service: Service
t.before(async () => {
  service = await startService()
})
t.teardown(() => service.stop())

const named = (name: string) => {
  const contract = sights.contracts.find((contract) => contract.name === name)
  if (contract === undefined) throw new Error(`no contract ${name}`)
  return contract.address
}
const word = (hex: string) => hex.slice(2).padStart(64, '0')
const anywhere = '0x00000000000000000000000000000000000000aa'

t.test('a balance read by a call is the one in storage', async (t) => {
  for (const slot of sights.slots.filter(({ label }) => / of \w+ at the head$/.test(label)).slice(0, 6)) {
    const owner = sights.accounts.find(({ name }) => slot.label.includes(` of ${name} `))
    if (owner === undefined) continue
    const { result } = await service.call('eth_call', [
      { to: slot.address, data: `0x70a08231${word(owner.address)}` },
      'latest',
    ])
    t.equal(result, slot.value, slot.label)
  }
})

t.test('code, state and balance can be set for one call, and the store stays as it was', async (t) => {
  // SLOAD of slot 0 and the balance of the contract itself, returned as two words.
  const code = '0x5f545f524760205260405ff3'
  const overrides = {
    [anywhere]: { code, balance: '0x2a', state: { [`0x${word('0x0')}`]: `0x${word('0x7')}` } },
  }
  const { result } = await service.call('eth_call', [{ to: anywhere }, 'latest', overrides])
  t.equal(result, `0x${word('0x7')}${word('0x2a')}`)
  t.equal((await service.call('eth_call', [{ to: anywhere }, 'latest'])).result, '0x')
})

t.test('a block can be overridden', async (t) => {
  // NUMBER and TIMESTAMP, returned as two words.
  const code = '0x435f524260205260405ff3'
  const { result } = await service.call('eth_call', [
    { to: anywhere },
    'latest',
    { [anywhere]: { code } },
    { number: '0x1234', time: '0x70005678' },
  ])
  t.equal(result, `0x${word('0x1234')}${word('0x70005678')}`)
})

t.test('a revert has its reason and its data', async (t) => {
  // Error("no"): revert with the ABI encoding, copied from the call data.
  const data = `0x08c379a0${word('0x20')}${word('0x2')}${'6e6f'.padEnd(64, '0')}`
  const code = '0x365f5f37365ffd'
  const { error } = await service.call('eth_call', [
    { to: anywhere, data },
    'latest',
    { [anywhere]: { code } },
  ])
  t.match(error, { code: 3, message: 'execution reverted: no', data })
  const panic = `0x4e487b71${word('0x1')}`
  const failed = await service.call('eth_call', [
    { to: anywhere, data: panic },
    'latest',
    { [anywhere]: { code } },
  ])
  t.match(failed.error, { code: 3, message: 'execution reverted: assert(false)', data: panic })
})

t.test('an endless loop ends with its time, and reads go on beside it', async (t) => {
  const looping = service.call('eth_call', [
    { to: anywhere, gas: '0x3b9aca00' },
    'latest',
    { [anywhere]: { code: '0x5b5f56' } },
  ])
  t.equal((await service.call('eth_chainId')).result, '0x20f1')
  const { error, result } = await looping
  t.equal(result, undefined)
  t.match(error, { code: -32000, message: /^(execution aborted \(timeout = 5s\)|out of gas)/ })
})

t.test('what cannot be called is refused', async (t) => {
  const to = named('Tide')
  const cases: [unknown[], number, RegExp][] = [
    [[], -32602, /missing value for required argument 0/],
    [[{ to: '0x12' }, 'latest'], -32602, /invalid argument 0/],
    [[{ to, gasPrice: '0x1', maxFeePerGas: '0x1' }, 'latest'], -32602, /both gasPrice and/],
    [[{ to, data: '0x01', input: '0x02' }, 'latest'], -32602, /both "data" and "input"/],
    [[{ to }, '0xffffff'], -32000, /header not found/],
    [[{ to, from: anywhere, value: '0x1' }, 'latest'], -32000, /insufficient funds/],
  ]
  for (const [params, code, message] of cases) {
    const { error } = await service.call('eth_call', params)
    t.match(error, { message })
    t.ok(error?.code === code || error?.code === -32000, `${error?.code} ${error?.message}`)
  }
})
