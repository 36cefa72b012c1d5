import { createCommonFromGethGenesis } from '@ethereumjs/common'
import t from 'tap'
import { examples, genesis } from '../../rpc/demoChain.js'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_config'
const service = await startService()
t.teardown(() => service.stop())

const timed = examples.forks.filter(({ name }) => /^(shanghai|cancun|prague|osaka|bpo)/.test(name))

t.test('each fork by time is told with its id, and the next and the last one', async (t) => {
  const common = createCommonFromGethGenesis(genesis as never, {})
  t.equal(timed.length, 6)
  for (const [at, { name, block }] of timed.entries()) {
    const { result: header } = await service.call('eth_getHeaderByNumber', [`0x${block.toString(16)}`])
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method, at: header.hash })
    const { current, next, last } = JSON.parse((await service.post('/', call)).text).result
    const timeOf = (fork: string) => genesis.config[`${fork}Time`]
    t.equal(current.activationTime, timeOf(name), name)
    t.equal(current.chainId, '0x20f1')
    const hash = Buffer.from(examples.genesisHash.slice(2), 'hex')
    t.equal(current.forkId, common.forkHash(name as never, hash), name)
    t.same(current.blobSchedule, genesis.config.blobSchedule[name])
    const after = timed[at + 1]
    t.equal(next?.activationTime, after && timeOf(after.name))
    t.equal(last?.activationTime, after && timeOf('bpo2'))
    t.equal('P256VERIFY' in current.precompiles, at > 2)
    t.equal('BEACON_ROOTS_ADDRESS' in current.systemContracts, at > 0)
  }
})

t.test('before the first fork by time there is only a next one', async (t) => {
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method, at: examples.genesisHash })
  const { current, next } = JSON.parse((await service.post('/', call)).text).result
  t.equal(current, null)
  t.equal(next.activationTime, genesis.config.shanghaiTime)
  await checkRefusals(t, service, method, countRefusals([]))
})
