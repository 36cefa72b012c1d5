import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { optimismForks } from '../../src/data/chain/families/optimism/forks.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import {
  findBreaches,
  findFileCircles,
  findModuleCircles,
  findUnsignedModules,
  mayImport,
  moduleOf,
  readFiles,
  rooms,
} from '../runner/sourceRules.js'

const files = [...readFiles('src'), ...readFiles('workers')]

t.test('the sources are found', async (t) => {
  t.ok(files.length > 20)
  t.ok(files.some(({ path }) => path === 'src/main.ts'))
})

t.test('the documentation has the import table', async (t) => {
  const page = readFileSync(join(packageRoot(), 'docs/development.md'), 'utf8')
  const rows = page.matchAll(/^\| `(?:src\/)?(?:\w+\/)?(\w+)` \| .+ \| (.*?) ?\|$/gm)
  const documented = Object.fromEntries([...rows].map(([, module, imports]) => [module, imports]))
  const modules = new Set(files.map(({ path }) => moduleOf(path)))
  for (const [module, imports] of Object.entries(mayImport)) {
    if (!modules.has(module)) continue
    const known = imports.filter((name) => modules.has(name.replace('types:', '')))
    const expected = known.map((name) => name.replace('types:', 'types of ')).join(', ')
    t.equal(documented[module], expected, module)
  }
})

t.test(
  'rooms are few, import from those above alone, and have a first page that names their modules',
  async (t) => {
    const order = Object.keys(rooms)
    t.ok(order.length <= 8)
    const isFolder = (name: string) => statSync(join(packageRoot(), 'src', name)).isDirectory()
    const folders = readdirSync(join(packageRoot(), 'src')).filter(isFolder)
    t.strictSame(folders.sort(), [...order].sort())
    for (const [at, room] of order.entries()) {
      const modules = rooms[room] as readonly string[]
      const above = [
        'primitives',
        ...order.slice(0, at + 1).flatMap((name) => [name, ...(rooms[name] ?? [])]),
      ]
      for (const module of modules.length === 0 ? [room] : modules) {
        const imported = (mayImport[module] ?? []).filter((name) => !name.startsWith('types:'))
        t.strictSame(
          imported.filter((name) => !above.includes(name)),
          [],
          module,
        )
      }
      const page = readFileSync(join(packageRoot(), 'src', room, 'README.md'), 'utf8')
      const named = [...page.matchAll(/^- `(\w+)`/gm)].map(([, name = '']) => name)
      if (modules.length > 0) t.strictSame(named.sort(), [...modules].sort(), room)
    }
  },
)

t.test('every file keeps the rules', async (t) => {
  t.strictSame(files.flatMap(findBreaches), [])
})

t.test('what one family of chains does alone stands in its folder', async (t) => {
  const folder = 'src/data/chain/families/'
  const names = Object.keys(optimismForks).join('|')
  const others = [...files].filter(({ path }) => !path.startsWith(folder))
  for (const { path, text } of others) {
    const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    const imports = [...code.matchAll(/from '([^']*families\/[^']*)'/g)].map(([, from = '']) => from)
    const isNames = path === 'src/data/chain/forkNames.ts'
    const own = imports.filter((from) => !/families\/(families|family|basis|provedNetworks)\.js$/.test(from))
    t.strictSame(
      own.filter((from) => !(isNames && from.endsWith('/forks.js'))),
      [],
      `${path} imports none`,
    )
    t.notMatch(code, new RegExp(`['"](${names}|optimism|OP Stack)['"]`), `${path} asks for none`)
    t.notMatch(code, /family(\.title)? *[!=]==? *[a-z'"]*(ethereum|optimism|['"])/i, `${path} compares none`)
  }
})

t.test('modules do not import each other in circles', async (t) => {
  t.strictSame(findModuleCircles(files), [])
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
      'src/serving/rpc/a.ts',
      "import { x } from '../../data/store/tables.js'",
      'src/serving/rpc/a.ts: rpc imports store, allowed: primitives, chain, state, pool, rollup, streams, types:evm, types:metrics',
    ],
    [
      'src/serving/rpc/a.ts',
      "import { type X, y } from '../../execution/evm/engine.js'",
      'src/serving/rpc/a.ts: rpc imports evm, for types only',
    ],
    [
      'src/serving/rpc/methods/a.ts',
      "import { type X, type Y } from '../../../execution/evm/engine.js'",
      undefined,
    ],
    ['src/serving/rpc/a.ts', "import type {\n  X,\n  Y,\n} from '../../execution/evm/engine.js'", undefined],
    [
      'src/serving/rpc/a.ts',
      "import {\n  type X,\n  type Y,\n} from '../../execution/evm/engine.js'",
      undefined,
    ],
    ['src/serving/rpc/a.ts', "type X = typeof import('../../execution/evm/engine.js')", undefined],
    [
      'src/serving/pool/a.ts',
      "export { x } from '../../data/state/trie.js'",
      'src/serving/pool/a.ts: pool imports state, for types only',
    ],
    [
      'src/serving/pool/a.ts',
      "export * from '../../data/state/trie.js'",
      'src/serving/pool/a.ts: pool imports state, for types only',
    ],
    [
      'src/data/chain/a.ts',
      "await import('../state/trie.js')",
      'src/data/chain/a.ts: chain imports state, allowed: primitives, store, ssz',
    ],
    [
      'src/data/chain/a.ts',
      "import '../state/trie.js'",
      'src/data/chain/a.ts: chain imports state, allowed: primitives, store, ssz',
    ],
    ['src/data/chain/a.ts', "// import '../state/trie.js'\n/* import '../../serving/rpc/a.js' */", undefined],
    [
      'src/data/chain/a.ts',
      "const url = 'http://x' // '\nimport x from '../../primitives/bytes.js'",
      undefined,
    ],
    [
      'src/serving/pool/a.ts',
      "import x from '../../../workers/prove.js'",
      'src/serving/pool/a.ts: pool imports workers, but src never imports from workers; it knows their URLs',
    ],
    ['src/serving/pool/a.ts', "new URL('../../../workers/prove.js', import.meta.url)", undefined],
    [
      'workers/a.ts',
      "import x from '../src/serving/access/a.js'",
      'workers/a.ts: workers imports access, allowed: primitives, pool, state, evm, ingest, store, chain, rollup, rpc, edge',
    ],
    [
      'src/serving/rpc/a.ts',
      "import type { C } from '../../operation/config/config.js'",
      'src/serving/rpc/a.ts: rpc imports config, but only main.ts, commands and process read the configuration; others get values',
    ],
    [
      'src/operation/commands/a.ts',
      "import type { F } from '../config/file.js'",
      'src/operation/commands/a.ts: imports src/operation/config/file.ts, but config is entered by src/operation/config/config.ts',
    ],
    [
      'src/operation/config/file.ts',
      "import x from '../commands/cli.js'",
      'src/operation/config/file.ts: config imports commands, but nothing imports what builds everything',
    ],
    [
      'src/operation/commands/a.ts',
      "import type { C } from '../config/config.js'\nimport x from '../../serving/rpc/a.js'",
      undefined,
    ],
    [
      'src/data/state/a.ts',
      "import x from '../../../test/a.js'",
      'src/data/state/a.ts: state imports outside src (test), but the program consists of src and workers alone',
    ],
    [
      'src/data/state/a.ts',
      "import type { A } from '@ethereumjs/util'",
      'src/data/state/a.ts: imports @ethereumjs/util, but it is what tests compare the engine with',
    ],
    [
      'src/data/state/trieUtils.ts',
      '',
      'src/data/state/trieUtils.ts: "Utils" says nothing of what is inside; name it after its content',
    ],
    [
      'src/data/state/common/a.ts',
      '',
      'src/data/state/common/a.ts: "common" says nothing of what is inside; name it after its content',
    ],
    ['src/data/state/commonPrefix.ts', '', undefined],
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
      'src/data/state/a.ts',
      text,
      call &&
        `src/data/state/a.ts: ${call} takes the items of a list by a spread, which ends at some 120,000; use a loop, joinBytes or largest`,
    ]),
    [
      'src/data/state/a.ts',
      'class A {\n  private readonly width = 2\n}',
      'src/data/state/a.ts: width is private to the compiler alone; write #width',
    ],
    [
      'src/data/state/a.ts',
      'class A {\n  private async *read(): void {}\n}',
      'src/data/state/a.ts: read is private to the compiler alone; write #read',
    ],
    ['src/data/state/a.ts', 'class A {\n  #width = 2\n  private constructor() {}\n}', undefined],
    [
      'src/serving/pool/a.ts',
      'const late = setTimeout(end, 5)',
      'src/serving/pool/a.ts: setTimeout is not that of src/primitives/timers.ts, which contains what a callback throws',
    ],
    [
      'src/serving/pool/a.ts',
      "import { setTimeout } from '../../primitives/timers.js'\nconst late = setTimeout(end, 5)",
      undefined,
    ],
    ['src/serving/pool/a.ts', 'socket.setTimeout(5)', undefined],
    ['src/serving/state/a.ts', '', 'src/serving/state/a.ts: state stands in src/data'],
    ['src/state/a.ts', '', 'src/state/a.ts: state stands in src/data'],
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
    { path: 'src/data/a/x.ts', text: "import '../b/x.js'" },
    { path: 'src/data/b/x.ts', text: "import type { X } from '../c/x.js'" },
    { path: 'src/data/c/x.ts', text: "import '../a/x.js'" },
  ]
  t.strictSame(findModuleCircles(circle), ['a → b → c → a'])
  t.strictSame(findModuleCircles(circle.slice(1)), [])
  const pair = [
    { path: 'src/data/a/x.ts', text: "import { y } from './y.js'" },
    { path: 'src/data/a/y.ts', text: "export type { X } from './x.js'" },
  ]
  t.strictSame(findFileCircles(pair), ['src/data/a/x.ts → src/data/a/y.ts → src/data/a/x.ts'])
  t.strictSame(findFileCircles(pair.slice(1)), [])
  t.strictSame(
    findUnsignedModules([
      { path: 'src/data/a/x.ts', text: '/** Owns x. */\nimport x' },
      { path: 'src/data/a/y.ts', text: 'import x' },
      { path: 'src/data/b/x.ts', text: '/** Adds one. */\nexport function addOne() {}' },
    ]),
    ['b: no file opens with a comment on what the module owns and what it does not'],
  )
})
