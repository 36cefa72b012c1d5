/**
 * `node build/steps.cjs TARGET`: what is made for a target, in steps, each of which says how long it took. `program` is
 * what runs, without checks of types; `product` what is packed; `all` has tests and benchmarks, and checks all types;
 * `other` is `all` after its compiler. JavaScript, because it runs before anything is compiled.
 */
const { spawn } = require('node:child_process')
const { mkdirSync } = require('node:fs')
const { join } = require('node:path')

const root = join(__dirname, '..')
const bin = (name) => join('node_modules/.bin', name)
const tsc = (...words) => `${bin('tsc')} ${words.join(' ')}`

/** Written by the compiler for other targets; here without it, in a tenth of a second. */
const tools = `${bin('esbuild')} build/webAssembly.ts build/bundle.ts --outdir=dist/build --format=esm --log-level=warning`
const files = {
  'the EVM as WebAssembly': 'node dist/build/webAssembly.js',
  'the program in few files': 'node dist/build/bundle.js',
  'the dashboard': 'npm run -s page',
}
const verify = { 'tidegate/verify for clients': tsc('-p src/verify') }
const page = { 'types of the dashboard': tsc('-p src/operation/admin/page --noEmit') }

/** Stages; the steps of one run at the same time, by what they make. The bundle replaces files of the compiler. */
const targets = {
  program: [{ 'tools of the build': tools }, files],
  product: [{ modules: tsc('-p build --noCheck'), ...verify }, files],
  all: [{ 'modules and their types': tsc() }, { ...verify, ...page }, files],
  other: [{ ...verify, ...page }, files],
}

function run([name, command]) {
  const begunMs = Date.now()
  return new Promise((resolve, reject) => {
    // What is not for this program's own output, which another may read.
    const child = spawn(command, { cwd: root, shell: true, stdio: ['ignore', 2, 2] })
    child.on('error', reject)
    child.on('close', (status) => {
      if (status !== 0) return reject(Object.assign(new Error(`${name}: ${command}`), { status }))
      console.error(`  ${name}: ${((Date.now() - begunMs) / 1_000).toFixed(1)} s`)
      resolve()
    })
  })
}

async function main() {
  mkdirSync(join(root, 'dist/build'), { recursive: true })
  for (const stage of targets[process.argv[2]]) await Promise.all(Object.entries(stage).map(run))
}

main().catch((error) => {
  console.error(`failed: ${error.message}`)
  process.exit(error.status || 1)
})
