/**
 * A follower and a gateway beside a node that serves an OP Stack chain of op-geth: what they fetched, executed or proved is
 * what op-geth answers, at each fork. Skipped where the chain is absent.
 */
import { join } from 'node:path'
import t from 'tap'
import { type OptimismBlock, optimismBlocks, optimismFolder, skipsOptimism } from '../ingest/optimismChain.js'
import { waitFor } from '../library/until.js'
import { makeFolder, runProgram } from '../service/program.js'
import { type Service, startService } from '../service/service.js'

const genesis = join(optimismFolder, 'a/genesis.json')
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
  const words = ['--network', 'node', '--data', join(folder, 'node'), '--genesis', genesis]
  const { status, err } = await runProgram(['import', ...words, join(optimismFolder, 'a/chain.rlp.gz')])
  t.equal(status, 0, err)
  const node = await start('node')
  for (const source of ['--follow', '--upstream']) {
    const name = source.slice(2)
    const service = await start(name, source, node.origin, '--genesis', genesis)
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
  }
})
