/**
 * Compiles AssemblyScript: `FOLDER/assembly/NAME.ts` of `src` to `FOLDER/NAME.wasm` of `dist/src`. Compiles the module
 * `src/execution/kernel` to `kernel.wasm`, with its trace code to `tracingKernel.wasm`, and its Keccak alone to
 * `hasher.wasm`. Unpacks `mcl.wasm` of the package mcl-wasm. A module whose sources did not change is not compiled
 * again.
 */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

const root = join(import.meta.dirname, '..')
const compiler = join(root, 'node_modules/assemblyscript')

/**
 * Without garbage collector and runtime, because the sources lay out memory by hand. `abort=` removes the import for
 * error messages of traps.
 */
const flags = ['-O3', '--runtime', 'stub', '--noAssert', '--use', 'abort=']

/** Data that the compiler places is below the kernel's fixed memory map (src/execution/kernel/layout.ts). */
const mapFlags = ['--memoryBase', '64']
/** 560 pages of 64 KiB: the memory map needs 34 MB. */
const kernelFlags = ['--enable', 'simd', '--initialMemory', '560', ...mapFlags]
const hasherFlags = ['--initialMemory', '2', ...mapFlags]

/**
 * @typedef {{ entry: string, sources: string[], target: string, flags: string[] }} Module `sources` has the entry, too
 */

/** Slowest compilations first. @returns {Module[]} */
function findModules() {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(root, 'src', path))
  const folderOf = (path) => path.split(sep).at(-2)
  const kernel = files.filter((path) => folderOf(path) === 'kernel')
  const kernelModule = (name, entry, flags) => ({
    entry: join(root, `src/execution/kernel/${entry}.ts`),
    sources: kernel,
    target: join(root, `dist/src/execution/kernel/${name}.wasm`),
    flags,
  })
  return [
    kernelModule('tracingKernel', 'index', [...kernelFlags, '--use', 'TRACING=1']),
    kernelModule('kernel', 'index', [...kernelFlags, '--use', 'TRACING=0']),
    kernelModule('hasher', 'hasher', hasherFlags),
    ...files
      .filter((path) => folderOf(path) === 'assembly')
      .map((entry) => {
        const folder = join(root, 'dist', relative(root, dirname(dirname(entry))))
        return { entry, sources: [entry], target: join(folder, `${basename(entry, '.ts')}.wasm`), flags: [] }
      }),
  ]
}

/** Identifies all inputs of a module. @param {Module} module */
function digestOf({ sources, flags }) {
  const hash = createHash('sha256').update(JSON.stringify(flags))
  for (const path of [...sources, import.meta.filename, join(compiler, 'package.json')]) {
    hash.update(readFileSync(path)).update('\0')
  }
  return hash.digest('hex')
}

/** File with the digest of a module's last compilation. @param {Module} module */
function digestPath({ target }) {
  return join(root, 'dist/build', `${basename(target)}.digest`)
}

/** @param {Module} module */
function isCompiled(module) {
  const path = digestPath(module)
  return existsSync(module.target) && existsSync(path) && readFileSync(path, 'utf8') === digestOf(module)
}

/** Writes a file under another name first, so that an interrupted build leaves no partial file. */
function writeWhole(path, bytes) {
  writeFileSync(`${path}.new`, bytes)
  renameSync(`${path}.new`, path)
}

/** @param {Module} module */
async function compile(asc, module) {
  const { entry, target, flags: own } = module
  mkdirSync(dirname(target), { recursive: true })
  const unfinished = `${target}.new`
  const words = [entry, '--outFile', unfinished, ...flags, ...own].map((word) =>
    // Paths of the compiler are relative to the folder that it runs in.
    word.startsWith(root) ? relative(process.cwd(), word) : word,
  )
  const { error } = await asc.main(words, { stdout: process.stderr, stderr: process.stderr })
  if (error) throw error
  renameSync(unfinished, target)
  mkdirSync(dirname(digestPath(module)), { recursive: true })
  writeWhole(digestPath(module), digestOf(module))
}

/** Compiles modules on threads; each takes the next one when it is done, so it loads the compiler, 13 MB, only once. */
async function compileOnThreads(modules) {
  if (!existsSync(compiler)) {
    throw new Error('assemblyscript is not installed, which compiles WebAssembly; run npm ci')
  }
  // The optimizer is WebAssembly of 10 MB: optimizing it takes more time than it gains (kernel: 9 s and 4 s of CPU).
  setFlagsFromString('--liftoff-only')
  const threads = Math.min(modules.length, availableParallelism())
  const runs = Array.from({ length: threads }, () => {
    const worker = new Worker(new URL(import.meta.url))
    return new Promise((resolve, reject) => {
      const next = () => worker.postMessage(modules.shift())
      worker.on('message', next)
      worker.on('error', reject)
      worker.on('exit', () => resolve(undefined))
      next()
    })
  })
  await Promise.all(runs)
}

/** A thread compiles each module that it receives, and ends at `undefined`. */
async function compileWhatComes(port) {
  const asc = await import(pathToFileURL(join(compiler, 'dist/asc.js')).href)
  port.on('message', async (module) => {
    if (module === undefined) return port.close()
    await compile(asc, module)
    port.postMessage('done')
  })
}

/**
 * The package has its binary within a script that instantiates it asynchronously; blocks are executed synchronously.
 */
function unpackMcl() {
  const script = readFileSync(join(root, 'node_modules/mcl-wasm/dist/mcl_c.js'), 'utf8')
  const folder = join(root, 'dist/src/execution/evm/precompiles')
  const [, text] = /'([A-Za-z0-9+/=]{100000,})'/.exec(script) ?? []
  if (text === undefined) throw new Error('mcl-wasm/dist/mcl_c.js has no binary')
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(root, 'src/execution/evm/precompiles/mcl.LICENSE'), join(folder, 'mcl.LICENSE'))
  writeWhole(join(folder, 'mcl.wasm'), Buffer.from(text, 'base64'))
}

/** Makes every WebAssembly module of the program. */
export async function buildWebAssembly() {
  const stale = findModules().filter((module) => !isCompiled(module))
  if (stale.length > 0) await compileOnThreads(stale)
  unpackMcl()
}

if (!isMainThread && parentPort !== null) await compileWhatComes(parentPort)
