/**
 * `node build/whenChanged.cjs COMMAND…`: runs a command, unless it succeeded before and nothing that it compiles has
 * changed since. What changed is told by path, size and time of every source, so that a file that was deleted, or
 * replaced by an older one, counts too; the digest of these is kept in dist/.compiled. JavaScript, because it runs
 * before anything is compiled.
 */
const { spawnSync } = require('node:child_process')
const { createHash } = require('node:crypto')
const { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

const root = join(__dirname, '..')
const stamp = join(root, 'dist/.compiled')
const folders = ['src', 'workers', 'bench', 'build', 'test', 'data/devnet']
/** The lock file stands for the compilers and types that are installed. */
const files = ['package.json', 'package-lock.json', 'tsconfig.json']
const source = /\.(?:[cm]?[jt]s|json|html|css|svg)$/

function digestSources() {
  const below = folders.flatMap((folder) => {
    const path = join(root, folder)
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => source.test(name))
      .map((name) => join(folder, name))
  })
  const lines = [...below.sort(), ...files].map((path) => {
    const { size, mtimeMs } = statSync(join(root, path))
    return `${path} ${size} ${mtimeMs}`
  })
  return createHash('sha256').update(lines.join('\n')).digest('hex')
}

function readStamp() {
  try {
    return readFileSync(stamp, 'utf8')
  } catch {
    return undefined
  }
}

// Before the command runs, so that what is changed meanwhile is compiled the next time.
const digest = digestSources()
if (readStamp() !== digest) {
  rmSync(stamp, { force: true })
  // To the error output: what the program itself prints may be read by another.
  console.error('Building, once after each change: TypeScript, the EVM as WebAssembly, the dashboard …')
  const begun = Date.now()
  const { status } = spawnSync(process.argv.slice(2).join(' '), { cwd: root, shell: true, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(stamp, digest)
  console.error(`Built in ${Math.round((Date.now() - begun) / 1000)} s.`)
}
