/** Every process and thread of the program starts from a file of one list, of which the build makes each. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot, startedPath } from '../../src/primitives/packageRoot.js'
import { startedFiles } from '../../src/primitives/startedFiles.js'
import { readFiles } from '../runner/sourceRules.js'

const names = Object.keys(startedFiles) as (keyof typeof startedFiles)[]

t.test('each file of the list has a source, and the build made it', async (t) => {
  for (const name of names) {
    t.ok(existsSync(join(packageRoot(), `${startedFiles[name]}.ts`)), startedFiles[name])
    t.ok(existsSync(startedPath(name)), startedPath(name))
  }
})

t.test('what starts a process or a thread names a file of the list', async (t) => {
  const starts = /\b(?:fork|spawn|spawnSync|execFile|execFileSync|new Worker)\(\s*([^,)]+)/g
  const sources = [...readFiles('src'), ...readFiles('workers')]
  const found = sources.flatMap(({ path, text }) =>
    [...text.matchAll(starts)].map(([, what]) => `${path}: ${what}`),
  )
  t.ok(found.length > 5)
  // A name that is no constant has the type of the list's names.
  const allowed = /startedUrl\('|startedPath\(|process\.execPath|'systemd-notify'|'cat'/
  t.strictSame(
    found.filter((each) => !allowed.test(each)),
    [],
  )
  for (const { path, text } of sources) {
    t.notMatch(text, /new URL\([^)]*import\.meta\.url/, `${path} finds files by packageRoot.ts`)
    if (text.includes('process.execPath')) {
      t.match(text, /startedPath\(|process\.argv/, `${path} starts a file of the list`)
    }
  }
})
