/** A follower and a gateway of a chain that crosses into Amsterdam, as processes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ChainReader } from '../../src/data/store/chainReader.js'
import { verifyChain } from '../../src/sources/ingest/verifyChain.js'
import { amsterdamFile, readAmsterdamBlocks, withoutAmsterdam } from '../ingest/amsterdam.js'
import { Steps } from '../ingest/steppedReplay.js'
import { waitFor } from '../library/until.js'
import { quantity } from '../rpc/demoChain.js'
import { askAll, type Question } from '../rpc/questions.js'
import { makeFolder, runHere, storePathOf, writeConfig, writeInto } from '../service/program.js'
import { startService } from '../service/service.js'
import { SocketClient } from '../transport/socketClient.js'

/** Blocks that are there at the start, and the last one played; block 40 is the first of Amsterdam. */
const from = 36
const last = 60

t.test('a follower and a gateway cross the fork live', { skip: withoutAmsterdam }, async (t) => {
  const genesis = amsterdamFile('a1-cross', 'genesis.json')
  const blocks = readAmsterdamBlocks('a1-cross')
  const folder = makeFolder(t)
  const serve = (name: string, source: unknown, env = {}) => {
    const networks = [{ name: 'cross', genesis, source }]
    const config = writeConfig(folder, { dataDir: join(folder, name), networks }, `${name}.json`)
    return startService(['--config', config, '--no-auth'], env)
  }
  const steps = await Steps.listen(t)
  const file = amsterdamFile('a1-cross', 'chain.rlp.gz')
  const node = await serve('node', { type: 'replay', file, from, intervalMs: 1_000 }, steps.env())
  t.teardown(() => node.stop())
  const url = `${node.origin.replace('http', 'ws')}/ws`
  const follower = await serve('follower', { type: 'follow', upstreams: [{ url }] })
  const gateway = await startService([
    ...['--network', 'cross', '--upstream', node.origin],
    ...['--data', join(folder, 'gateway'), '--no-auth'],
  ])
  t.teardown(() => gateway.stop())
  const client = await SocketClient.connect(`${follower.origin.replace('http', 'ws')}/ws`)
  t.teardown(() => client.cut())
  const subscribe = { jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }
  await client.ask(JSON.stringify(subscribe))
  const heads: Record<string, unknown>[] = []
  for (let number = from + 1; number <= last; number++) {
    await steps.next()
    heads.push(JSON.parse((await client.next()) as string).params.result)
  }
  for (const [at, head] of heads.entries()) {
    const block = blocks[from + 1 + at]
    const got = [head.hash, head.blockAccessListHash, head.slotNumber]
    const wanted = [block?.hash, block?.blockAccessListHash ?? null, block?.slotNumber ?? null]
    t.strictSame(got, wanted, `head ${from + 1 + at}`)
  }
  for (const service of [follower, gateway]) {
    await waitFor('the head to be there', async () => {
      const { result } = await service.call('eth_blockNumber')
      return Number(result) === last
    })
  }
  const questions: Question[] = [from, 39, 40, 41, 55, last].map(quantity).flatMap((number) => [
    ['eth_getBlockByNumber', [number, true]],
    ['eth_getHeaderByNumber', [number]],
    ['eth_getBlockReceipts', [number]],
    ['eth_getBlockAccessList', [number]],
    ['debug_getRawBlock', [number]],
    ['debug_getRawBlockAccessList', [number]],
    ['eth_getProof', ['0xb0b0000000000000000000000000000000000002', ['0x0'], number]],
    [
      'eth_call',
      [{ to: '0xb0b0000000000000000000000000000000000002', data: `0x${'00'.repeat(32)}` }, number],
    ],
  ])
  const wanted = await askAll(node, questions)
  t.strictSame(await askAll(follower, questions), wanted, 'the follower')
  const comparable = (answer: (typeof wanted)[number]) => {
    // A gateway knows no total difficulties below its headers.
    const { totalDifficulty, ...rest } = answer.result ?? {}
    return { ...answer, result: Array.isArray(answer.result) ? answer.result : rest }
  }
  t.strictSame((await askAll(gateway, questions)).map(comparable), wanted.map(comparable), 'the gateway')
  await follower.stop()
  const store = ChainReader.open({ path: storePathOf(join(folder, 'follower'), 'cross') })
  t.strictSame(verifyChain(store, { blocks: 3, seed: 1, onProgress: () => undefined }).faults, [])
  await store.close()
})

t.test(
  'a fork time of the configuration is as good as one of the genesis',
  { skip: withoutAmsterdam },
  async (t) => {
    const folder = makeFolder(t)
    const genesis = JSON.parse(readFileSync(amsterdamFile('a1-cross', 'genesis.json'), 'utf8'))
    const { amsterdamTime, ...config } = genesis.config
    const path = writeInto(folder, 'genesis.json', { ...genesis, config })
    const chain = amsterdamFile('a1-cross', 'chain.rlp.gz')
    const importWith = (forks: unknown) => {
      const networks = [{ name: 'cross', genesis: path, forks }]
      const file = writeConfig(folder, { dataDir: join(folder, 'data'), networks })
      return runHere(['import', '--config', file, '--network', 'cross', chain])
    }
    const without = await importWith({})
    t.equal(without.status, 1)
    t.match(without.err, /block 40 .* blockAccessListHash is present, expected none before amsterdam/)
    t.equal((await importWith({ amsterdamTime })).status, 0)
    writeInto(folder, 'genesis.json', { ...genesis, config: { ...config, amsterdamTime: amsterdamTime + 1 } })
    const contrary = await importWith({ amsterdamTime })
    t.match(
      contrary.err,
      /config\.amsterdamTime is \d+, and "forks" of the configuration says \d+; leave one of them out/,
    )
  },
)
