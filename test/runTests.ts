/**
 * Runs test files: those given, and all below the folders given, {@link jobs} at a time. Writes TAP.
 *
 * Each file is a process of its own, as under tap's command line, but a plain one: that command line has every import
 * of every test, and of every worker thread of a test, pass through its loaders, for coverage and mocks that are not
 * wanted here. That takes longer than most tests. Short files share processes (`runner/manyFiles.ts`).
 *
 * Of a folder, unit tests and files that take long are left out while no change touches what they are about
 * (`runner/touchedTests.ts`).
 *
 * It also fails where a test checks nothing, or is skipped without a reason, and names at the end what was skipped
 * (`testFindings.ts`).
 *
 * First it builds tap's library for the plugins of `.taprc` where that has not been done: a fresh install holds a
 * build with the TypeScript plugin, which does not load beside this project's compiler.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, relative } from 'node:path'
import { TestFindings } from './runner/testFindings.js'
import { changedPaths, isUntouched } from './runner/touchedTests.js'

/**
 * The longest that one file may take, and any test in it: far more than any does on a slow machine that does much else.
 * What waits for something that does not come gives up before, and says so (`until.ts`).
 */
const secondsMax = 1_800
/**
 * Files that run at the same time: three times the cores of the smallest machine of CI, because more than half of the
 * time of a file that takes long is waiting, for processes, disks and timers. With four, three tenths of the time of two
 * cores were left over.
 */
const jobs = 6
/** Folders of files that take a second or two. They come last, so that no long file is left over at the end. */
const shortFolders = ['test/rpc/', 'test/unit/']
/** Files of another folder that take some seconds and leave nothing behind in their process. */
const shortCommands =
  /\/commands\/(admin|adminChanges|backup|canaryKeys|cli|completion|edges|exportChain|foreignPages|importBadBlocks|importFaults|keys|logs|reload|shutdown|stopping|submissionMetrics|tls|tokens|usage|verify|verifyDamage)\.test\.js$/
/** Short files of a process: with more, too few processes are left for all cores at the end. */
const filesOfProcess = 20
/**
 * Files that take up to ten seconds of a core, most of it in servers, and leave nothing behind in their process either: to
 * load what they import takes half a second, and more until it is optimised.
 */
const longer =
  /\/(clients\/(cast|ethers|forge|starknet|starknetpy|verifyBundle|viem|web3|wireCalls)|conformance\/[a-zA-Z]+|rollup\/[a-zA-Z]+|devnet\/chain|fuzz\/(malformedRequests|requestReader|simulations)|chains\/(amsterdamInvalid|chainMessages|gatewayLogs|jobLooks|opcodeTraces|optimism(Anvil|Chains|Develop|Invalid)|replayFile|traceInvariants|twoEngines|verifyChain)|commands\/(adminApi|amsterdam|amsterdamArchive|canaryUrls|developBlobs|feedMetrics|importChain|publishAnvil|replay|serveRefused|sharedKeys|sharedQuota|startFeed|traces)|faults\/(familyStorm|followWeather|gatewayStorm|killSharing[a-zA-Z]+|orphanedState|reorgBelowStart|unknownFork))\.test\.js$/
/** They wait more than the short ones. */
const longerOfProcess = 4
/** Files of these folders with a process of their own: they measure it, close what they share, or take a minute. */
const alone =
  /\/(unit\/execution\/evm\/.*|gatewayLies|hiddenTransactions|lentBlocks|longMethods|floods|memory|testFindings|parity|upstreamBlocks|transactionTypes)\.test\.js$/

/**
 * Files that take longest or wait for packages, longest first. They begin before all others, so that no core is left
 * without work at the end.
 */
const longest = [
  'followerStorm',
  'web3py',
  'hardhat',
  'parity',
  'replicas',
  'gateway',
  'package',
  'amsterdamChains',
  'workingSet',
  'killDuringImport',
  'amsterdamLists',
  'dashboard',
  'develop',
  'firstHour',
]
const rankOf = (file: string) => {
  const found = longest.indexOf(basename(file, '.test.js'))
  return found < 0 ? longest.length : found
}

/** What the compiler has left of a file that was moved or deleted since is no test. */
const hasSource = (file: string) => existsSync(file.replace(/(^|\/)dist\//, '$1').replace(/js$/, 'ts'))

function findFiles(path: string): string[] {
  if (statSync(path).isFile()) return [path]
  const below = readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name))
  return below.filter((name) => name.endsWith('.test.js') && hasSource(name)).sort()
}

function buildTap(): void {
  const require = createRequire(import.meta.url)
  if (!readFileSync(require.resolve('@tapjs/test/test-built'), 'utf8').includes('@tapjs/typescript')) return
  console.log('# building the test library, once after each install')
  const tap = require.resolve('tap/package.json').replace(/package\.json$/, 'dist/esm/run.mjs')
  execFileSync(process.execPath, [tap, 'build'], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Files that install packages, from wherever this machine gets them. */
const installing = /\/(package|hardhat|web3py)\.test\.js$/

/** The library itself would put its loaders into NODE_OPTIONS. More certificates take a third of the start of a process. */
const nodeOptions = `--require ${JSON.stringify(join(import.meta.dirname, 'runner/laterOptimizer.cjs'))}`
const nodeWords = (file: string) => [
  ...(installing.test(file) ? [] : ['-u', 'NODE_EXTRA_CA_CERTS']),
  `NODE_OPTIONS=${nodeOptions}`,
  ...[process.execPath, '--enable-source-maps'],
  ...['withoutAsyncHooks', 'cpuSeconds'].flatMap((name) => [
    '--import',
    new URL(`runner/${name}.js`, import.meta.url).href,
  ]),
]

/** Of files below folders, those that cannot fail by what was changed are left out. */
const changed = process.env.LONG === undefined ? changedPaths() : undefined
const leftOut: string[] = []
const files = process.argv.slice(2).flatMap((path) => {
  const found = findFiles(path)
  if (changed === undefined || found[0] === path) return found
  const untouched = found.filter((file) => isUntouched(file, changed))
  leftOut.push(...untouched)
  return found.filter((file) => !untouched.includes(file))
})
if (files.length === 0) throw new Error('name test files of dist/test, or folders that hold some')
const isShort = (file: string) =>
  shortCommands.test(file) || (!alone.test(file) && shortFolders.some((folder) => file.includes(folder)))
const short = files.filter(isShort)
const long = files
  .filter((file) => !isShort(file) && !longer.test(file))
  .sort((one, other) => rankOf(one) - rankOf(other))
const inGroups = (all: readonly string[], size: number) =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))
const processes = [
  ...inGroups(long, 1),
  ...inGroups(
    files.filter((file) => longer.test(file)),
    longerOfProcess,
  ),
  ...inGroups(short, filesOfProcess),
]

buildTap()
execFileSync(process.execPath, [join(import.meta.dirname, 'prepare.js')], { stdio: 'inherit' })
process.env.TAP_TIMEOUT = String(secondsMax)
const { t } = await import('tap')
t.setTimeout(0)
t.jobs = jobs
t.plan(processes.length + 1)
const findings = new TestFindings()
let done = 0
const fileCount = files.length
const manyFiles = join(import.meta.dirname, 'runner/manyFiles.js')
const runs = processes.map((files) => {
  const [first = '', ...others] = files.map((file) => relative(process.cwd(), file))
  const words = others.length === 0 ? [first] : [manyFiles, ...files]
  const name = others.length === 0 ? first : `${first} and ${others.length} more`
  const run = t.spawn('env', [...nodeWords(first), ...words], { buffered: true }, name)
  if (run.subtest) findings.watch(run.subtest.parser)
  const progress = () => {
    done += files.length
    if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${fileCount} files `)
  }
  void run.then(progress, progress)
  return run
})
await Promise.all(runs)
if (leftOut.length > 0) {
  const names = leftOut.map((file) => basename(file, '.test.js')).join(', ')
  t.comment(
    `left out, as no change touches what they are about (LONG=1 runs them): ${leftOut.length} files: ${names}`,
  )
}
for (const skipped of findings.skipped) t.comment(`skipped: ${skipped}`)
for (const fault of findings.faults) t.comment(`fault: ${fault}`)
t.equal(findings.faults.length, 0, 'every test checks something, or is skipped and says why')
