// @shares
/** Methods of a rollup at the addresses of the default network, which is another. */
import { RpcProvider } from 'starknet'
import t from 'tap'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { runHere } from '../../service/program.js'
import { serveDemo } from '../../service/servedDemo.js'
import { SocketClient } from '../../transport/socketClient.js'

const roll = { name: 'roll', kind: 'rollup', chainId: 'SN_SEPOLIA', aliases: ['starknet'] }
const sepolia = '0x534e5f5345504f4c4941'
const ask = (method: string, params: unknown = []) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

t.test('they are answered where one rollup is served, with its prefixes', async (t) => {
  const { service } = await serveDemo(t, { networks: [roll] })
  const provider = new RpcProvider({ nodeUrl: service.origin })
  t.equal(await provider.getChainId(), sepolia)
  for (const path of ['/', '/demo', '/roll']) {
    for (const prefix of ['rollupx', 'starknet']) {
      t.match((await service.post(path, ask(`${prefix}_chainId`))).text, sepolia, `${prefix} at ${path}`)
    }
  }
  t.equal((await service.call('eth_chainId')).result, '0x20f1', 'the network has its own methods')
  const { result } = await service.call('starknet_addInvokeTransaction', [makeTransaction(7, 0)])
  const hash = result.transaction_hash
  t.match((await service.call('rollupx_getTransactionStatus', [hash])).result, { queue_status: 'RECEIVED' })
  t.match((await service.post('/roll', ask('rollupx_getTransactionStatus', [hash]))).text, 'RECEIVED')
  const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  t.teardown(() => client.cut())
  t.match(await client.ask(ask('starknet_subscribeTransactionStatus', [hash])), '"result"')
  t.match(await client.next(), 'starknet_subscriptionTransactionStatus')
})

t.test('they are not where two are served, nor of the rollup at other networks', async (t) => {
  const { service } = await serveDemo(t, { networks: [roll, { ...roll, name: 'other' }] })
  t.match((await service.call('starknet_chainId')).error, { code: -32601 })
  t.match((await service.post('/other', ask('starknet_chainId'))).text, sepolia)
})

t.test('a key that may not be used for the rollup is refused', async (t) => {
  const { service, config } = await serveDemo(t, { networks: [roll] }, [])
  const keyOf = async (network: string) => {
    const words = ['keys', 'create', '--config', config, '--name', `for ${network}`, '--network', network]
    return /tg_\S+/.exec((await runHere(words)).out)?.[0]
  }
  const demo = await keyOf('demo')
  const rolls = await keyOf('roll')
  const asked = ask('starknet_chainId')
  t.match((await service.post(`/v3/${demo}`, ask('eth_chainId'))).text, '"0x20f1"')
  t.match((await service.post(`/v3/${demo}`, asked)).text, 'network roll is not allowed for this API key')
  t.equal((await service.post(`/v3/${rolls}`, asked)).status, 403)
  t.match((await service.post(`/roll/v3/${rolls}`, asked)).text, sepolia)
})
