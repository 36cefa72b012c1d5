/**
 * `node build/whenChanged.cjs program|product|all COMMAND…`: runs a command that makes the program, or what is packed, or
 * that and its tests and benchmarks, unless that succeeded before and nothing of it has changed since. What changed is told by path, size and
 * time of every source, so that a file that was deleted, or replaced by an older one, counts too; the digest of these
 * is kept in dist/. JavaScript, because it runs before anything is compiled.
 */
const { spawnSync } = require('node:child_process')
const { createHash } = require('node:crypto')
const { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

const root = join(__dirname, '..')
const dist = join(root, 'dist')
const productFolders = ['src', 'workers', 'build']
/** Each has what those before it have. */
const folders = {
  program: productFolders,
  product: productFolders,
  all: [...productFolders, 'bench', 'test', 'data/devnet'],
}
/** The lock file stands for the compilers and types that are installed. */
const files = ['package.json', 'package-lock.json', 'tsconfig.json']
const source = /\.(?:[cm]?[jt]s|json|html|css|svg)$/

const stampOf = (target) => join(dist, `.compiled-${target}`)

function digestSources(target) {
  const below = folders[target].flatMap((folder) => {
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

function readStamp(target) {
  try {
    return readFileSync(stampOf(target), 'utf8')
  } catch {
    return undefined
  }
}

const [target, ...command] = process.argv.slice(2)
// Before the command runs, so that what is changed meanwhile is compiled the next time.
const digest = digestSources(target)
if (readStamp(target) !== digest) {
  const names = Object.keys(folders)
  const made = names.slice(0, names.indexOf(target) + 1)
  // All write to dist/src. The compiler's own record is of what it wrote for `all`.
  const stale = [...names.map(stampOf), ...(target === 'product' ? [join(dist, '.tsbuildinfo')] : [])]
  for (const path of stale) rmSync(path, { force: true })
  const digests = made.map(digestSources)
  // To the error output: what the program itself prints may be read by another.
  console.error('Building, once after each change …')
  const begun = Date.now()
  const { status } = spawnSync(command.join(' '), { cwd: root, shell: true, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  mkdirSync(dist, { recursive: true })
  for (const [at, name] of made.entries()) writeFileSync(stampOf(name), digests[at])
  console.error(`Built in ${Math.round((Date.now() - begun) / 1000)} s.`)
}
