import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { withoutPostgres } from '../../feed/postgres.js'
import {
  atHead,
  healthOf,
  replicaOf,
  startCluster,
  startMember,
  writerOf,
} from '../../feed/replicaCluster.js'
import type { MadeBlock } from '../../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { makeCertificate, withoutOpenssl } from '../../service/certificates.js'
import { runProgram } from '../../service/program.js'

const skip = withoutPostgres || withoutOpenssl

t.test('a database with a certificate and a password', { skip }, async (t) => {
  const folder = makeFolder(t)
  const certificate = makeCertificate(folder, 'database')
  const other = makeCertificate(folder, 'other')
  const password = 'ebbs-and-flows'
  const cluster = await startCluster(t, 8, [], { tls: { certificate, password } })
  const { chain, postgres, steps } = cluster
  const feedAt = (change: (url: URL) => void) => {
    const url = new URL(postgres.url)
    change(url)
    return { source: { type: 'feed', url: url.href } }
  }

  const writer = await startMember(t, cluster, writerOf(cluster))
  const replica = await startMember(t, cluster, replicaOf(cluster))
  const passwords = writeInto(folder, 'passwords', Buffer.from(`127.0.0.1:*:*:tidegate:${password}\n`))
  chmodSync(passwords, 0o600)
  const withFile = feedAt((url) => {
    url.password = ''
  })
  const reader = await startMember(t, cluster, withFile, undefined, {}, { PGPASSFILE: passwords })
  await steps.next(8)
  await atHead(chain.blocks.at(-1) as MadeBlock, [writer, replica, reader])
  const connections = await postgres.query(
    "select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'tidegate'",
  )
  t.ok(connections.length >= 3)
  t.ok(connections.every(({ ssl }) => ssl))

  const refusals = [
    ['of another authority', (url: URL) => url.searchParams.set('sslrootcert', other.cert), /certificate/],
    ['of no known authority', (url: URL) => url.searchParams.delete('sslrootcert'), /certificate/],
    ['without TLS', (url: URL) => url.searchParams.set('sslmode', 'disable'), /no encryption/],
    [
      'with a wrong password',
      (url: URL) => {
        url.password = 'waves-and-tides'
      },
      /password authentication failed/,
    ],
  ] as const
  const refused = []
  for (const [how, change, why] of refusals) {
    const service = await startMember(t, cluster, feedAt(change))
    refused.push(service)
    await waitFor(`${how}: a refusal`, () => /the feed does not answer: .*/.test(service.said.err))
    t.match(/the feed does not answer: .*/.exec(service.said.err)?.[0], why, how)
    // The log line comes before the answer of /health.
    await waitFor(`${how}: a health of that`, async () => (await healthOf(service)).status === 'failing')
    t.match(await healthOf(service), { networks: { tides: { head: 0 } } }, how)
  }
  const missing = join(folder, 'missing.pem')
  const unusable = await startMember(
    t,
    cluster,
    feedAt((url) => url.searchParams.set('sslrootcert', missing)),
  )
  await waitFor('the end of its source', async () => {
    return (await healthOf(unusable)).networks.tides?.source === 'failed'
  })
  const why = `cannot be used: ENOENT: no such file or directory, open '${missing}'`
  await waitFor('what the log says of it', () => unusable.said.err.includes(why))

  const config = writeInto(folder, 'shown.json', {
    networks: [{ name: 'tides', genesis: join(chain.configPath, '../genesis.json'), ...replicaOf(cluster) }],
  })
  const { out, err } = await runProgram(['config', '--config', config])
  t.match(out, '"url": "postgres://127.0.0.1:')
  const said = [writer, replica, reader, ...refused, unusable].flatMap(({ said, lines }) => [
    said.err,
    ...lines,
  ])
  for (const text of [...said, out, err, JSON.stringify(await healthOf(replica))]) {
    for (const secret of [password, 'waves-and-tides']) {
      if (text.includes(secret)) t.fail(`${secret} stands in: ${text}`)
    }
  }
})
