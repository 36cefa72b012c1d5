// @shares
import { execFile, execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { createKey, listKeys } from '../../../src/serving/access/keyChanges.js'
import { openRig, why } from '../../unit/serving/access/keyRig.js'

const main = join(packageRoot(), 'dist/src/main.js')

/** Runs the real program on the same data folder, as another process. */
function tidegate(dataDir: string, ...words: string[]): string {
  return execFileSync(process.execPath, [main, ...words, '--data', dataDir], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
}

t.test('keys made and revoked by another process count in this one', async (t) => {
  const { ring, store, dataDir, pass } = openRig(t)
  const text = tidegate(dataDir, 'keys', 'create', '--name', 'from outside')
  const first = ring.authorize(text)
  t.match(first, { ok: true, key: { name: 'from outside' } }, 'a new key opens at once')
  const [key] = listKeys(store)

  tidegate(dataDir, 'keys', 'revoke', key?.id ?? '')
  t.equal(why(ring.authorize(text)), 'ok', 'remembered until the next look at the store')
  pass(249)
  t.equal(why(ring.authorize(text)), 'ok')
  pass(1)
  t.equal(why(ring.authorize(text)), 'revoked')
})

t.test('keys made here are known to another process', async (t) => {
  const { ring, store, dataDir } = openRig(t)
  const { key } = createKey(store, ring.pepper, { name: 'from inside' }, 'test')
  const listed = JSON.parse(tidegate(dataDir, 'keys', 'list', '--json'))
  t.match(listed, [{ id: key.id, name: 'from inside', state: 'live', revokedAt: null }])
})

t.test('processes that start together agree on one pepper', async (t) => {
  const dataDir = t.testdir()
  const run = promisify(execFile)
  const made = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) =>
      run(process.execPath, [main, 'keys', 'create', '--name', name, '--data', dataDir]),
    ),
  )
  const { ring } = openRig(t, dataDir)
  for (const { stdout } of made) t.equal(why(ring.authorize(stdout.trim())), 'ok')
  t.strictSame(readdirSync(join(dataDir, 'node')).sort(), ['node.mdb', 'node.mdb-lock', 'pepper'])
})
