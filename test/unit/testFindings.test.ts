import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { makeFolder, writeInto } from '../service/program.js'

const tests = `
import t from '${import.meta.resolve('tap')}'
t.test('checks', async (t) => { t.ok(true) })
t.test('holds others', async (t) => { await t.test('checks', async (t) => { t.ok(true) }) })
t.test('is empty', async () => {})
t.test('comments', async (t) => { await t.test('within', async (t) => { t.comment('skipped: no disk') }) })
t.test('is skipped', { skip: 'no disk' }, async (t) => { t.ok(false) })
t.test('is skipped for nothing', { skip: true }, async (t) => { t.ok(false) })
`

t.test('a run names what is skipped, and fails for tests that check nothing', async (t) => {
  const path = writeInto(makeFolder(t), 'some.test.js', tests)
  const runner = join(packageRoot(), 'dist/test/runTests.js')
  const { status, stdout } = spawnSync(process.execPath, [runner, path], { encoding: 'utf8' })
  t.equal(status, 1)
  t.strictSame(stdout.match(/(?<=^# skipped: .*some\.test\.js > ).*/gm), ['is skipped: no disk'])
  t.strictSame(stdout.match(/(?<=^# fault: .*some\.test\.js > ).*/gm), [
    'is empty: checks nothing',
    'comments > within: checks nothing',
    'is skipped for nothing: is skipped and does not say why',
  ])
})
