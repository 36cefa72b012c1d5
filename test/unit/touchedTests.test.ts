import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { changedPaths, isUntouched, longTests } from '../runner/touchedTests.js'
import { makeFolder, writeInto } from '../service/program.js'

const below = (folder: string) =>
  readdirSync(join(packageRoot(), folder), { recursive: true, encoding: 'utf8' }).map(
    (path) => `${folder}/${path}`,
  )
const files = below('test').filter((path) => path.endsWith('.test.ts'))
const sources = ['src', 'bench', 'build', 'docs'].flatMap(below).concat('README.md', 'package.json')

/** `a(b|c)|d` → `ab`, `ac` and `d`. */
function alternatives(pattern: string): string[] {
  let depth = 0
  const parts = ['']
  for (const letter of pattern) {
    depth += letter === '(' ? 1 : letter === ')' ? -1 : 0
    if (letter === '|' && depth === 0) parts.push('')
    else parts[parts.length - 1] += letter
  }
  return parts.flatMap((part) => {
    let [at, open] = [part.indexOf('('), 0]
    if (at < 0) return [part]
    const start = at
    do open += part[at] === '(' ? 1 : part[at] === ')' ? -1 : 0
    while (open > 0 && ++at < part.length)
    const inner = part.slice(start + 1, at)
    const isOptional = part[at + 1] === '?'
    const rest = alternatives(part.slice(at + (isOptional ? 2 : 1)))
    const choices = [...(isOptional ? [''] : []), ...alternatives(inner)]
    return choices.flatMap((choice) => rest.map((end) => part.slice(0, start) + choice + end))
  })
}

t.test('each long file and each of its sources is there', async (t) => {
  for (const [about, names] of longTests) {
    for (const name of alternatives(names)) {
      const found = files.filter((path) => new RegExp(`^test/${name}\\.test\\.ts$`).test(path))
      t.ok(found.length > 0, name)
      for (const path of found) t.ok(isUntouched(path, []), path)
    }
    for (const each of alternatives(about)) {
      t.ok(
        sources.some((path) => new RegExp(`^${each}`).test(path)),
        each,
      )
    }
  }
})

t.test('a long file is run where a change touches what it is about', async (t) => {
  const fronts = 'dist/test/faults/fronts.test.js'
  for (const path of [
    'src/sources/upstream/upstream.ts',
    'src/sources/ingest/gateway/runGateway.ts',
    'test/faults/fronts.test.ts',
    'test/upstream/front.ts',
    'test/library/until.ts',
    'package-lock.json',
  ]) {
    t.notOk(isUntouched(fronts, ['docs/install.md', path]), path)
  }
  t.ok(
    isUntouched(fronts, ['docs/install.md', 'src/serving/rollup/queue.ts', 'test/chains/families.test.ts']),
  )
  t.notOk(isUntouched('dist/test/rpc/parity.test.js', []), 'one that takes no long time always is')
})

t.test('a unit test is run where a change touches what it loads', async (t) => {
  const cases: readonly (readonly [name: string, path: string, isRun: boolean])[] = [
    ['primitives/rlp', 'src/primitives/rlp.ts', true],
    ['primitives/rlp', 'src/primitives/bytes.ts', true],
    ['primitives/rlp', 'test/unit/primitives/rlp.test.ts', true],
    ['primitives/rlp', 'package-lock.json', true],
    ['primitives/rlp', 'data/devnet/genesis.json', true],
    ['primitives/rlp', 'src/serving/rollup/queue.ts', false],
    ['primitives/rlp', 'test/rpc/parity.test.ts', false],
    ['primitives/rlp', 'docs/install.md', false],
    ['docs', 'docs/install.md', true],
    ['sources/ingest/runGateway', 'workers/prove.ts', true],
    ['data/store/walkStore', 'src/data/store/walkStore.ts', true],
    // It starts the program.
    ['operation/commands/cli', 'src/serving/rollup/queue.ts', true],
  ]
  for (const [name, path, isRun] of cases)
    t.equal(isUntouched(`dist/test/unit/${name}.test.js`, [path]), !isRun, `${name}: ${path}`)
})

t.test('a change is what differs from where its branch began, or from the day before', async (t) => {
  const root = makeFolder(t)
  const { BASE } = process.env
  delete process.env.BASE
  t.teardown(() => Object.assign(process.env, BASE && { BASE }))
  let hours = 0
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...words], {
      cwd: root,
      stdio: 'ignore',
      env: { ...process.env, GIT_COMMITTER_DATE: `${1_700_000_000 + 3600 * hours} +0000` },
    })
  const commit = (name: string, hour = hours) => {
    hours = hour
    writeInto(root, name, 'text')
    git('add', '.')
    git('commit', '-m', name)
  }
  t.equal(changedPaths(root), undefined, 'no history')
  git('init', '-b', 'main')
  commit('one')
  t.equal(changedPaths(root), undefined, 'nothing before')
  commit('two', 30)
  t.strictSame(changedPaths(root), ['two'])
  commit('more', 50)
  t.strictSame(changedPaths(root), ['more', 'two'], 'several at once')
  git('checkout', '-b', 'branch')
  commit('three')
  commit('four')
  writeInto(root, 'five', 'text')
  t.strictSame(changedPaths(root), ['four', 'three', 'five'])
  t.strictSame(changedPaths(root, 'HEAD~1'), ['four', 'five'])
})
