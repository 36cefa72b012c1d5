import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { flagsOf, headOf, network } from '../../commands/importing.js'
import { makeFolder } from '../../library/folder.js'
import { once, until, waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { startRollup } from '../../rollup/rollupService.js'
import { chainPath, genesisPath } from '../../rpc/demoChain.js'
import { fixtureDir } from '../../service/fixtures.js'
import { copyDemoStore, runHere, startProgram, storePathOf } from '../../service/program.js'

/** `KILLS=50` makes a longer run. */
const kills = Number(process.env.KILLS ?? 2)

t.test(
  'a backup under load of an import and of submissions is of whole blocks, and has what was answered',
  async (t) => {
    const folder = makeFolder(t)
    const data = join(folder, 'data')
    const service = await startRollup(t, {}, folder)
    const answered: string[] = []
    let isOver = false
    const submit = async (sender: number) => {
      for (let nonce = 0; !isOver; nonce++) answered.push(await service.take(makeTransaction(sender, nonce)))
    }
    const load = Promise.all([1, 2, 3, 4].map(submit))
    const run = startProgram(['import', ...flagsOf(data), '--genesis', genesisPath, chainPath])
    t.teardown(() => run.process.kill('SIGKILL'))
    const imported = once(run.process, 'exit')
    await waitFor('some blocks', async () => ((await headOf(data).catch(() => undefined)) ?? 0) > 1)
    await until(() => answered.length > 0)

    const backups: { readonly path: string; readonly head: number; readonly answered: number }[] = []
    while (run.process.exitCode === null && backups.length < 5) {
      const before = { head: (await headOf(data)) ?? 0, answered: answered.length }
      const path = join(folder, `backup-${backups.length}`)
      t.match(await runHere(['backup', path, '--data', data]), { status: 0 })
      backups.push({ path, ...before })
      await until(() => answered.length > before.answered)
    }
    isOver = true
    await load
    t.strictSame(await imported, [0, null])
    await service.stop()

    const whole = ChainReader.open({ path: storePathOf(fixtureDir, 'demo') })
    t.teardown(() => whole.close())
    for (const [index, { path, ...before }] of backups.entries()) {
      const restored = join(folder, String(index))
      mkdirSync(restored)
      const words = ['--data', join(restored, 'data')]
      t.match(await runHere(['restore', path, ...words]), { status: 0 })
      t.match(await runHere(['verify', ...words, '--network', network, '--blocks', '1']), { status: 0 })
      const store = ChainReader.open({ path: storePathOf(join(restored, 'data'), network) })
      const head = store.readHead()
      await store.close()
      t.ok(head !== undefined && head.number >= before.head, `block ${head?.number}, at least ${before.head}`)
      t.strictSame(head?.hash, whole.readCanonicalHash(head?.number ?? -1), 'a block of that chain')
    }
    const { answered: count } = backups.at(-1) ?? { answered: 0 }
    t.ok(count > 0)
    const again = await startRollup(t, {}, join(folder, String(backups.length - 1)))
    const missing: string[] = []
    for (const hash of answered.slice(0, count)) {
      if ((await again.status(hash)).queue_status !== 'RECEIVED') missing.push(hash)
    }
    t.strictSame(missing, [], `of ${count} answered before the last backup`)
  },
)

t.test('a backup that was killed is never restored, whenever that was', async (t) => {
  const folder = makeFolder(t)
  const data = join(folder, 'data')
  copyDemoStore(data, network)
  let unfinished = 0
  for (let kill = 0; kill < kills; kill++) {
    const backup = join(folder, `backup-${kill}`)
    const draft = `${backup}.unfinished`
    const run = startProgram(['backup', backup, '--data', data])
    const exit = once(run.process, 'exit')
    const begun = join(draft, kill % 2 === 0 ? '' : `networks/${network}/chain.mdb`)
    await until(() => existsSync(begun) || existsSync(backup) || run.process.exitCode !== null)
    run.process.kill('SIGKILL')
    await exit
    const words = ['--data', join(folder, `restored-${kill}`)]
    if (existsSync(backup)) {
      t.match(await runHere(['restore', backup, ...words]), { status: 0 })
      continue
    }
    unfinished++
    t.match(await runHere(['restore', backup, ...words]), { status: 1, err: /there is no manifest\.json/ })
    if (existsSync(join(draft, 'manifest.json'))) continue
    t.match(await runHere(['restore', draft, ...words]), { status: 1, err: /there is no manifest\.json/ })
    t.notOk(readdirSync(folder).some((name) => name.startsWith(`restored-${kill}`)))
  }
  t.ok(unfinished > 0, 'some were killed before their end')
})
