/**
 * Test files that take long, and of each the sources that it is about. A run of whole folders leaves such a file out while
 * no change touches these, the file itself or what it imports of the tests: a change waits for what can fail by it.
 * `LONG=1`, as in `npm run test:long`, leaves none out.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'

const follow = 'src/sources/(ingest/(follow|beacon)|upstream|consensus)/'

/** Sources → names of files, both as the beginnings and the whole of what regular expressions match. */
export const longTests: readonly (readonly [sources: string, files: string])[] = [
  [
    `src/sources/ingest/gateway/|${follow}`,
    'faults/(fronts|gateway(Heads|Weather)|killDuringGateway|orphanedState|branchWeather|unknownFork|signedHead)|chains/(workingSet|gatewayLogs|families)|commands/(gatewayLogs|amsterdamLive)|dashboard/heldState|clients/verifiedPage|rpc/(announced|pending)Transactions',
  ],
  [
    follow,
    'faults/(follow(Liars|erStorm|Weather)|killDuringFollow|lateNetworks|reorgBelowStart|familyStorm)|commands/(followWithoutGenesis|upstreamChains)|chains/optimismSources|unit/sources/ingest/(headRejections|currentLies|deepReorgs|familyBlock|logFiller)',
  ],
  [
    'src/(sources/(feed|ingest/feed)|data/postgres)/',
    'faults/replicas|commands/(feed(Tls|Metrics)|snapshot|startFeed|publishAnvil)',
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
    'stateTests/stateTests|blockchainTests/blockchainTests|chains/(amsterdam(Chains|Lists)|opcodeTraces|twoEngines|chainMessages|jobLooks|traceInvariants)|conformance/(optimismCalls|gethTraces|gethMethods)|unit/execution/evm/tracerDifferential|rpc/debug_executionWitness',
  ],
  [
    'src/serving/(transport|streams|access|pool)/|src/operation/edge/',
    'faults/(waitingBytes|rollingRestart|drain|traceStreams|slowSockets|hostileLoad|fanOut|filterMemory|pool[a-zA-Z]*)|unit/serving/(transport/floods|streams/(manySubscriptions|memory))|commands/traces|fuzz/malformedRequests',
  ],
  [
    'src/(serving/rollup|operation/shared)/',
    'faults/kill(DuringSubmissions|Sharing(Quota|Submissions))|commands/shared(Keys|Quota)|rollup/(retention|sharedQueue)',
  ],
  ['src/(sources/ingest/develop|execution/evm/blocks)/', 'commands/develop'],
  ['src/(serving/(rpc|transport)|data/chain)/', 'clients/(ethers|cast|viem|web3|wireCalls|starknet)'],
  ['bench/', 'bench/[a-zA-Z]+'],
  ['build/|package.json', 'commands/build'],
  ['src/operation/admin/|src/serving/metrics/', 'dashboard/dashboard'],
  ['docs/|README|src/operation/(commands|config)/', 'commands/firstHour'],
]

/** What all files are about: packages of others. */
const everywhere = ['package-lock.json', 'test/package.json']

const nameOf = (file: string) => file.replace(/^.*?test\/(.*)\.test\.[jt]s$/, '$1')
const isWhole = (pattern: string, name: string) => new RegExp(`^(?:${pattern})$`).test(name)

/** What a file of the tests imports of them, itself included. */
function importedTests(path: string, found = new Set<string>()): Set<string> {
  const whole = join(packageRoot(), path)
  if (found.has(path) || !existsSync(whole)) return found
  found.add(path)
  for (const [, specifier = ''] of readFileSync(whole, 'utf8').matchAll(/ from '(\.[^']+)\.js'/g)) {
    const imported = `${normalize(join(dirname(path), specifier))}.ts`
    if (imported.startsWith('test/')) importedTests(imported, found)
  }
  return found
}

/** Whether a test file takes long, and nothing that it is about is among `changed`: paths from the root of the package. */
export function isUntouched(file: string, changed: readonly string[]): boolean {
  const name = nameOf(file)
  const sources = longTests.filter(([, files]) => isWhole(files, name)).map(([sources]) => sources)
  if (sources.length === 0) return false
  const tests = importedTests(`test/${name}.test.ts`)
  const isAbout = (path: string) =>
    everywhere.includes(path) ||
    tests.has(path) ||
    sources.some((each) => new RegExp(`^(?:${each})`).test(path))
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
