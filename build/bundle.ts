/**
 * Joins the program's modules into few files, because to find, read and link some 700 of them takes two fifths of
 * a start, and each thread does it again: `dist/src/main.js` and `dist/workers`, which replace what tsc wrote there, and
 * what these share in `dist/chunks`. Packages of many small files are joined too; their licences stand beside them.
 * A step of the build, where tsc runs after it.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'

const root = join(import.meta.dirname, '../..')
/** By their licences. All other packages stay what they are: they have binaries, threads or data of their own. */
const joined: Readonly<Record<string, string>> = { zod: 'LICENSE' }
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Modules find what lies beside them by their own address: it stays that of the file that tsc wrote. */
const addresses: Plugin = {
  name: 'addresses',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      // All files that are written lie one folder below dist.
      const address = JSON.stringify(`../${relative(root, path).replace(/ts$/, 'js')}`)
      const contents = text.replaceAll('import.meta.url', `new URL(${address}, import.meta.url).href`)
      return { contents, loader: 'ts' }
    })
  },
}

/** Entries of threads with modules of their own; those of the pool's threads share theirs, and the main thread has its own. */
const alone = ['edge', 'ingest', 'recover', 'runParts']
const entries = readdirSync(join(root, 'workers')).map((name) => `workers/${name}`)
const isAlone = (entry: string) => alone.includes(basename(entry, '.ts'))
// What threads of different kinds share is written for each: in one set of files, each would load four times as many.
const sets = [
  ['src/main.ts'],
  ...entries.filter(isAlone).map((entry) => [entry]),
  entries.filter((entry) => !isAlone(entry)),
]

const builds = await Promise.all(
  sets.map((entryPoints) =>
    build({
      absWorkingDir: root,
      entryPoints,
      outdir: 'dist',
      outbase: '.',
      chunkNames: 'chunks/[name]-[hash]',
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      // Of modules, what is not used is left out.
      mainFields: ['module', 'main'],
      external: Object.keys(dependencies).filter((name) => !(name in joined)),
      plugins: [addresses],
      sourcemap: true,
      write: false,
      logLevel: 'warning',
    }),
  ),
)
const outputFiles = builds.flatMap((each) => each.outputFiles)
const chunks = join(root, 'dist/chunks')
mkdirSync(chunks, { recursive: true })
const names = new Set(outputFiles.map(({ path }) => basename(path)))
for (const name of readdirSync(chunks)) if (!names.has(name)) rmSync(join(chunks, name))
// What is as it was keeps its time, by which tests tell whether the program changed.
for (const { path, contents } of outputFiles) {
  mkdirSync(dirname(path), { recursive: true })
  if (!existsSync(path) || !readFileSync(path).equals(contents)) writeFileSync(path, contents)
}
for (const [name, licence] of Object.entries(joined)) {
  copyFileSync(join(root, 'node_modules', name, licence), join(chunks, `${name}.LICENSE`))
}
