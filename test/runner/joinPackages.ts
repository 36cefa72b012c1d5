/**
 * Joins packages that many tests load, and that are hundreds of small files, into few: to find, read and link them takes
 * four fifths of their load, in each process of a test. What is joined lies in `dist/node_modules`, where Node.js looks
 * for packages first. A path of a package that is not named here is not found there, which its error says.
 */
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { packageRoot } from '../../src/primitives/packageRoot.js'

/** Packages → paths of them that tests and benchmarks import. They are joined at once: what they share stays one. */
const joined: Readonly<Record<string, readonly string[]>> = {
  ethers: ['.'],
  viem: ['.', './accounts', './chains', './op-stack'],
  '@ethereumjs/block': ['.'],
  '@ethereumjs/common': ['.'],
  '@ethereumjs/evm': ['.'],
  '@ethereumjs/mpt': ['.'],
  '@ethereumjs/rlp': ['.'],
  '@ethereumjs/statemanager': ['.'],
  '@ethereumjs/tx': ['.'],
  '@ethereumjs/util': ['.'],
  '@ethereumjs/vm': ['.'],
}

const root = packageRoot()
const folder = join(root, 'dist/node_modules')
/** Written last. */
const done = join(folder, 'joined.json')

const fileOf = (path: string) => (path === '.' ? 'index.js' : `${path.slice(2)}.js`)

/** Does so where the packages, or this file, are newer than what is there. */
export async function joinPackages(): Promise<void> {
  const madeMs = statSync(done, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = [import.meta.filename, join(root, 'package-lock.json')]
  if (sources.every((source) => statSync(source).mtimeMs < madeMs)) return
  rmSync(folder, { recursive: true, force: true })
  const entryPoints = Object.entries(joined).flatMap(([name, paths]) =>
    paths.map((path) => ({ in: join(name, path), out: join(name, fileOf(path).replace(/\.js$/, '')) })),
  )
  await build({
    absWorkingDir: root,
    entryPoints,
    outdir: folder,
    chunkNames: 'chunks/[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    mainFields: ['module', 'main'],
    // What is CommonJS within asks for modules of Node.js.
    banner: {
      js: "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)",
    },
    logLevel: 'warning',
  })
  mkdirSync(join(folder, 'chunks'), { recursive: true })
  const writePackage = (at: string, content: object) =>
    writeFileSync(join(folder, at, 'package.json'), JSON.stringify({ type: 'module', ...content }))
  writePackage('chunks', {})
  for (const [name, paths] of Object.entries(joined)) {
    writePackage(name, {
      name,
      exports: Object.fromEntries(paths.map((path) => [path, `./${fileOf(path)}`])),
    })
  }
  writeFileSync(done, JSON.stringify(joined))
}
