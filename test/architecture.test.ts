import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../src/primitives/packageRoot.js'
import {
  findBreaches,
  findFileCircles,
  findRoomCircles,
  findUnsignedModules,
  mayImport,
  moduleOf,
  readFiles,
} from './runner/sourceRules.js'

const files = [...readFiles('src'), ...readFiles('workers')]

t.test('the sources are found', async (t) => {
  t.ok(files.length > 20)
  t.ok(files.some(({ path }) => path === 'src/main.ts'))
})

t.test('the documentation has the import table', async (t) => {
  const page = readFileSync(join(packageRoot(), 'docs/development.md'), 'utf8')
  const rows = page.matchAll(/^\| `(?:src\/)?(\w+)` \| .+ \| (.*?) ?\|$/gm)
  const documented = Object.fromEntries([...rows].map(([, module, imports]) => [module, imports]))
  const modules = new Set(files.map(({ path }) => moduleOf(path)))
  for (const [module, imports] of Object.entries(mayImport)) {
    if (!modules.has(module)) continue
    const known = imports.filter((name) => modules.has(name.replace('types:', '')))
    const expected = known.map((name) => name.replace('types:', 'types of ')).join(', ')
    t.equal(documented[module], expected, module)
  }
})

t.test('every file keeps the rules', async (t) => {
  t.strictSame(files.flatMap(findBreaches), [])
})

t.test('modules do not import each other in circles', async (t) => {
  t.strictSame(findRoomCircles(files), [])
})

t.test('files do not import each other in circles, tests and benches included', async (t) => {
  t.strictSame(findFileCircles([...files, ...readFiles('test'), ...readFiles('bench')]), [])
})

t.test('every module has a file that says what it owns', async (t) => {
  t.strictSame(findUnsignedModules(files), [])
})

t.test('each rule catches a file that breaks it', async (t) => {
  const cases: readonly (readonly [path: string, text: string, breach: string | undefined])[] = [
    [
      'src/rpc/a.ts',
      "import { x } from '../store/tables.js'",
      'src/rpc/a.ts: rpc imports store, allowed: primitives, chain, state, pool, rollup, streams, types:evm, types:metrics',
    ],
    [
      'src/rpc/a.ts',
      "import { type X, y } from '../evm/engine.js'",
      'src/rpc/a.ts: rpc imports evm, for types only',
    ],
    ['src/rpc/methods/a.ts', "import { type X, type Y } from '../../evm/engine.js'", undefined],
    ['src/rpc/a.ts', "import type {\n  X,\n  Y,\n} from '../evm/engine.js'", undefined],
    ['src/rpc/a.ts', "import {\n  type X,\n  type Y,\n} from '../evm/engine.js'", undefined],
    ['src/rpc/a.ts', "type X = typeof import('../evm/engine.js')", undefined],
    [
      'src/pool/a.ts',
      "export { x } from '../state/trie.js'",
      'src/pool/a.ts: pool imports state, for types only',
    ],
    [
      'src/pool/a.ts',
      "export * from '../state/trie.js'",
      'src/pool/a.ts: pool imports state, for types only',
    ],
    [
      'src/chain/a.ts',
      "await import('../state/trie.js')",
      'src/chain/a.ts: chain imports state, allowed: primitives, store, ssz',
    ],
    [
      'src/chain/a.ts',
      "import '../state/trie.js'",
      'src/chain/a.ts: chain imports state, allowed: primitives, store, ssz',
    ],
    ['src/chain/a.ts', "// import '../state/trie.js'\n/* import '../rpc/a.js' */", undefined],
    ['src/chain/a.ts', "const url = 'http://x' // '\nimport x from '../primitives/bytes.js'", undefined],
    [
      'src/pool/a.ts',
      "import x from '../../workers/prove.js'",
      'src/pool/a.ts: pool imports workers, but src never imports from workers; it knows their URLs',
    ],
    ['src/pool/a.ts', "new URL('../../workers/prove.js', import.meta.url)", undefined],
    [
      'workers/a.ts',
      "import x from '../src/access/a.js'",
      'workers/a.ts: workers imports access, allowed: primitives, pool, state, evm, ingest, store, chain, rollup, rpc, edge',
    ],
    [
      'src/rpc/a.ts',
      "import type { C } from '../config/config.js'",
      'src/rpc/a.ts: rpc imports config, but only main.ts and commands read the configuration; others get values',
    ],
    [
      'src/commands/a.ts',
      "import type { F } from '../config/file.js'",
      'src/commands/a.ts: imports src/config/file.ts, but config is entered by src/config/config.ts',
    ],
    [
      'src/config/file.ts',
      "import x from '../commands/cli.js'",
      'src/config/file.ts: config imports commands, but nothing imports what builds everything',
    ],
    [
      'src/commands/a.ts',
      "import type { C } from '../config/config.js'\nimport x from '../rpc/a.js'",
      undefined,
    ],
    [
      'src/state/a.ts',
      "import x from '../../test/a.js'",
      'src/state/a.ts: state imports outside src (test), but the program consists of src and workers alone',
    ],
    [
      'src/state/a.ts',
      "import type { A } from '@ethereumjs/util'",
      'src/state/a.ts: imports @ethereumjs/util, but it is what tests compare the engine with',
    ],
    [
      'src/state/trieUtils.ts',
      '',
      'src/state/trieUtils.ts: "Utils" says nothing of what is inside; name it after its content',
    ],
    [
      'src/state/common/a.ts',
      '',
      'src/state/common/a.ts: "common" says nothing of what is inside; name it after its content',
    ],
    ['src/state/commonPrefix.ts', '', undefined],
    [
      'src/state/a.ts',
      '\n'.repeat(401),
      'src/state/a.ts: 401 lines, at most 400; split it by what its parts own',
    ],
    ['src/state/a.ts', '\n'.repeat(400), undefined],
    ...[
      ['a.push(...b)', '.push'],
      ['a.b.unshift(0, ...[...c].map((d) => d(e)), 1)', '.unshift'],
      ['a.splice(\n  0,\n  1,\n  ...b,\n)', '.splice'],
      ['a(Math.max(...b.map((c) => c.d)))', 'Math.max'],
      ['String.fromCharCode(...a)', 'String.fromCharCode'],
      ['String.fromCharCode.apply(null, a)', '.fromCharCode.apply('],
      ['concatBytes(a, ...b)', 'concatBytes'],
      ['a.push([...b])', undefined],
      ['a.push({ ...b }, f(...c))', undefined],
      ['f(...a)', undefined],
      ['// a.push(...b)', undefined],
    ].map(([text = '', call]): [string, string, string | undefined] => [
      'src/state/a.ts',
      text,
      call &&
        `src/state/a.ts: ${call} takes the items of a list by a spread, which ends at some 120,000; use a loop, joinBytes or largest`,
    ]),
    [
      'src/state/a.ts',
      'class A {\n  private readonly width = 2\n}',
      'src/state/a.ts: width is private to the compiler alone; write #width',
    ],
    [
      'src/state/a.ts',
      'class A {\n  private async *read(): void {}\n}',
      'src/state/a.ts: read is private to the compiler alone; write #read',
    ],
    ['src/state/a.ts', 'class A {\n  #width = 2\n  private constructor() {}\n}', undefined],
    [
      'src/pool/a.ts',
      'const late = setTimeout(end, 5)',
      'src/pool/a.ts: setTimeout is not that of src/primitives/timers.ts, which contains what a callback throws',
    ],
    [
      'src/pool/a.ts',
      "import { setTimeout } from '../primitives/timers.js'\nconst late = setTimeout(end, 5)",
      undefined,
    ],
    ['src/pool/a.ts', 'socket.setTimeout(5)', undefined],
    [
      'src/attic/a.ts',
      '',
      'src/attic/a.ts: attic is no module of the import table; add it to the table, or move the file into a module',
    ],
  ]
  for (const [path, text, breach] of cases) {
    t.strictSame(
      findBreaches({ path, text }),
      breach === undefined ? [] : [breach],
      `${path}: ${text.trim()}`,
    )
  }
  const circle = [
    { path: 'src/a/x.ts', text: "import '../b/x.js'" },
    { path: 'src/b/x.ts', text: "import type { X } from '../c/x.js'" },
    { path: 'src/c/x.ts', text: "import '../a/x.js'" },
  ]
  t.strictSame(findRoomCircles(circle), ['a → b → c → a'])
  t.strictSame(findRoomCircles(circle.slice(1)), [])
  const pair = [
    { path: 'src/a/x.ts', text: "import { y } from './y.js'" },
    { path: 'src/a/y.ts', text: "export type { X } from './x.js'" },
  ]
  t.strictSame(findFileCircles(pair), ['src/a/x.ts → src/a/y.ts → src/a/x.ts'])
  t.strictSame(findFileCircles(pair.slice(1)), [])
  t.strictSame(
    findUnsignedModules([
      { path: 'src/a/x.ts', text: '/** Owns x. */\nimport x' },
      { path: 'src/a/y.ts', text: 'import x' },
      { path: 'src/b/x.ts', text: '/** Adds one. */\nexport function addOne() {}' },
    ]),
    ['b: no file opens with a comment on what the module owns and what it does not'],
  )
})
