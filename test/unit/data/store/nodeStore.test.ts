import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pack } from 'msgpackr'
import t from 'tap'
import { openEnvironment, openTable } from '../../../../src/data/store/lmdb/environment.js'
import type { KeyRow } from '../../../../src/data/store/node/keyRows.js'
import { NodeStore, nodeSchemaVersion } from '../../../../src/data/store/node/nodeStore.js'

const mapBytes = 2 ** 30

function row(first: number, name: string): KeyRow {
  return { digest: new Uint8Array(32).fill(first), name, createdAtMs: first, revokedAtMs: undefined }
}

t.test('rows survive a reopening', async (t) => {
  const path = join(t.testdir(), 'node/node.mdb')
  const first = NodeStore.open({ path, mapBytes })
  t.equal(first.hasKeys(), false)
  t.equal(first.writeKey(row(2, 'two')), 'written')
  t.equal(first.writeKey(row(1, 'one')), 'written')
  await first.close()
  const again = NodeStore.open({ path, readOnly: true, mapBytes })
  t.strictSame(again.readKeys(), [row(1, 'one'), row(2, 'two')])
  t.strictSame(again.readKey(row(2, '').digest), row(2, 'two'))
  t.equal(again.readKey(new Uint8Array(32)), undefined)
  await again.close()
})

t.test('other users of the machine cannot read it, nor one that they could read before', async (t) => {
  const path = join(t.testdir(), 'node.mdb')
  const mode = () => statSync(path).mode & 0o777
  await NodeStore.open({ path, mapBytes }).close()
  t.equal(mode(), 0o600)
  chmodSync(path, 0o664)
  await NodeStore.open({ path, readOnly: true, mapBytes }).close()
  t.equal(mode(), 0o664, 'a reader changes nothing')
  await NodeStore.open({ path, mapBytes }).close()
  t.equal(mode(), 0o600)
})

t.test('a write that is refused changes nothing, its generation neither', async (t) => {
  const store = NodeStore.open({ path: join(t.testdir(), 'node.mdb'), mapBytes })
  t.teardown(() => store.close())
  t.equal(store.readKeyGeneration(), 0)
  store.writeKey(row(1, 'one'))
  t.equal(store.readKeyGeneration(), 1)
  t.equal(store.writeKey(row(2, 'one')), 'nameTaken')
  t.equal(store.writeKey(row(1, 'two')), 'digestPrefixTaken')
  t.equal(store.writeKey(row(3, 'three'), { onlyFirst: true }), 'notFirst')
  const revoke = (before: KeyRow): KeyRow => ({ ...before, revokedAtMs: 7 })
  t.equal(store.changeKey(new Uint8Array(32).fill(9), revoke), undefined)
  t.strictSame(
    store.changeKey(row(1, 'one').digest, (before) => before),
    { before: row(1, 'one'), after: row(1, 'one') },
  )
  t.strictSame(store.readKeys(), [row(1, 'one')])
  t.equal(store.readKeyGeneration(), 1)
  t.strictSame(store.changeKey(row(1, 'one').digest, revoke), {
    before: row(1, 'one'),
    after: { ...row(1, 'one'), revokedAtMs: 7 },
  })
  t.strictSame(store.readKeys(), [{ ...row(1, 'one'), revokedAtMs: 7 }])
  t.equal(store.readKeyGeneration(), 2)
})

t.test('a store that is not there is not made for a reader', async (t) => {
  const path = join(t.testdir(), 'node.mdb')
  t.throws(() => NodeStore.open({ path, readOnly: true }), {
    name: 'OperatorError',
    message: `there is no node store at ${path}; check --data`,
  })
  t.equal(existsSync(path), false)
})

t.test('a store of another schema is refused', async (t) => {
  const folder = t.testdir()
  for (const schema of [nodeSchemaVersion + 1, nodeSchemaVersion - 1]) {
    const path = join(folder, `${schema}.mdb`)
    await NodeStore.open({ path, mapBytes }).close()
    const environment = openEnvironment({ path, readOnly: false, mapBytes })
    openTable(environment, 'meta')?.putSync(Buffer.from('schema'), pack(schema))
    await environment.close()
    for (const readOnly of [false, true, false]) {
      t.throws(() => NodeStore.open({ path, mapBytes, readOnly }), {
        name: 'OperatorError',
        message: `the node store ${path} has schema ${schema} and this Tidegate reads ${nodeSchemaVersion}; run the version that wrote it`,
      })
    }
  }
})

t.test('an LMDB store of something else is refused and left as it is', async (t) => {
  for (const table of ['blocks', 'meta']) {
    const path = join(t.testdir(), `${table}.mdb`)
    const environment = openEnvironment({ path, readOnly: false, mapBytes })
    openTable(environment, table)?.putSync(Buffer.from('kind'), pack('another'))
    await environment.close()
    for (const readOnly of [true, false]) {
      t.throws(() => NodeStore.open({ path, readOnly, mapBytes }), {
        name: 'OperatorError',
        message: `${path} is not a node store of Tidegate; check --data, or move that file away`,
      })
    }
  }
})

t.test('a file that is not LMDB is refused before LMDB sees it', async (t) => {
  const folder = t.testdir()
  const contents = ['hello', 'hello world'.repeat(2_000), Buffer.alloc(100), Buffer.alloc(20_000)]
  for (const [index, content] of contents.entries()) {
    const path = join(folder, `${index}.mdb`)
    writeFileSync(path, content)
    t.throws(() => NodeStore.open({ path, mapBytes }), {
      name: 'OperatorError',
      message: /is not a store of Tidegate/,
    })
  }
  mkdirSync(join(folder, 'folder.mdb'))
  t.throws(() => NodeStore.open({ path: join(folder, 'folder.mdb') }), { name: 'OperatorError' })
})

t.test('an empty file becomes a store', async (t) => {
  const path = join(t.testdir({ 'node.mdb': '' }), 'node.mdb')
  const store = NodeStore.open({ path, mapBytes })
  t.equal(store.hasKeys(), false)
  await store.close()
})
