/**
 * After a failed write to the disk, the process stops as after SIGTERM. The next process has all data that was answered
 * before.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { openTaskStore } from '../../../src/sources/ingest/thread/taskStore.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { makeFolder } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { once } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { runProgram, storePathOf, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { type Failing, makeFailingDisk, withoutFailingDisk } from '../../store/failingDisk.js'

const devnet = join(packageRoot(), 'data/devnet')
const genesis = join(devnet, 'genesis.json')
const chain = join(devnet, 'chain.rlp')

/** The status with which a service ends by itself, and its output. */
async function endOf({ process, said }: Service): Promise<{ status: number | null; err: string }> {
  if (process.exitCode === null) await once(process, 'close')
  return { status: process.exitCode, err: said.err }
}

const submission = (nonce: number) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'rollupx_addInvokeTransaction',
    params: { invoke_transaction: makeTransaction(1, nonce) },
  })

const cases: readonly { readonly failing: Failing; readonly edges: number }[] = [
  { failing: 'meta', edges: 1 },
  { failing: 'meta', edges: 2 },
  { failing: 'sync', edges: 1 },
]

for (const { failing, edges } of someOf(cases, 1)) {
  t.test(`submissions, failing: ${failing}, edges: ${edges}`, { skip: withoutFailingDisk }, async (t) => {
    const folder = makeFolder(t)
    const disk = makeFailingDisk(t, join(folder, 'data/node/node.mdb'))
    const networks = [{ name: 'roll', kind: 'rollup', chainId: 'SN_SEPOLIA' }]
    const config = writeConfig(folder, { dataDir: 'data', logLevel: 'error', edges, networks })
    const service = await startService(['--config', config, '--no-auth'], disk.env)
    t.teardown(() => service.stop())
    const before = await service.post('/', submission(0))
    const { transaction_hash: hash } = JSON.parse(before.text).result
    disk.fail(failing)
    const { status: code, text } = await service.post('/', submission(1))
    t.equal(code, 503)
    t.match(JSON.parse(text).error, {
      code: -32000,
      message: 'this transaction could not be stored; send it again later',
      data: { retryAfterMs: Number },
    })
    const { status, err } = await endOf(service)
    t.equal(status, 1)
    const sentences = err.match(
      /the disk that holds \S+node\.mdb failed a write \([^"]*\); check that disk; stopping/g,
    )
    t.equal(sentences?.length, 1, err)
    disk.mend()
    const next = await startService(['--config', config, '--no-auth'])
    t.teardown(() => next.stop())
    const { result } = await next.call('rollupx_getTransactionStatus', [hash])
    t.equal(result?.queue_status, 'RECEIVED', 'what was answered is kept')
    const health = (await (await fetch(`${next.origin}/health`)).json()) as Record<string, unknown>
    t.match(health, { status: 'ok', networks: { roll: { waiting: 1, isStoring: true } } })
  })
}

t.test('blocks that a source brings', { skip: withoutFailingDisk }, async (t) => {
  const folder = makeFolder(t)
  const disk = makeFailingDisk(t, storePathOf(join(folder, 'data'), 'tides'))
  const source = { type: 'replay', file: chain, from: 200, intervalMs: 1 }
  const networks = [{ name: 'tides', genesis, source }]
  const config = writeConfig(folder, { dataDir: 'data', logLevel: 'error', networks })
  const steps = await Steps.listen(t)
  const service = await startService(['--config', config, '--no-auth'], { ...disk.env, ...steps.env() })
  t.teardown(() => service.stop())
  await steps.reached()
  disk.fail('meta')
  steps.let(1)
  const { status, err } = await endOf(service)
  t.equal(status, 1)
  t.match(err, /the disk that holds \S+chain\.mdb failed a write \([^"]*\); check that disk; stopping/)
})

t.test('an import', { skip: withoutFailingDisk }, async (t) => {
  const folder = makeFolder(t)
  const storePath = storePathOf(folder, 'tides')
  const disk = makeFailingDisk(t, storePath)
  const words = ['import', '--network', 'tides', '--data', folder, '--genesis', genesis]
  const task = {
    storePath,
    mapBytes: 2 ** 30,
    genesis: { text: readFileSync(genesis, 'utf8'), path: genesis },
  }
  await (await openTaskStore(task)).store.close()
  disk.fail('meta')
  const { status, err } = await runProgram([...words, chain], { env: disk.env })
  t.equal(status, 1)
  t.match(err, /^tidegate: the disk that holds \S+chain\.mdb failed a write \(.*\); check that disk$/m)
  disk.mend()
  t.match(await runProgram([...words, chain]), { status: 0 })
})
