/**
 * Bundles packages that many tests load, and that consist of hundreds of small files, into few files. Finding, reading
 * and linking small files takes four fifths of the load time, in each test process. The bundles are in
 * `dist/node_modules`, where Node.js looks for packages first. A package path that is not listed here cannot be
 * imported; the error says so.
 */
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { packageRoot } from '../../src/primitives/packageRoot.js'

/**
 * Packages → their paths that tests and benchmarks import. They are bundled together, so that shared code exists once.
 */
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

/** Bundles again if the packages, or this file, are newer than the bundles. */
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
    // Bundled CommonJS code requires modules of Node.js.
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
