// @shares
/** A feed beside anvil, whose genesis is completed from its answers. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startPostgres, withoutPostgres } from '../../feed/postgres.js'
import { headOf, lastingLeaseMs } from '../../feed/replicaCluster.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { runHere, writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'

t.test(
  'a feed beside anvil has a writer, a standby and a replica',
  { skip: withoutPostgres || withoutAnvil },
  async (t) => {
    const anvil = await startAnvil(t, makeFolder(t))
    const { url } = await startPostgres(t)
    const start = async (folder: string, network: Record<string, unknown>) => {
      const config = writeConfig(folder, {
        dataDir: 'data',
        networks: [{ name: 'dev', genesis: anvil.genesisPath, ...network }],
      })
      const service = await startService(['--config', config, '--no-auth'])
      t.teardown(() => service.stop())
      return service
    }
    const written = {
      source: { type: 'follow', upstreams: [{ url: anvil.url }], pollMs: 20 },
      publish: { url, leaseMs: lastingLeaseMs },
    }
    const writing = makeFolder(t)
    const writer = await start(writing, written)
    await anvil.mine(2)
    const standby = await start(makeFolder(t), written)
    const atHead = async (services: readonly (typeof writer)[]) => {
      const { hash } = await anvil.head()
      for (const service of services) {
        await waitFor(`${service.origin} to have ${hash}`, async () => (await headOf(service)) === hash)
      }
    }
    await atHead([writer, standby])

    // A replica asks no node. Without a snapshot it has the genesis of the file, and with one the genesis of the chain.
    const reading = makeFolder(t)
    const replicated = { source: { type: 'feed', url } }
    const refused = await start(reading, replicated)
    await waitFor('the replica to be refused', () =>
      /the feed in schema tidegate_dev is of the chain/.test(refused.said.err),
    )
    await refused.stop()
    rmSync(join(reading, 'data/networks/dev'), { recursive: true })
    const copy = join(reading, 'copy')
    t.match(await runHere(['snapshot', copy, '--data', join(writing, 'data')]), { status: 0 })
    t.match(await runHere(['restore', copy, '--data', join(reading, 'data')]), { status: 0 })
    const replica = await start(reading, replicated)
    await anvil.mine(2)
    await atHead([writer, standby, replica])
    await writer.stop()
    await anvil.mine(1)
    await atHead([standby, replica])
  },
)
