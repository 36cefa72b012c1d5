// @shares
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { Parser } from 'tap-parser'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { makeFolder, writeInto } from '../library/folder.js'
import { TestFindings } from '../runner/testFindings.js'

const tests = `
import t from '${pathToFileURL(join(packageRoot(), 'node_modules/tap/dist/esm/index.js')).href}'
t.test('checks', async (t) => { t.ok(true) })
t.test('holds others', async (t) => { await t.test('checks', async (t) => { t.ok(true) }) })
t.test('is empty', async () => {})
t.test('comments', async (t) => { await t.test('within', async (t) => { t.comment('skipped: no disk') }) })
t.test('is skipped', { skip: 'no disk' }, async (t) => { t.ok(false) })
t.test('is skipped for nothing', { skip: true }, async (t) => { t.ok(false) })
t.test('fails', async (t) => { t.equal(1, 2, 'one is two') })
t.test('throws', async () => { throw new RangeError('too far') })
`

t.test('a run names what is skipped and what failed, and fails for tests that check nothing', async (t) => {
  const path = writeInto(makeFolder(t), 'some.test.mjs', tests)
  const { stdout } = spawnSync(process.execPath, [path], { encoding: 'utf8' })
  const findings = new TestFindings()
  const parser = new Parser()
  parser.on('child', (child) => findings.watch(child))
  parser.on('result', (result) => findings.add(result))
  parser.end(stdout)
  t.equal(findings.passed, 4, 'two, and two that are empty, which the library calls passed')
  t.strictSame(findings.skipped, ['is skipped: no disk'])
  t.strictSame(findings.failures.map((failure) => failure.split('\n')[0]).sort(), [
    'comments > within: checks nothing',
    'fails > one is two',
    'is empty: checks nothing',
    'is skipped for nothing: is skipped and does not say why',
    'throws > too far',
  ])
  const diagnosis = findings.failures.find((failure) => failure.startsWith('fails'))
  t.match(diagnosis, /-1\s+\+2|-2\s+\+1/, 'with the difference')
})
