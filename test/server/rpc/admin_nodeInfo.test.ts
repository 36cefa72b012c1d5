import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { devnetDir, examples, headBlock } from '../../rpc/demoChain.js'
import { checkRefusals, countRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'admin_nodeInfo'
const service = await startService()
t.teardown(() => service.stop())

t.test('name, genesis, rules and head, as go-ethereum has them, and nothing of peers', async (t) => {
  const { config } = JSON.parse(readFileSync(join(devnetDir, 'genesis.json'), 'utf8'))
  const { result: name } = await service.call('web3_clientVersion')
  t.strictSame((await service.call(method)).result, {
    name,
    ports: { discovery: 0, listener: 0 },
    protocols: {
      eth: { network: config.chainId, genesis: examples.genesisHash, config, head: headBlock.hash },
    },
  })
  await checkRefusals(t, service, method, countRefusals([]))
})
