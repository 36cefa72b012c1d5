/** The rules for the sources: the places of modules, their imports, and file names. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'

/**
 * The rooms: the folders of src, and the modules in each. A room imports from itself and from those above it.
 * `primitives` and `verify` are modules themselves.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  primitives: [],
  data: ['store', 'ssz', 'chain', 'state', 'postgres'],
  execution: ['kernel', 'evm'],
  sources: ['upstream', 'consensus', 'feed', 'ingest'],
  verify: [],
  serving: ['access', 'streams', 'pool', 'rollup', 'metrics', 'rpc', 'transport', 'traces'],
  operation: ['config', 'shared', 'admin', 'edge', 'process', 'commands'],
}
const order = Object.keys(rooms)
const rankOf = (module: string) => order.findIndex((room) => room === module || rooms[room]?.includes(module))

/**
 * What each module may import besides `primitives` and itself; a module after `types:` for types only. `main.ts` and
 * `commands` may import all modules, and `process`, which they start, all but those two. A folder that is not listed
 * here fails. An edge is built on its own thread, so it gets the whole configuration.
 */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  primitives: [],
  kernel: [],
  config: ['store', 'rpc'],
  store: [],
  ssz: [],
  consensus: ['ssz'],
  verify: ['consensus', 'ssz'],
  metrics: ['types:ingest', 'types:pool'],
  upstream: [],
  chain: ['store', 'ssz'],
  state: ['store'],
  evm: ['chain', 'state', 'types:store'],
  postgres: [],
  feed: ['postgres', 'evm', 'state', 'chain', 'store'],
  ingest: ['upstream', 'consensus', 'feed', 'postgres', 'evm', 'state', 'chain', 'store', 'ssz'],
  pool: ['types:chain', 'types:state', 'types:evm', 'types:rollup'],
  rollup: ['postgres', 'store'],
  access: ['store'],
  shared: ['postgres', 'access', 'store'],
  admin: ['access'],
  streams: ['chain'],
  rpc: ['chain', 'state', 'pool', 'rollup', 'streams', 'types:evm', 'types:metrics'],
  transport: ['rpc', 'streams', 'access'],
  traces: ['access', 'types:transport'],
  edge: [
    'transport',
    'traces',
    'rpc',
    'access',
    'metrics',
    'rollup',
    'pool',
    'streams',
    'evm',
    'chain',
    'state',
    'store',
    'types:ingest',
    'types:config',
  ],
  workers: ['pool', 'state', 'evm', 'ingest', 'store', 'chain', 'rollup', 'rpc', 'edge'],
}
const buildsAll: ReadonlySet<string> = new Set(['main', 'commands', 'process'])

/** Modules that others may import only through one file. */
const entryOf: Readonly<Record<string, string>> = { config: 'src/operation/config/config.ts' }

/** Last words of names that are too vague; as a first word, as in `commonPrefix`, they are fine. */
const vagueWord = /^(?:utils?|utility|utilities|helpers?|common|misc|managers?)$/i

/** The timers that all code uses. */
const timersPath = 'src/primitives/timers.ts'

export interface SourceFile {
  /** Path from the package root, with slashes. */
  readonly path: string
  readonly text: string
}

interface Import {
  readonly specifier: string
  readonly isTypeOnly: boolean
}

/** `src/serving/rpc/dispatch/batch.ts` → `rpc`; a file directly in src is a module of its own. */
export function moduleOf(path: string): string {
  const [top, room = '', module = ''] = path.split('/')
  if (top === 'workers') return 'workers'
  if (top !== 'src') return `outside src (${top})`
  return (rooms[room]?.length ? module : room).replace(/\.ts$/, '')
}

/** The text without comments, but with strings. */
function stripComments(text: string): string {
  const tokens = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g
  return text.replace(tokens, (token) => (token.startsWith('/') ? ' ' : token))
}

/** Functions with any number of arguments. Other functions use only their named ones, however long a spread list is. */
const gathering =
  /(?:\.(?:push|unshift|splice|concat|of)|Math\.(?:max|min|hypot)|String\.from(?:CharCode|CodePoint)|(?<!function )concatBytes)$/

/**
 * A call with a list as arguments, by a spread or by `apply`. Each item takes a place on the stack, so a list of some
 * 120,000 items (more on other threads) throws a RangeError. Undefined if there is none.
 */
function findSpreadCall(text: string): string | undefined {
  const code = stripComments(text)
  const applied = /\.(?:push|unshift|max|min|fromCharCode|fromCodePoint)\.apply\(/.exec(code)
  if (applied) return applied[0]
  for (const { index } of code.matchAll(/(?<=[(,]\s*)\.\.\./g)) {
    let open = index
    for (let depth = 0; open > 0 && depth < 1; ) {
      const sign = code[--open] as string
      if ('([{'.includes(sign)) depth++
      else if (')]}'.includes(sign)) depth--
    }
    const called = gathering.exec(code.slice(0, open))
    if (code[open] === '(' && called) return called[0]
  }
  return undefined
}

/** Static imports, re-exports, dynamic imports and type queries. */
function findImports(text: string): Import[] {
  const code = stripComments(text)
  const statics = code.matchAll(
    /^\s*(?:import|export)\b(\s+type\b(?!\s+from))?\s*([\w*\s{},$]*?)\s*(?:\bfrom\s*)?['"]([^'"\n]+)['"]/gm,
  )
  const dynamics = code.matchAll(/(\btypeof\s+)?\bimport\(\s*['"]([^'"\n]+)['"]/g)
  return [
    ...[...statics].map(([, type, names = '', specifier = '']) => ({
      specifier,
      isTypeOnly: type !== undefined || /^\{(\s*type\s+[^,}]+,?)+\s*\}$/.test(names),
    })),
    ...[...dynamics].map(([, type, specifier = '']) => ({ specifier, isTypeOnly: type !== undefined })),
  ]
}

interface ImportedFile {
  readonly module: string
  readonly path: string
  readonly isTypeOnly: boolean
}

/** Files of this project that `file` imports. */
function findImportedFiles(file: SourceFile): ImportedFile[] {
  return findImports(file.text)
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier, isTypeOnly }) => {
      // AssemblyScript, the language of the kernel, imports without a file extension.
      const path = normalize(join(dirname(file.path), specifier)).replace(/(?:\.js)?$/, '.ts')
      return { module: moduleOf(path), path, isTypeOnly }
    })
}

/** Every rule that a single file of src or workers breaks, as `file: rule`. */
export function findBreaches(file: SourceFile): string[] {
  const { path, text } = file
  const module = moduleOf(path)
  const allowed = mayImport[module]
  const breaches: string[] = []
  if (!allowed && !buildsAll.has(module)) {
    return [
      `${path}: ${module} is no module of the import table; add it to the table, or move the file into a module`,
    ]
  }
  const room = order[rankOf(module)]
  if (room !== undefined && !path.startsWith(`src/${room}/`))
    breaches.push(`${path}: ${module} stands in src/${room}`)
  for (const { module: target, path: imported, isTypeOnly } of findImportedFiles(file)) {
    if (target === module) continue
    const said = `${path}: ${module} imports ${target}`
    const entry = entryOf[target] ?? imported
    if (imported !== entry)
      breaches.push(`${path}: imports ${imported}, but ${target} is entered by ${entry}`)
    if (target === 'workers')
      breaches.push(`${said}, but src never imports from workers; it knows their URLs`)
    else if (target.startsWith('outside'))
      breaches.push(`${said}, but the program consists of src and workers alone`)
    else if (target === 'config' && !buildsAll.has(module) && !allowed?.includes('types:config')) {
      breaches.push(
        `${said}, but only main.ts, commands and process read the configuration; others get values`,
      )
    } else if (target === 'main' || target === 'commands') {
      if (!buildsAll.has(module) || module === 'process')
        breaches.push(`${said}, but nothing imports what builds everything`)
    } else if (allowed && target !== 'primitives' && !allowed.includes(target)) {
      const forTypes = allowed.includes(`types:${target}`)
      if (!forTypes || !isTypeOnly) {
        const rule = forTypes ? 'for types only' : `allowed: ${['primitives', ...allowed].join(', ')}`
        breaches.push(`${said}, ${rule}`)
      }
    }
  }
  const ethereum = findImports(text).find(({ specifier }) => specifier.startsWith('@ethereumjs/'))
  if (ethereum) {
    breaches.push(`${path}: imports ${ethereum.specifier}, but it is what tests compare the engine with`)
  }
  // `#` is the only privacy that also holds at run time. Its cost is not measurable.
  const privateMember =
    /(?:^|[(,])\s*private\s+(?!constructor\b)(?:(?:static|readonly|override|async|get|set)\s+)*\*?(\w+)/m
  // AssemblyScript, the language of the kernel, has no other form.
  const hidden = module === 'kernel' ? undefined : privateMember.exec(stripComments(text))?.[1]
  if (hidden !== undefined)
    breaches.push(`${path}: ${hidden} is private to the compiler alone; write #${hidden}`)
  // Pages run in browsers, which have their own timers.
  const isPage = path.startsWith('src/operation/admin/page/') || path === timersPath
  const timer = isPage ? undefined : /(?<![.\w])(set(?:Timeout|Interval))\(/.exec(stripComments(text))?.[1]
  const isContained = findImports(text).some(({ specifier }) =>
    /(?:\/|:)timers(?:\.js|\/promises)$/.test(specifier),
  )
  if (timer !== undefined && !isContained)
    breaches.push(`${path}: ${timer} is not that of ${timersPath}, which contains what a callback throws`)
  const spread = findSpreadCall(text)
  if (spread !== undefined) {
    breaches.push(
      `${path}: ${spread} takes the items of a list by a spread, which ends at some 120,000; use a loop, joinBytes or largest`,
    )
  }
  const lastWords = path.split('/').map(
    (part) =>
      part
        .replace(/\.ts$/, '')
        .split(/[-_.]|(?=[A-Z])/)
        .at(-1) ?? '',
  )
  const vague = lastWords.find((word) => vagueWord.test(word))
  if (vague !== undefined)
    breaches.push(`${path}: "${vague}" says nothing of what is inside; name it after its content`)
  return breaches
}

/** Modules without any file that begins with a header comment; their entry file should have one. */
export function findUnsignedModules(files: readonly SourceFile[]): string[] {
  const modules = new Map<string, boolean>()
  for (const file of files) {
    const module = moduleOf(file.path)
    const text = file.text.replace(/^#!.*\n/, '')
    // A comment directly on a declaration describes that declaration, not the module.
    const hasHeader = /^\/\*\*[\s\S]*?\*\/\n(?:\n|import\b)/.test(text)
    modules.set(module, (modules.get(module) ?? false) || hasHeader)
  }
  return [...modules]
    .filter(([, hasHeader]) => !hasHeader)
    .map(([module]) => `${module}: no file opens with a comment on what the module owns and what it does not`)
}

/** Circular imports, as `a → b → a`. */
function findCircles(targetsOf: ReadonlyMap<string, Iterable<string>>): string[] {
  const circles = new Set<string>()
  const done = new Set<string>()
  const walk = (name: string, trail: readonly string[]): void => {
    const start = trail.indexOf(name)
    if (start !== -1) circles.add([...trail.slice(start), name].join(' → '))
    if (start !== -1 || done.has(name)) return
    for (const next of targetsOf.get(name) ?? []) walk(next, [...trail, name])
    done.add(name)
  }
  for (const name of targetsOf.keys()) walk(name, [])
  return [...circles]
}

/** Circular imports of modules, including types. */
export function findModuleCircles(files: readonly SourceFile[]): string[] {
  const targetsOf = new Map<string, Set<string>>()
  for (const file of files) {
    const module = moduleOf(file.path)
    const targets = targetsOf.get(module) ?? new Set()
    for (const imported of findImportedFiles(file)) {
      if (imported.module !== module) targets.add(imported.module)
    }
    targetsOf.set(module, targets)
  }
  return findCircles(targetsOf)
}

/** Circular imports of files, including types. */
export function findFileCircles(files: readonly SourceFile[]): string[] {
  return findCircles(
    new Map(files.map((file) => [file.path, findImportedFiles(file).map(({ path }) => path)])),
  )
}

/** The TypeScript files below a folder of the package, in order; none if the folder does not exist. */
export function readFiles(folder: string): SourceFile[] {
  const root = packageRoot()
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}
