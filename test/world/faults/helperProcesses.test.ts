// @shares
/** Helper processes that end unexpectedly: an error reports that, and accuses neither a process nor a store. */
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openEnvironment } from '../../../src/data/store/lmdb/environment.js'
import { lockForWriting } from '../../../src/data/store/lmdb/writerLock.js'
import { makeFolder } from '../../library/folder.js'
import { copyDemoStore, runProgram, storePathOf } from '../../service/program.js'
import { mapBytes, writeShrunkStore } from '../../store/shrunkStore.js'

/** A module that every new process loads first, and that does not exist. */
const broken = { NODE_OPTIONS: '--require /there/is/no/such/file.cjs' }
const printed = /it printed: .*Cannot find module '\/there\/is\/no\/such\/file\.cjs'/

/** Runs `act` while new processes of Node.js cannot start. */
function whileBroken(act: () => void): void {
  const before = process.env.NODE_OPTIONS
  Object.assign(process.env, broken)
  try {
    act()
  } finally {
    process.env.NODE_OPTIONS = before
  }
}

t.test('the lock of a writer of whom nothing is known is not taken, and names no process', async (t) => {
  const path = join(makeFolder(t), 'chain.mdb')
  // Files as a crash leaves them, of this release and of earlier ones.
  for (const left of [
    '16654 host 2026-11-29T12:00:00.000Z 0123456789abcdef',
    '16654 host 0123456789abcdef',
  ]) {
    writeFileSync(`${path}.writer`, `${left}\n`)
    whileBroken(() => {
      t.throws(() => lockForWriting(path), { name: 'OperatorError', message: /^cannot find out whether/ })
      t.throws(() => lockForWriting(path), { message: printed })
      t.throws(() => lockForWriting(path), { message: /remove \S+chain\.mdb\.writer\* and start again$/ })
    })
    lockForWriting(path).release()
    t.pass('with a helper that starts it is taken over')
  }
})

t.test('a store that could not be walked is not called damaged', async (t) => {
  const path = join(makeFolder(t), 'store.mdb')
  await writeShrunkStore(path)
  // The last pages of the store are free, which only a walk can detect.
  truncateSync(path, 100 * 4_096)
  const open = () => openEnvironment({ path, readOnly: true, mapBytes })
  whileBroken(() => {
    t.throws(open, { name: 'OperatorError', message: /^cannot check the store .* says nothing of the store/ })
    t.throws(open, { message: printed })
  })
  await open().close()
})

t.test('a check of a store that did not run is not a fault of the store', async (t) => {
  const data = makeFolder(t)
  copyDemoStore(data, 'demo')
  // The program itself starts; its child processes do not.
  const preload = join(data, 'preload.cjs')
  writeFileSync(preload, `process.env.NODE_OPTIONS = ${JSON.stringify(broken.NODE_OPTIONS)}`)
  const { status, err } = await runProgram(['verify', '--network', 'demo', '--data', data], {
    env: { NODE_OPTIONS: `--require ${preload}` },
  })
  t.equal(status, 1)
  t.match(err, /ended without a report \(status 1; it printed: .*Cannot find module/)
  t.match(err, `${storePathOf(data, 'demo')} ended without a report`)
  t.notMatch(err, /damaged/)
})
