/**
 * A sample of Ethereum's state tests through the kernel. The sample is the first file of each folder, every
 * {@link everyNth} of all, and the named cases of Amsterdam.
 * `npm run -s state-tests -- ../shared/state-tests/state-tests.tar.gz` runs all of them. Skipped without that file.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { readTestFiles } from '../../stateTests/files.js'
import { summaryOf } from '../../stateTests/runTool.js'
import { forkOfName } from '../../stateTests/stateTest.js'
import { Tally } from '../../stateTests/tally.js'

const archive = join(packageRoot(), '../shared/state-tests/state-tests.tar.gz')
/** Of Amsterdam. */
const newest = join(packageRoot(), '../shared/amsterdam/state-tests.tar.gz')
const absent = [archive, newest].find((path) => !existsSync(path))
const skip = absent === undefined ? false : `${absent} is absent`
const everyNth = 48
/** Loops of millions of turns, ten seconds of each run. The whole has them. */
const longLoops = /\/vmPerformance\/loop/

t.test('a sample from each folder, of each fork, ends as expected', { skip }, async (t) => {
  const tally = new Tally((line) => t.fail(line))
  const folders = new Set<string>()
  let seen = 0
  const isChosen = (path: string) => {
    if (longLoops.test(path)) return false
    const isFirst = !folders.has(dirname(path))
    folders.add(dirname(path))
    // Each `named.json` tests one rule of the newest fork.
    return seen++ % everyNth === 0 || isFirst || path.endsWith('/named.json')
  }
  for (const from of [archive, newest]) {
    for await (const { path, text } of readTestFiles(from, isChosen)) tally.run(path, text)
  }
  t.comment(summaryOf(tally))
  t.equal(tally.failed + tally.skipped, 0)
  t.ok(tally.passed > 1_000, 'many')
  const forks = [...tally.forks].map((name) => forkOfName.get(name))
  t.same(new Set(forks), new Set(forkOfName.values()))
})

t.test('another root, other logs and an exception that does not come are failures', { skip }, async (t) => {
  for await (const { path, text } of readTestFiles(archive, (name) =>
    name.endsWith('/stExample/add11.json'),
  )) {
    const wrong = (find: RegExp, put: string) => {
      const lines: string[] = []
      const tally = new Tally((line) => lines.push(line))
      tally.run(path, text.replaceAll(find, put))
      return [tally.failed > 0, tally.passed, lines[0]] as const
    }
    t.match(wrong(/("hash" *: *"0x)[0-9a-f]{64}/g, `$1${'0'.repeat(64)}`), [true, 0, /state root/])
    t.match(wrong(/("logs" *: *"0x)[0-9a-f]{64}/g, `$1${'0'.repeat(64)}`), [true, 0, /logs/])
    t.match(wrong(/("hash" *:)/g, '"expectException": "x", $1'), [true, 0, /not refused/])
    return
  }
  t.fail('no example')
})

t.test('archives of each format hold the files that a folder holds', async (t) => {
  const folder = t.testdir()
  const long = join('a'.repeat(90), 'b'.repeat(60))
  mkdirSync(join(folder, long), { recursive: true })
  for (const [name, length] of [
    ['empty.json', 0],
    [join(long, 'block.json'), 512],
    [join(long, `${'c'.repeat(120)}.json`), 70_000],
    ['other.txt', 3],
  ] as const) {
    writeFileSync(join(folder, name), 'x'.repeat(length))
  }
  const listed = async (path: string) => {
    const files = new Map<string, string>()
    for await (const file of readTestFiles(path))
      files.set(file.path.replace(/^.*?(?=a{90}|empty)/, ''), file.text)
    return [...files].sort()
  }
  const expected = await listed(folder)
  t.equal(expected.length, 3)
  for (const format of ['gnu', 'pax']) {
    const file = join(folder, `${format}.tar.gz`)
    execFileSync('tar', [
      'czf',
      file,
      `--format=${format}`,
      '-C',
      folder,
      'empty.json',
      'a'.repeat(90),
      'other.txt',
    ])
    t.ok(readFileSync(file).length > 0)
    t.same(await listed(file), expected, format)
  }
})
