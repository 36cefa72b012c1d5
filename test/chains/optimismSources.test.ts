/**
 * A follower and a gateway beside a node that plays an OP Stack chain of op-geth: they cross each fork as it comes, and what
 * they fetched, executed or proved is what op-geth answers. Skipped where the chain is absent.
 */
import { join } from 'node:path'
import t from 'tap'
import { type OptimismBlock, optimismBlocks, optimismFolder, skipsOptimism } from '../ingest/optimismChain.js'
import { waitFor } from '../library/until.js'
import { makeFolder, writeConfig } from '../service/program.js'
import { patientLimits, type Service, startService } from '../service/service.js'

const genesis = join(optimismFolder, 'a/genesis.json')
/** The node begins here, and plays the others so fast. */
const beforeForks = 12
const intervalMs = 40
/** The first of each fork, one before, and the head. */
const asked = [5, 19, 20, 48, 80, 106, 130, 162, 204, 209, 240]

t.test('followers and gateways have the chain of the node', { skip: skipsOptimism }, async (t) => {
  const blocks = optimismBlocks('a')
  const start = async (name: string, ...words: readonly string[]): Promise<Service> => {
    const flags = ['--network', name, '--data', join(folder, name), '--no-auth', ...words]
    const service = await startService(flags)
    t.teardown(() => service.stop())
    return service
  }
  const folder = makeFolder(t)
  const file = join(optimismFolder, 'a/chain.rlp.gz')
  const played = { name: 'node', genesis, source: { type: 'replay', file, from: beforeForks, intervalMs } }
  const config = writeConfig(folder, { dataDir: 'node', networks: [played], limits: patientLimits })
  const node = await startService(['--config', config, '--no-auth'])
  t.teardown(() => node.stop())
  const sources = ['--follow', '--upstream']
  const services = await Promise.all(
    sources.map((source) => start(source.slice(2), source, node.origin, '--genesis', genesis)),
  )
  for (const [index, service] of services.entries()) {
    const source = sources[index]
    await waitFor(
      `the head by ${source}`,
      async () => (await service.call('eth_blockNumber')).result === '0xf0',
    )
    for (const number of asked) {
      const { block, receipts } = blocks[number] as OptimismBlock
      const quantity = `0x${number.toString(16)}`
      const { totalDifficulty: _, ...found } = (await service.call('eth_getBlockByNumber', [quantity, true]))
        .result
      t.strictSame(found, block, `block ${number} by ${source}`)
      const answer = await service.call('eth_getBlockReceipts', [quantity])
      t.strictSame(answer.result, receipts, `receipts of block ${number} by ${source}`)
    }
    t.notMatch(service.said.err, /lied/, `nobody lied by ${source}`)
  }
})
