// @shares
/** Files that LMDB would end the process on, or with a signal: each is a sentence instead. */
import { copyFileSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { freeBytesMin, openEnvironment, openTable } from '../../../../src/data/store/lmdb/environment.js'
import { NodeStore } from '../../../../src/data/store/node/nodeStore.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { makeFolder, writeInto } from '../../../library/folder.js'
import { copyDemoStore, runProgram, storePathOf } from '../../../service/program.js'
import { onSmallDisk, withoutSmallDisk } from '../../../store/smallDisk.js'

const mapBytes = 2 ** 30
const pageBytes = 4096
const genesis = join(packageRoot(), 'data/devnet/genesis.json')

t.test('a store whose end is missing is refused, by whatever command', async (t) => {
  const folder = makeFolder(t)
  const path = copyDemoStore(folder, 'demo')
  const whole = statSync(path).size
  const message = /chain\.mdb is damaged: its end is missing; restore a copy/
  for (const bytes of [Math.floor(whole / 2), 3 * pageBytes, 2 * pageBytes]) {
    truncateSync(copyDemoStore(folder, 'demo'), bytes)
    t.throws(() => ChainReader.open({ path, mapBytes }), { name: 'OperatorError', message }, `${bytes} bytes`)
    t.throws(() => ChainWriter.openForWriting({ path, mapBytes }), { name: 'OperatorError', message })
  }
  const config = writeInto(folder, 'tidegate.json', { dataDir: '.', networks: [{ name: 'demo', genesis }] })
  const { status, err } = await runProgram(['serve', '--config', config, '--port', '0'])
  t.equal(status, 1, err)
  t.match(err, message)
})

t.test('a store whose last page is needed is refused without it', async (t) => {
  const path = join(makeFolder(t), 'store.mdb')
  const environment = openEnvironment({ path, readOnly: false, mapBytes })
  openTable(environment, 'rows')?.putSync(Uint8Array.of(1), new Uint8Array(100_000).fill(1))
  await environment.close()
  // The row was written last, so its pages are the last used ones.
  const content = readFileSync(path)
  truncateSync(path, content.lastIndexOf(1) + 1 - pageBytes)
  const message = /store\.mdb is damaged: its end is missing/
  t.throws(() => openEnvironment({ path, readOnly: true, mapBytes }), { name: 'OperatorError', message })
  t.throws(() => openEnvironment({ path, readOnly: false, mapBytes }), { name: 'OperatorError', message })
})

t.test(
  'no store is made on a full disk; what is stored is read there, and written once there is room',
  { skip: withoutSmallDisk },
  (t) =>
    onSmallDisk(t, 0, async ({ folder, resize }) => {
      const path = join(folder, 'node.mdb')
      const full = { name: 'StoreError', message: /the disk that holds .* is full; free some space, 64 MiB/ }
      writeInto(folder, 'ballast', new Uint8Array(pageBytes))
      t.throws(() => NodeStore.open({ path, mapBytes }), full)
      t.throws(() => ChainWriter.openForWriting({ path: join(folder, 'chain.mdb'), mapBytes }), full)
      resize(1024)
      await NodeStore.open({ path, mapBytes }).close()
      resize(0)
      const store = NodeStore.open({ path, mapBytes })
      t.equal(store.hasKeys(), false)
      t.throws(() => store.writePepperFingerprint(new Uint8Array(32)), full)
      t.equal(store.readPepperFingerprint(), undefined)
      t.throws(() => store.openSubmissions('roll', '0x1'), full, 'tables are made')
      resize(1024)
      store.writePepperFingerprint(new Uint8Array(32))
      t.same(store.readPepperFingerprint(), new Uint8Array(32))
      await store.close()
    }),
)

t.test('readers take their places in a lock file that has room on the disk', async (t) => {
  const folder = makeFolder(t)
  const path = storePathOf(folder, 'demo')
  copyFileSync(copyDemoStore(folder, 'other'), copyDemoStore(folder, 'demo'))
  await ChainReader.open({ path, mapBytes }).close()
  const { size, blocks } = statSync(`${path}-lock`)
  t.ok(blocks * 512 >= size, `${blocks} blocks for ${size} bytes`)
  t.ok(freeBytesMin > size)
})
