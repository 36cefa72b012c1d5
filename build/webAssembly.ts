/**
 * Compiles AssemblyScript: `FOLDER/assembly/NAME.ts` of `src` to `FOLDER/NAME.wasm` of `dist/src`, beside the JavaScript
 * that loads it, and the module `src/execution/kernel` to `kernel.wasm`, with its trace code to `tracingKernel.wasm`, and
 * its Keccak alone to `hasher.wasm`. Unpacks `mcl.wasm` of the package mcl-wasm. The last step of `npm run product`, after
 * tsc; a module that is newer than its sources and this file is not compiled again.
 */
import { execFile } from 'node:child_process'
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
import { basename, dirname, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')
const compiler = join(root, 'node_modules/assemblyscript/bin/asc.js')

/**
 * Without garbage collector and runtime, because memory is laid out by hand. `abort=` removes the import for error
 * messages of traps.
 */
const flags = ['-O3', '--runtime', 'stub', '--noAssert', '--use', 'abort=']

function changedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

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
    ['kernel', 'index', [...kernelFlags, '--use', 'TRACING=0']],
    ['tracingKernel', 'index', [...kernelFlags, '--use', 'TRACING=1']],
    ['hasher', 'hasher', hasherFlags],
  ] as const
  return [
    ...modules,
    ...kernels.map(([name, entry, flags]) => ({
      entry: join(root, `src/execution/kernel/${entry}.ts`),
      sources: kernel,
      target: join(root, `dist/src/execution/kernel/${name}.wasm`),
      flags,
    })),
  ]
}

async function compile({ entry, sources, target, flags: own }: Module): Promise<void> {
  if (changedMs(target) > Math.max(...[...sources, import.meta.filename].map(changedMs))) return
  if (!existsSync(compiler)) {
    console.error('assemblyscript is not installed, which compiles WebAssembly; run npm ci')
    process.exit(1)
  }
  mkdirSync(dirname(target), { recursive: true })
  // Written under another name first, so that the rest of an interrupted build is not taken for a module.
  const unfinished = `${target}.${process.pid}`
  const words = [compiler, entry, '--outFile', unfinished, ...flags, ...own]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, words)
  process.stderr.write(stdout + stderr)
  renameSync(unfinished, target)
}

/** The package has its binary within a script, which instantiates it by a promise; blocks are executed without any. */
function unpackMcl(): void {
  const script = join(root, 'node_modules/mcl-wasm/dist/mcl_c.js')
  const license = join(root, 'src/execution/evm/precompiles/mcl.LICENSE')
  const folder = join(root, 'dist/src/execution/evm/precompiles')
  const target = join(folder, 'mcl.wasm')
  copyFileSync(license, join(folder, 'mcl.LICENSE'))
  if (changedMs(target) > Math.max(changedMs(script), changedMs(import.meta.filename))) return
  const [, text] = /'([A-Za-z0-9+/=]{100000,})'/.exec(readFileSync(script, 'utf8')) ?? []
  if (text === undefined) throw new Error(`${script} has no binary`)
  const unfinished = `${target}.${process.pid}`
  writeFileSync(unfinished, Buffer.from(text, 'base64'))
  renameSync(unfinished, target)
}

// Few, and on one thread each.
await Promise.all(findModules().map(compile))
unpackMcl()
