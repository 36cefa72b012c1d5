/**
 * `node build/build.mjs program|package|all`: builds into `dist`, if a source changed.
 *
 * - `program`: the program, in few files, with its WebAssembly and the dashboard. `npm start`, the tests, the package and
 *   the container run these same files.
 * - `package`: the program and the types of `tidegate/verify`.
 * - `all`: the program, and all modules, tests and benchmarks one by one in `dist/modules`, for the tests. Packages
 *   that only tests use are installed the first time.
 *
 * Types are checked by `npm run check`, not here. JavaScript, because it runs before anything is compiled.
 */
import '../src/requireNode.cjs'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { aloneFiles, poolFiles } from '../src/primitives/startedFiles.js'
import { installTestPackages } from './testPackages.mjs'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Sources of each target. The lock file represents the installed compilers and packages. */
const programSources = ['src', 'workers', 'build', 'package.json', 'package-lock.json']
const moduleSources = [...programSources, 'bench', 'test', 'data/devnet']
const isSource = (path) => /\.(?:[cm]?[jt]s|json|html|css|svg)$/.test(path)
/** Files for other compilers, or of other packages. */
const noModule =
  /^src\/(?:.*\/assembly|execution\/kernel|operation\/admin\/page)\/|^test\/clients\/(?:hardhat3?|forge)\//

/** All source files below a path of the repository, by their paths there. */
function sourcesBelow(path) {
  if (statSync(join(root, path)).isFile()) return [path]
  return readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
    .map((name) => `${path}/${name.replaceAll('\\', '/')}`)
    .filter(isSource)
    .sort()
}

/**
 * Digest of path, size and time of each file: a deleted file, or one replaced by an older one, counts as a change, too.
 */
function digestOf(paths) {
  const lines = paths.flatMap(sourcesBelow).map((path) => {
    const { size, mtimeMs } = statSync(join(root, path))
    return `${path} ${size} ${mtimeMs}`
  })
  return createHash('sha256').update(lines.join('\n')).digest('hex')
}

/** Writes files. Unchanged ones keep their times, by which tests detect a changed program. */
function write(outputs) {
  for (const { path, contents } of outputs) {
    if (existsSync(path) && readFileSync(path).equals(contents)) continue
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, contents)
  }
}

/** Removes files below a folder that were not written now. */
function removeOthers(folder, outputs) {
  const written = new Set(outputs.map(({ path }) => path))
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name)
    if (!written.has(path) && statSync(path).isFile()) rmSync(path)
  }
}

const common = { absWorkingDir: root, format: 'esm', write: false, logLevel: 'warning', outbase: '.' }
const forNode = { platform: 'node', target: 'node20', sourcemap: true }

/**
 * The program in few files: finding, reading and linking its 700 modules takes two fifths of a start, again in each
 * thread. Code shared by threads of different kinds is written for each kind: with one set of files, each thread would
 * load four times as many.
 */
async function bundleProgram({ build }) {
  const sets = [...Object.values(aloneFiles).map((path) => [path]), Object.values(poolFiles)]
  const options = {
    ...common,
    ...forNode,
    bundle: true,
    splitting: true,
    outdir: 'dist',
    chunkNames: 'chunks/[name]-[hash]',
    mainFields: ['module', 'main'],
    // Packages with binaries, threads or data of their own stay separate; those that only the build installs are
    // bundled.
    external: Object.keys(manifest.dependencies),
    metafile: true,
  }
  const results = await Promise.all(
    sets.map((paths) => build({ ...options, entryPoints: paths.map((path) => `${path}.ts`) })),
  )
  const outputs = results.flatMap(({ outputFiles }) => outputFiles)
  outputs.push(...licencesOf(results.flatMap(({ metafile }) => Object.keys(metafile.inputs))))
  write(outputs)
  removeOthers(join(dist, 'chunks'), outputs)
}

/** The licences of packages whose code is in the bundle; they are placed beside it. */
function licencesOf(inputs) {
  const names = inputs.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  return [...new Set(names)].map((name) => ({
    path: join(dist, 'chunks', `${name.replace('/', '-')}.LICENSE`),
    contents: readFileSync(join(root, 'node_modules', name, 'LICENSE')),
  }))
}

/** Bundles the modules that clients import from the package. They run on any JavaScript runtime. */
async function bundleForClients({ build }) {
  const { outputFiles } = await build({
    ...common,
    entryPoints: ['src/verify/verify.ts', 'src/data/ssz/verifyHeaderProof.ts'],
    outdir: 'dist',
    bundle: true,
    platform: 'neutral',
    target: 'es2022',
    packages: 'external',
  })
  write(outputFiles)
}

async function bundlePage({ build }) {
  const folder = 'src/operation/admin/page'
  const names = ['dashboard.ts', 'dashboard.css', 'index.html', 'icon.svg']
  const { outputFiles } = await build({
    ...common,
    entryPoints: [
      ...names.map((name) => ({ in: `${folder}/${name}`, out: basename(name).replace(/\.\w+$/, '') })),
      { in: 'node_modules/uplot/LICENSE', out: 'uplot.LICENSE' },
    ],
    outdir: `dist/${folder}`,
    bundle: true,
    minify: true,
    target: 'es2023',
    loader: { '.html': 'copy', '.svg': 'copy', '': 'copy' },
  })
  write(outputFiles)
}

/** Every module by itself, because tests import single modules. */
async function transpileModules({ build }) {
  const entryPoints = ['src', 'workers', 'build', 'bench', 'test', 'data/devnet']
    .flatMap(sourcesBelow)
    .filter((path) => /\.(?:ts|js|cjs)$/.test(path) && !noModule.test(path))
  const { outputFiles } = await build({
    ...common,
    ...forNode,
    sourcesContent: false,
    entryPoints,
    outdir: 'dist/modules',
    loader: { '.cjs': 'copy' },
  })
  write(outputFiles)
  removeOthers(join(dist, 'modules'), outputFiles)
}

/**
 * Runs steps at the same time, and reports the time of each: not on standard output, which another program may read.
 */
async function run(steps) {
  await Promise.all(
    Object.entries(steps).map(async ([name, step]) => {
      const begunMs = Date.now()
      await step()
      console.error(`  ${name}: ${((Date.now() - begunMs) / 1_000).toFixed(1)} s`)
    }),
  )
}

/** Runs steps unless they succeeded before and none of their sources changed since. */
async function whenChanged(name, sources, steps) {
  const stamp = join(dist, `.built-${name}`)
  // Taken before the steps run: files that change meanwhile are built the next time.
  const digest = digestOf(sources)
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return
  rmSync(stamp, { force: true })
  console.error(`Building the ${name}, once after each change …`)
  await run(steps(await import('esbuild')))
  writeFileSync(stamp, digest)
}

const buildProgram = () =>
  whenChanged('program', programSources, (esbuild) => ({
    'the EVM as WebAssembly': async () => (await import('./webAssembly.mjs')).buildWebAssembly(),
    'the program in few files': () => bundleProgram(esbuild),
    'what clients import': () => bundleForClients(esbuild),
    'the dashboard': () => bundlePage(esbuild),
  }))

const targets = {
  program: buildProgram,
  async package() {
    await buildProgram()
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', 'src/verify'], { cwd: root, stdio: 'inherit' })
  },
  async all() {
    installTestPackages()
    await buildProgram()
    await whenChanged('modules', moduleSources, (esbuild) => ({
      'modules, tests and benchmarks': () => transpileModules(esbuild),
    }))
  },
}

const target = targets[process.argv[2]]
if (target === undefined) throw new Error(`name what to build: ${Object.keys(targets).join(', ')}`)
mkdirSync(dist, { recursive: true })
await target()
