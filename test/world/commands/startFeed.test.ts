// @scene a replica
// @shares
/** A feed of a chain that begins at a block: replicas continue from a copy of such a store, and from nothing else. */
import { join } from 'node:path'
import t from 'tap'
import { startPostgres, withoutPostgres } from '../../feed/postgres.js'
import { atHead } from '../../feed/replicaCluster.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { blockAt, chainPath, examples, genesisPath, headBlock, quantity } from '../../rpc/demoChain.js'
import { fixtureDir } from '../../service/fixtures.js'
import { runHere, writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'

const start = 200

t.test(
  'a writer, a replica of its snapshot, and one that has the genesis alone',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t)
    const run = async (...words: string[]) => {
      const { status, err } = await runHere(words)
      if (status !== 0) throw new Error(err)
    }
    const folder = makeFolder(t)
    const dataOf = (name: string) => join(folder, name, 'data')
    const exported = [
      '--data',
      fixtureDir,
      '--network',
      'demo',
      '--state',
      '--block',
      `${start}`,
      '--out',
      folder,
    ]
    t.equal((await runHere(['export', ...exported])).status, 0)
    await run(
      ...['import', '--data', dataOf('writer'), '--network', 'tides', '--genesis', genesisPath],
      ...['--state', join(folder, `demo-${start}-state.jsonl.gz`)],
      ...['--header', join(folder, `demo-${start}-blocks.rlp`)],
      ...['--total-difficulty', `${blockAt(start).totalDifficulty}`],
    )
    await run('snapshot', '--data', dataOf('writer'), '--network', 'tides', join(folder, 'copy'))
    await run('restore', join(folder, 'copy'), '--data', dataOf('replica'))
    const member = async (name: string, network: object) => {
      const config = writeConfig(
        folder,
        {
          dataDir: dataOf(name),
          networks: [{ name: 'tides', genesis: genesisPath, ...network }],
        },
        `${name}.json`,
      )
      const service = await startService(['--config', config, '--no-auth'])
      t.teardown(() => service.stop())
      return service
    }
    const feed = { source: { type: 'feed', url: postgres.url } }
    const writer = await member('writer', {
      source: { type: 'file', path: chainPath },
      publish: { url: postgres.url },
    })
    const replica = await member('replica', feed)
    await atHead(headBlock.hash, [writer, replica])
    const params = [examples.accounts[0]?.address, [], quantity(start + 30)]
    const [want, got] = [
      await writer.call('eth_getProof', params),
      await replica.call('eth_getProof', params),
    ]
    t.ok(want.result?.accountProof)
    t.strictSame(got, want)
    const below = await replica.call('eth_getBalance', [params[0], quantity(start - 1)])
    t.equal(below.error?.code, 4444)
    const bare = await member('bare', feed)
    await waitFor('the sentence', () =>
      /the feed does not continue from this store, which ends with block 0/.test(bare.said.err),
    )
  },
)
