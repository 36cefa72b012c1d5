// @shares
/** Metrics of processes that share a queue of submissions, with a real PostgreSQL. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Postgres, startPostgres, withoutPostgres } from '../../feed/postgres.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { startSequencer } from '../../rollup/sequencer.js'
import { adminOf } from '../../service/adminClient.js'
import { writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'

/** A process with the shared queue, and its metrics. Without `upstream` it sends nothing. */
async function startWatched(t: Test, { url }: Postgres, upstream: string | undefined) {
  const folder = makeFolder(t)
  const config = writeConfig(folder, {
    dataDir: 'data',
    admin: { port: 0 },
    networks: [
      {
        name: 'roll',
        kind: 'rollup',
        chainId: 'SN_SEPOLIA',
        ...(upstream !== undefined && { upstream: { url: upstream, mode: 'accept' } }),
        queue: { shared: { url, leaseMs: 6_000 } },
      },
    ],
  })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  const admin = await adminOf(service, join(folder, 'data'))
  const read = async (name: string) =>
    (await admin.metrics()).get(`tidegate_submissions_${name}{network="roll"}`)
  /** Resolves once the metrics of the queue are these. */
  const tells = (want: Readonly<Record<string, number | undefined>>) =>
    t.resolves(
      waitFor(`${service.origin} to tell ${JSON.stringify(want)}`, async () => {
        for (const [name, value] of Object.entries(want)) if ((await read(name)) !== value) return false
        return true
      }),
    )
  return { service, tells, read }
}

async function submit(service: Service, nonce: number): Promise<void> {
  const params = { invoke_transaction: makeTransaction(1, nonce) }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'rollupx_addInvokeTransaction', params })
  const { text } = await service.post('/roll', body)
  if (JSON.parse(text).result === undefined) throw new Error(text)
}

t.test(
  'metrics tell who sends the submissions of a shared queue, and what waits in it',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t)
    const sequencer = await startSequencer(t)
    const url = `${sequencer.origin}/rpc`
    const taker = await startWatched(t, postgres, undefined)
    await taker.tells({ answering: 1, lease: undefined, epoch: 0, waiting: 0, oldest_seconds: 0 })
    await submit(taker.service, 0)
    await taker.tells({ waiting: 1 })
    await waitFor('an age', async () => ((await taker.read('oldest_seconds')) ?? 0) > 0)

    const one = await startWatched(t, postgres, url)
    await one.tells({ answering: 1, lease: 1, epoch: 1, waiting: 0, settled: 1 })
    const other = await startWatched(t, postgres, url)
    await other.tells({ answering: 1, lease: 0, epoch: 1, waiting: 0, settled: 1 })
    await taker.tells({ lease: undefined, epoch: 1, waiting: 0, oldest_seconds: 0, settled: 1 })

    await one.service.stop()
    await other.tells({ lease: 1, epoch: 2 })
    await taker.tells({ epoch: 2 })

    await postgres.kill()
    await other.tells({ answering: 0, lease: 0, epoch: 2 })
    await taker.tells({ answering: 0 })
    await postgres.start()
    await other.tells({ answering: 1, lease: 1, epoch: 3 })
    await submit(taker.service, 1)
    await taker.tells({ answering: 1, waiting: 0, settled: 2 })
  },
)
