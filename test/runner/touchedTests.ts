/**
 * Which test files a change touches: it waits for what can fail by it, and a run of whole folders leaves the others out.
 * A unit test is left out while nothing changed of what it imports. A file that takes long, and starts the whole program as
 * a rule, has an entry in a table: it is left out while no change touches the sources that it is about, the file itself or
 * what it imports of the tests. All others always run. `LONG=1`, as in `npm run test:long`, leaves none out.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'

const follow = 'src/sources/(ingest/(follow|beacon)|upstream|consensus)/'

/** Of files that take long: sources → names of files, both as the beginnings and the whole of what regular expressions match. */
export const longTests: readonly (readonly [sources: string, files: string])[] = [
  [
    `src/sources/ingest/gateway/|${follow}`,
    'faults/(fronts|gateway(Heads|Storm|Weather)|killDuringGateway|orphanedState|branchWeather|unknownFork|signedHead)|chains/(workingSet|gatewayLogs|families)|commands/(gatewayLogs|amsterdamLive)|dashboard/heldState|clients/verifiedPage|rpc/(announced|pending)Transactions',
  ],
  [
    follow,
    'faults/(follow(Liars|erStorm|Weather)|killDuringFollow|lateNetworks|reorgBelowStart|familyStorm)|commands/(followWithoutGenesis|upstreamChains)|chains/optimismSources|unit/sources/ingest/(headRejections|currentLies|deepReorgs|familyBlock|logFiller)',
  ],
  [
    'src/(sources/(feed|ingest/feed)|data/postgres)/',
    'faults/replicas|commands/(replicas|feed(Tls|Metrics)|snapshot|startFeed|publishAnvil)',
  ],
  [
    'src/sources/ingest/(start|era)/|src/data/(ssz|state)/',
    'faults/killDuringStart|commands/(startChains|startState|stateFrom|importBeneath|amsterdamArchive)|chains/importArchives|rpc/tidegate_getHeaderProof',
  ],
  [
    'src/(primitives|data/store)/|src/sources/ingest/[^/]*$',
    'faults/(killDuring(Replay|Import)|fullDisk(Service)?|dyingDisk|damagedRows|writerLock|backup)|chains/(verifyChain|replayFile)|commands/(history|replay)|unit/data/store/(longChain|heldValues)',
  ],
  [
    'src/(primitives|execution|data/(state|chain))/',
    'stateTests/stateTests|blockchainTests/blockchainTests|chains/(amsterdam(Chains|Lists)|opcodeTraces|twoEngines|chainMessages|jobLooks|traceInvariants)|conformance/(optimismCalls|gethTraces|gethMethods|amsterdamRpc)|unit/execution/evm/tracerDifferential|rpc/debug_executionWitness',
  ],
  [
    'src/serving/(transport|streams|access|pool)/|src/operation/edge/',
    'faults/(waitingBytes|rollingRestart|drain|traceStreams|slowSockets|hostileLoad|fanOut|filterMemory|pool[a-zA-Z]*)|unit/serving/(transport/floods|streams/(manySubscriptions|memory))|commands/traces|fuzz/malformedRequests',
  ],
  [
    'src/(serving/rollup|operation/shared)/',
    'faults/kill(DuringSubmissions|Sharing(Quota|Submissions))|commands/shared(Keys|Quota)|rollup/(retention|sharedQueue)',
  ],
  ['src/(sources/ingest/develop|execution/evm/blocks)/', 'commands/develop|chains/optimismDevelop'],
  ['src/(serving/(rpc|transport)|data/chain)/', 'clients/(ethers|cast|viem|web3|wireCalls|starknet)'],
  ['src/(verify|data/(chain|state))/', 'chains/optimismVerified|rpc/tidegate_getVerified|commands/verify'],
  ['bench/', 'bench/[a-zA-Z]+'],
  ['build/|package.json', 'commands/build'],
  ['src/operation/admin/|src/serving/metrics/', 'dashboard/dashboard|commands/(admin(Api|Changes)?)'],
  ['docs/|README|src/operation/(commands|config)/', 'commands/firstHour'],
]

/** What all files are about: packages of others. */
const everywhere = ['package-lock.json', 'test/package.json']

const nameOf = (file: string) => file.replace(/^.*?test\/(.*)\.test\.[jt]s$/, '$1')
const isWhole = (pattern: string, name: string) => new RegExp(`^(?:${pattern})$`).test(name)

/** Modules that a module names, as an import or as the address of a thread or a process: also all of a folder. */
const named = new Map<string, readonly string[]>()
function namedBy(path: string): readonly string[] {
  const before = named.get(path)
  if (before !== undefined) return before
  const root = packageRoot()
  const text = readFileSync(join(root, path), 'utf8')
  const placed = (name: string) =>
    name.startsWith('.') ? join(dirname(path), name) : name.replace(/^dist\//, '')
  const one = [...text.matchAll(/'([^'\n]+)\.js'/g)].map(([, name = '']) => `${placed(name)}.ts`)
  const all = [...text.matchAll(/`([^`$\n]*\/)\$\{\w+\}\.js`/g)].map(([, folder = '']) => placed(folder))
  const found = [
    ...one.filter((name) => existsSync(join(root, name))),
    ...all
      .filter((folder) => existsSync(join(root, folder)))
      .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(folder, name))),
  ].filter((name) => name.endsWith('.ts'))
  named.set(path, found)
  return found
}

/** All modules that a module loads, itself included. */
function loadedBy(path: string, found = new Set<string>()): Set<string> {
  if (found.has(path)) return found
  found.add(path)
  for (const name of namedBy(path)) loadedBy(name, found)
  return found
}

/** What starts the program: then all of it is loaded. */
const starts = 'test/service/program.ts'

/** Whether a unit test that loads these modules can fail by a change of `path`; pages are read by tests that name them. */
function canFailBy(path: string, file: string, loaded: ReadonlySet<string>): boolean {
  if (path.endsWith('.md')) return /docs|README|Page\b/.test(readFileSync(join(packageRoot(), file), 'utf8'))
  if (!path.endsWith('.ts')) return true
  return loaded.has(path) || (loaded.has(starts) && /^(src|workers)\//.test(path))
}

/** Whether a test file is one that can be left out, and can not fail by `changed`: paths from the root of the package. */
export function isUntouched(test: string, changed: readonly string[]): boolean {
  const name = nameOf(test)
  const file = `test/${name}.test.ts`
  const sources = longTests.filter(([, files]) => isWhole(files, name)).map(([sources]) => sources)
  const isUnit = name.startsWith('unit/')
  if (sources.length === 0 && !isUnit) return false
  const loaded = loadedBy(file)
  const isAbout = (path: string) =>
    everywhere.includes(path) ||
    (path.startsWith('test/') && loaded.has(path)) ||
    sources.some((each) => new RegExp(`^(?:${each})`).test(path)) ||
    (sources.length === 0 && canFailBy(path, file, loaded))
  return !changed.some(isAbout)
}

/** What a branch parts from. */
const bases = ['@{upstream}', 'origin/HEAD', 'main']

/** On the main branch itself a change is all commits of so many seconds: what came at once came as several. */
const recentSeconds = 24 * 3600

/**
 * Paths of `root` that differ from the commit `base`, or from where the branch began, committed or not; on the main
 * branch from the last commit that is a day older than the newest. Undefined where there is no such commit, as in a copy
 * without its history.
 */
export function changedPaths(root = packageRoot(), base = process.env.BASE): string[] | undefined {
  const git = (...words: string[]) => {
    try {
      const stdio = ['ignore', 'pipe', 'ignore'] as ['ignore', 'pipe', 'ignore']
      return execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio })
        .split('\n')
        .filter((line) => line !== '')
    } catch {
      return undefined
    }
  }
  const [head] = git('rev-parse', 'HEAD') ?? []
  const parted = bases.flatMap((each) => git('merge-base', 'HEAD', each) ?? [])[0]
  const [seconds] = git('log', '-1', '--format=%ct') ?? []
  const recent = git('rev-list', '-1', `--before=${Number(seconds) - recentSeconds}`, 'HEAD') ?? []
  const from = base ?? (parted !== head ? parted : recent[0])
  const differing = from === undefined ? undefined : git('diff', '--name-only', from)
  return differing && [...differing, ...(git('ls-files', '--others', '--exclude-standard') ?? [])]
}
