/**
 * Compiles AssemblyScript: `FOLDER/assembly/NAME.ts` of `src` to `FOLDER/NAME.wasm` of `dist/src`, beside the JavaScript
 * that loads it, and the module `src/execution/kernel` to `kernel.wasm`, with its trace code to `tracingKernel.wasm`, and
 * its Keccak alone to `hasher.wasm`. Unpacks `mcl.wasm` of the package mcl-wasm. What was compiled from the same sources
 * is not compiled again.
 *
 * Each core has a thread that compiles one module after the other, so that the compiler, 13 MB of JavaScript and
 * WebAssembly, is loaded once a thread.
 */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

const root = join(import.meta.dirname, '../..')
const compiler = join(root, 'node_modules/assemblyscript')

/**
 * Without garbage collector and runtime, because memory is laid out by hand. `abort=` removes the import for error
 * messages of traps.
 */
const flags = ['-O3', '--runtime', 'stub', '--noAssert', '--use', 'abort=']

interface Module {
  readonly entry: string
  /** Source files, the entry included. */
  readonly sources: readonly string[]
  readonly target: string
  readonly flags: readonly string[]
}

/** Data that the compiler places is below the kernel's fixed memory map (src/execution/kernel/layout.ts). */
const mapFlags = ['--memoryBase', '64']
/** That map needs 34 MB. */
const kernelFlags = ['--enable', 'simd', '--initialMemory', '560', ...mapFlags]
const hasherFlags = ['--initialMemory', '2', ...mapFlags]

/** Those that take longest first. */
function findModules(): Module[] {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(root, 'src', path))
  const kernel = files.filter((path) => path.split(sep).at(-2) === 'kernel')
  const modules = files
    .filter((path) => path.split(sep).at(-2) === 'assembly')
    .map((entry) => {
      const folder = join(root, 'dist', relative(root, dirname(dirname(entry))))
      return { entry, sources: [entry], target: join(folder, `${basename(entry, '.ts')}.wasm`), flags: [] }
    })
  const kernels = [
    ['tracingKernel', 'index', [...kernelFlags, '--use', 'TRACING=1']],
    ['kernel', 'index', [...kernelFlags, '--use', 'TRACING=0']],
    ['hasher', 'hasher', hasherFlags],
  ] as const
  return [
    ...kernels.map(([name, entry, flags]) => ({
      entry: join(root, `src/execution/kernel/${entry}.ts`),
      sources: kernel,
      target: join(root, `dist/src/execution/kernel/${name}.wasm`),
      flags,
    })),
    ...modules,
  ]
}

/** Names everything that a module is made from. */
function digestOf({ sources, flags }: Module): string {
  const hash = createHash('sha256').update(JSON.stringify(flags))
  for (const path of [...sources, import.meta.filename, join(compiler, 'package.json')]) {
    hash.update(readFileSync(path)).update('\0')
  }
  return hash.digest('hex')
}

/** Where the digest stands that a module was last compiled with. */
function digestPath({ target }: Module): string {
  return join(root, 'dist/build', `${basename(target)}.digest`)
}

function isCompiled(module: Module): boolean {
  const path = digestPath(module)
  return existsSync(module.target) && existsSync(path) && readFileSync(path, 'utf8') === digestOf(module)
}

/** Its module: like its command line; `error` is there where that would fail. Its own types change what is global. */
interface Compiler {
  main(
    words: readonly string[],
    streams: Record<'stdout' | 'stderr', NodeJS.WritableStream>,
  ): Promise<{ error: unknown }>
}

async function compile({ main }: Compiler, module: Module): Promise<void> {
  const { entry, target, flags: own } = module
  mkdirSync(dirname(target), { recursive: true })
  // Written under another name first, so that the rest of an interrupted build is not taken for a module.
  const unfinished = `${target}.${process.pid}`
  const words = [entry, '--outFile', unfinished, ...flags, ...own].map((word) =>
    // Paths of the compiler are relative to the folder that it runs in.
    word.startsWith(root) ? relative(process.cwd(), word) : word,
  )
  const { error } = await main(words, { stdout: process.stderr, stderr: process.stderr })
  if (error) throw error
  renameSync(unfinished, target)
  mkdirSync(dirname(digestPath(module)), { recursive: true })
  writeFileSync(digestPath(module), digestOf(module))
}

/** Compiles modules on threads, each the next one when it is done with one. */
async function compileOnThreads(modules: Module[]): Promise<void> {
  if (!existsSync(compiler))
    throw new Error('assemblyscript is not installed, which compiles WebAssembly; run npm ci')
  // The optimizer is WebAssembly of 10 MB: to optimize it takes more time than it gains (kernel: 9 s and 4 s of CPU).
  setFlagsFromString('--liftoff-only')
  const threads = Math.min(modules.length, availableParallelism())
  const runs = Array.from({ length: threads }, () => {
    const worker = new Worker(import.meta.filename)
    return new Promise<void>((resolve, reject) => {
      const next = () => worker.postMessage(modules.shift())
      worker.on('message', next)
      worker.on('error', reject)
      worker.on('exit', () => resolve())
      next()
    })
  })
  await Promise.all(runs)
}

/** On a thread: compiles what it is sent until there is nothing. */
async function compileWhatComes(port: NonNullable<typeof parentPort>): Promise<void> {
  const asc: Compiler = await import(pathToFileURL(join(compiler, 'dist/asc.js')).href)
  port.on('message', async (module: Module | undefined) => {
    if (module === undefined) return port.close()
    await compile(asc, module)
    port.postMessage('done')
  })
}

/** The package has its binary within a script, which instantiates it by a promise; blocks are executed without any. */
function unpackMcl(): void {
  const script = join(root, 'node_modules/mcl-wasm/dist/mcl_c.js')
  const license = join(root, 'src/execution/evm/precompiles/mcl.LICENSE')
  const folder = join(root, 'dist/src/execution/evm/precompiles')
  const target = join(folder, 'mcl.wasm')
  mkdirSync(folder, { recursive: true })
  copyFileSync(license, join(folder, 'mcl.LICENSE'))
  const changedMs = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (changedMs(target) > Math.max(changedMs(script), changedMs(import.meta.filename))) return
  const [, text] = /'([A-Za-z0-9+/=]{100000,})'/.exec(readFileSync(script, 'utf8')) ?? []
  if (text === undefined) throw new Error(`${script} has no binary`)
  const unfinished = `${target}.${process.pid}`
  writeFileSync(unfinished, Buffer.from(text, 'base64'))
  renameSync(unfinished, target)
}

if (!isMainThread && parentPort !== null) await compileWhatComes(parentPort)
else {
  const stale = findModules().filter((module) => !isCompiled(module))
  if (stale.length > 0) await compileOnThreads(stale)
  unpackMcl()
}
