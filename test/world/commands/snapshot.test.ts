import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { withoutPostgres } from '../../feed/postgres.js'
import {
  atHead,
  healthOf,
  replicaOf,
  startClusterOf,
  startMember,
  writerOf,
} from '../../feed/replicaCluster.js'
import { contracts, type MadeBlock, storeInput } from '../../ingest/chainMaker.js'
import { makeReplayedChain } from '../../ingest/replayedChain.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { headBlock } from '../../rpc/demoChain.js'
import { copyDemoStore, runHere, storePathOf } from '../../service/program.js'
import type { Service } from '../../service/service.js'

t.test('a snapshot holds the store of one network and no secrets, and restores that alone', async (t) => {
  const folder = makeFolder(t)
  const [data, other, copy] = ['data', 'other', 'copy'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const name of ['tides', 'ebbs']) copyDemoStore(data, name)
  await runHere(['keys', 'create', '--name', 'first', '--data', data])
  t.match(await runHere(['snapshot', copy, '--data', data]), {
    status: 2,
    err: /name the network with --network NAME, one of ebbs, tides/,
  })
  t.match(await runHere(['snapshot', copy, '--data', data, '--network', 'tides']), {
    status: 0,
    out: `, block ${headBlock.number} ${headBlock.hash}`,
  })
  t.strictSame(readdirSync(copy).sort(), ['manifest.json', 'networks'])
  t.strictSame(readdirSync(join(copy, 'networks')), ['tides'])

  copyDemoStore(other, 'ebbs')
  await runHere(['keys', 'create', '--name', 'second', '--data', other])
  const keys = await runHere(['keys', 'list', '--data', other])
  t.match(await runHere(['restore', copy, '--data', other]), {
    status: 0,
    out: join(other, 'networks/tides'),
  })
  t.strictSame(readdirSync(join(other, 'networks')).sort(), ['ebbs', 'tides'])
  t.strictSame(readdirSync(join(other, 'networks/tides')), ['chain.mdb'])
  t.strictSame(await runHere(['keys', 'list', '--data', other]), keys, 'what was there stays')
  t.match(await runHere(['verify', '--data', other, '--network', 'tides', '--blocks', '1']), { status: 0 })
  t.match(await runHere(['restore', copy, '--data', other]), { status: 1, err: /tides is not empty/ })

  rmSync(join(other, 'networks/tides'), { recursive: true })
  appendFileSync(storePathOf(copy, 'tides'), 'x')
  t.match(await runHere(['restore', copy, '--data', other]), { status: 1, err: /is of another length/ })
  t.strictSame(readdirSync(join(other, 'networks')), ['ebbs'])
})

t.test(
  'a replica that the feed no longer reaches starts from a snapshot',
  { skip: withoutPostgres },
  async (t) => {
    // The fewest blocks that a writer may keep, and the number of blocks until old ones are removed.
    const retainBlocks = 256
    const length = 400
    const cluster = await startClusterOf(
      t,
      await makeReplayedChain(t, {
        length,
        from: 4,
        intervalMs: 1,
        reorganisations: [{ after: length - 2, back: 2, blocks: 3 }],
        // The chain needs many blocks, and most of them are empty.
        planOf: (number, branch) => ({
          transactions:
            number % 32 === 1 ? [{ to: contracts.store, data: storeInput(1n, BigInt(number)) }] : [],
          extraData: Buffer.from(`branch ${branch}`),
        }),
      }),
    )
    const { chain, node, postgres, steps } = cluster
    const writing = makeFolder(t)
    const absent = makeFolder(t)
    const writer = await startMember(t, cluster, writerOf(cluster, { retainBlocks }), writing)
    const early = await startMember(t, cluster, replicaOf(cluster), absent)
    // In the order in which they get it: the first that lacks it is named with its log.
    await atHead(chain.heads[0] as MadeBlock, [node, writer, early])
    await early.stop()
    await steps.next(length - 12)
    await waitFor('old entries to be removed', async () => {
      const [row] = await postgres.query('select min(number)::int from tidegate_tides.entry')
      return row?.min > 8
    })
    for (const folder of [absent, makeFolder(t)]) {
      const refused = await startMember(t, cluster, replicaOf(cluster), folder)
      await waitFor('the replica to be refused', async () => {
        return (await healthOf(refused)).networks.tides?.source === 'failed'
      })
      t.match(
        refused.said.err,
        /"msg":"[^"]*the feed does not continue from this store, which ends with block [04]:/,
      )
      await refused.stop()
      const copy = join(folder, 'copy')
      const [snapshot, remove, restore] = commandsIn(refused, copy)
      t.match(await runHere([...(snapshot as string[]), '--data', join(writing, 'data')]), { status: 0 })
      const [, flag, gone] = remove as string[]
      t.strictSame([flag, gone], ['-r', join(folder, 'data/networks/tides')])
      rmSync(gone as string, { recursive: true })
      // A copy that is damaged in transfer is refused.
      const damaged = join(folder, 'damaged')
      cpSync(copy, damaged, { recursive: true })
      damage(storePathOf(damaged, 'tides'))
      const words = (restore as string[]).map((word) => (word === copy ? damaged : word))
      t.match(await runHere(words), { status: 1, err: /chain\.mdb is not the one of the manifest/ })
      t.notOk(existsSync(gone as string))
      t.match(await runHere(restore as string[]), { status: 0 })
    }
    await steps.next(2)
    const follower = await startMember(t, cluster, replicaOf(cluster), absent)
    await steps.next(chain.heads.length)
    await atHead(chain.heads.at(-1) as MadeBlock, [writer, follower])
    await waitFor('the follower to be well', async () => (await healthOf(follower)).status === 'ok')
  },
)

/** The commands that a refused replica names, each as its words, with `folder` as FOLDER. */
function commandsIn({ said }: Service, folder: string): string[][] {
  const line = said.err.split('\n').find((text) => text.includes('does not continue')) ?? ''
  const { msg } = JSON.parse(line) as { readonly msg: string }
  return [...msg.matchAll(/"([^"]+)"/g)].map(([, command = '']) =>
    command
      .replace(/^tidegate /, '')
      .replace('FOLDER', folder)
      .split(' '),
  )
}

function damage(path: string): void {
  const bytes = readFileSync(path)
  const middle = bytes.length >> 1
  bytes[middle] = (bytes[middle] as number) ^ 1
  writeFileSync(path, bytes)
}
