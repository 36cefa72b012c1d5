/**
 * Runs tests: `runTests.js [--all|--rest] [PATH…]`, as `npm test` does. Without a path it runs all of `test/unit` and
 * `test/server`, and the scenes of `test/world`. `--all` runs everything, `--rest` only the other tests of
 * `test/world`. A path is a file or folder of the source.
 *
 * Files run in processes of their own or share one (`runner/testFiles.ts`), {@link jobs} at a time. They are plain
 * processes, because the command line of tap passes every import through its loaders, for coverage and mocks. That
 * takes longer than most tests.
 *
 * A run also fails if a test checks nothing, or is skipped without a reason.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { RunView, readSeconds } from './runner/runView.js'
import { findFiles, inProcesses, isQuick, kindOf, kinds, type TestFile } from './runner/testFiles.js'
import { endProcesses, runProcess } from './runner/testProcess.js'

/**
 * Longest time of one file, and of any test in it: far more than any needs on a slow and busy machine. Waits for an
 * event end earlier, with an error that names the event (`until.ts`).
 */
const secondsMax = 1_800
/**
 * Number of processes at the same time: three times the cores of the smallest machine of CI. More than half of the time
 * of a long file is waiting, for processes, disks and timers. With four processes, three tenths of the time of two
 * cores were idle.
 */
const jobs = 6

/** A fresh install holds a build of the library with its TypeScript plugin, which does not load with this compiler. */
function buildTap(): void {
  const require = createRequire(import.meta.url)
  if (!readFileSync(require.resolve('@tapjs/test/test-built'), 'utf8').includes('@tapjs/typescript')) return
  console.log('Building the test library, once after each install')
  const tap = require.resolve('tap/package.json').replace(/package\.json$/, 'dist/esm/run.mjs')
  execFileSync(process.execPath, [tap, 'build'], { stdio: ['ignore', 'ignore', 'inherit'] })
}

function chosenFiles(): TestFile[] {
  const words = process.argv.slice(2)
  const names = words.filter((word) => !word.startsWith('--'))
  if (names.length > 0) return findFiles(names)
  const files = findFiles(kinds.map((kind) => `test/${kind}`))
  if (words.includes('--rest')) return files.filter((file) => !isQuick(file))
  return words.includes('--all') ? files : files.filter(isQuick)
}

/**
 * The processes in order: those that took longest in the last run come first, and in a fresh clone those of the world.
 */
function inOrder(processes: TestFile[][]): TestFile[][] {
  const seconds = readSeconds()
  const rankOf = (files: readonly TestFile[]) =>
    files.reduce((sum, file) => {
      const isLong = kindOf(file) === 'world' || file.marks.has('alone')
      const guess = (file.bytes / 1_000) * (isLong ? 2 : 0.1)
      return sum + (seconds[file.path] ?? guess)
    }, 0)
  return processes.sort((one, other) => rankOf(other) - rankOf(one))
}

let files: TestFile[]
try {
  files = chosenFiles()
} catch (error) {
  console.error((error as Error).message)
  process.exit(2)
}
const waiting = inOrder(inProcesses(files))
buildTap()
execFileSync(process.execPath, [join(import.meta.dirname, 'prepare.js')], { stdio: 'inherit' })
process.env.TAP_TIMEOUT = String(secondsMax)
const view = new RunView(files.length)

async function takeProcesses(): Promise<void> {
  for (let files = waiting.shift(); files !== undefined; files = waiting.shift()) {
    const own = files
    view.begin(own)
    await runProcess(
      own,
      (report) => view.add(own, report),
      (path, seconds) => view.addCpu(path, seconds),
    )
    view.end(own)
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    endProcesses()
    process.exit(1)
  })
}
await Promise.all(Array.from({ length: jobs }, takeProcesses))
if (!view.close()) process.exitCode = 1
