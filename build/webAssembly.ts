/**
 * Compiles `src/ROOM/assembly/NAME.ts`, which is AssemblyScript, to `dist/src/ROOM/NAME.wasm`, beside the JavaScript
 * that loads it. The last step of `npm run build`, after tsc; what is newer than its source and this file stays.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'

const root = join(import.meta.dirname, '../..')
const compiler = join(root, 'node_modules/assemblyscript/bin/asc.js')

/** No collector and no runtime: memory is laid out by hand. A trap needs no words of the host. */
const flags = ['-O3', '--runtime', 'stub', '--noAssert', '--use', 'abort=']

function changedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.split(sep).at(-2) === 'assembly' && path.endsWith('.ts'))
  .map((path) => join(root, 'src', path))
for (const source of sources) {
  const folder = join(root, 'dist', relative(root, dirname(dirname(source))))
  const target = join(folder, `${basename(source, '.ts')}.wasm`)
  if (changedMs(target) > Math.max(changedMs(source), changedMs(import.meta.filename))) continue
  if (!existsSync(compiler)) {
    console.error('assemblyscript is not installed, which compiles WebAssembly; run npm ci')
    process.exit(1)
  }
  mkdirSync(folder, { recursive: true })
  // What a build that was ended leaves behind is not taken for a module.
  const unfinished = `${target}.${process.pid}`
  execFileSync(process.execPath, [compiler, source, '--outFile', unfinished, ...flags], { stdio: 'inherit' })
  renameSync(unfinished, target)
}
