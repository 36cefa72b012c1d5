// @shares
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { withoutPostgres } from '../../feed/postgres.js'
import {
  atHead,
  type Cluster,
  replicaOf,
  startCluster,
  startMember,
  writerOf,
} from '../../feed/replicaCluster.js'
import type { MadeBlock } from '../../ingest/chainMaker.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { adminOf } from '../../service/adminClient.js'

/** A process of the cluster with an admin listener. */
async function startWatched(t: Test, cluster: Cluster, network: Record<string, unknown>) {
  const folder = makeFolder(t)
  const service = await startMember(t, cluster, network, folder, { admin: { port: 0 } })
  const admin = await adminOf(service, join(folder, 'data'))
  /** Resolves once the metrics of the feed are these. */
  const tells = (want: Readonly<Record<string, number>>) =>
    waitFor(`${service.origin} to tell ${JSON.stringify(want)}`, async () => {
      const metrics = await admin.metrics()
      return Object.entries(want).every(
        ([name, value]) => metrics.get(`tidegate_feed_${name}{network="tides"}`) === value,
      )
    })
  /** Resolves once the metrics of store and feed are equal. */
  const isLevel = () =>
    waitFor(`${service.origin} to be where the feed ends`, async () => {
      const [row] = await cluster.postgres.query('select sequence::int from tidegate_tides.feed')
      const metrics = await admin.metrics()
      const [answering, entries, blocks, sequence] = [
        'answering',
        'lag_entries',
        'lag_blocks',
        'sequence',
      ].map((name) => metrics.get(`tidegate_feed_${name}{network="tides"}`))
      return answering === 1 && entries === 0 && blocks === 0 && sequence === row?.sequence
    })
  return { service, tells, isLevel }
}

t.test(
  'metrics tell who writes, and how far store and feed are apart',
  { skip: withoutPostgres },
  async (t) => {
    const cluster = await startCluster(t, 12, [])
    const { chain, postgres, steps } = cluster
    const writer = await startWatched(t, cluster, writerOf(cluster))
    await writer.tells({ lease: 1, epoch: 1 })
    const standby = await startWatched(t, cluster, writerOf(cluster))
    const replica = await startWatched(t, cluster, replicaOf(cluster))
    const readers = [standby, replica]
    await atHead(chain.blocks[3] as MadeBlock, [standby.service, replica.service])
    for (const { isLevel } of [writer, ...readers]) await isLevel()
    for (const { tells } of readers) await tells({ lease: 0, epoch: 1 })
    t.match(writer.service.said.err, 'this process writes the feed, with epoch 1')

    await postgres.kill()
    await steps.next(2)
    await atHead(chain.blocks[5] as MadeBlock, [writer.service])
    await writer.tells({ answering: 0, lease: 1, lag_blocks: 2 })
    for (const { tells } of readers) await tells({ answering: 0 })
    await postgres.start()
    await atHead(chain.blocks[5] as MadeBlock, [standby.service, replica.service])
    for (const { isLevel } of [writer, ...readers]) await isLevel()

    await writer.service.stop()
    await standby.tells({ lease: 1, epoch: 2 })
    await replica.tells({ lease: 0, epoch: 2 })
    await steps.next(3)
    await atHead(chain.blocks[8] as MadeBlock, [standby.service, replica.service])
    for (const { isLevel } of [standby, replica]) await isLevel()
    t.match(standby.service.said.err, 'this process writes the feed, with epoch 2')
  },
)
