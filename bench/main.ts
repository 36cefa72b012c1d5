/**
 * `npm run bench` and `npm run bench:check`: chooses the scenarios, has another process measure them (`run.ts`), and
 * writes the reports. Exits with 1 if a scenario failed or, in a check, a target is missed.
 *
 * Another process measures, because much of the work blocks its thread, such as making a network. This one stays free
 * to end everything at a signal, with the results up to then.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageRoot } from '../src/primitives/packageRoot.js'
import { removeDrafts } from './data/keptFolders.js'
import { programOf } from './data/networks.js'
import { type BenchOptions, helpText, parseOptions } from './options.js'
import { Progress, planOf, type Step } from './plan.js'
import { movedTable } from './report/moved.js'
import { type Finding, isFailed, type Report } from './report/outcome.js'
import { publish, readReport, writeReport } from './report/publish.js'
import { detailLines, findingLine, footLines, headLine } from './report/table.js'
import { parseTargets, type Target, verdictOf } from './report/targets.js'
import type { RunMessage, RunTask } from './run.js'
import { whyNoGeth } from './servers/geth.js'

/** Exit status of a process ended by a signal, without the signal's number; as in shells. */
const signalStatus = 128

async function main(given: BenchOptions): Promise<number> {
  const whyNot = given.withGeth ? whyGethIsLeftOut(given) : undefined
  if (whyNot !== undefined) {
    if (!given.isCheck) throw new RangeError(`--against: ${whyNot}`)
    console.error(`What is compared with go-ethereum is left out: ${whyNot}.`)
  }
  const options = { ...given, withGeth: given.withGeth && whyNot === undefined }
  const all = parseTargets(readFileSync(join(packageRoot(), 'bench/targets.json'), 'utf8'))
  const { steps } = planOf(options, all)
  const chosen = new Set(steps.map(({ name }) => name))
  const isAsked = (target: Target) => options.withGeth || !('rival' in target) || target.rival !== 'geth'
  const targets = all.filter((target) => chosen.has(target.scenario) && isAsked(target))
  const verdict = (report: Report, asked = targets): number => {
    const { text, isReached } = verdictOf(report, asked)
    console.log(`\n${text}`)
    if (options.summary !== undefined) appendFileSync(options.summary, `\`\`\`\n${text}\n\`\`\`\n\n`)
    return isReached ? 0 : 1
  }
  if (options.isList) {
    for (const { name, title, seconds } of steps) console.log(`${name}: ${title}, ${Math.ceil(seconds)} s`)
    console.log(`\nabout ${Math.ceil(steps.reduce((sum, { seconds }) => sum + seconds, 0) / 60)} min`)
    return 0
  }
  if (options.base !== undefined && !existsSync(programOf(options.base))) {
    throw new RangeError(`--base: ${options.base} has no program; run npm ci and npm run program there`)
  }
  if (options.report !== undefined) {
    const report = readReport('--report', options.report)
    showMoved(report, options)
    return verdict(report)
  }
  const { report, signal } = await measure(options, all, steps)
  const done = new Set(report.findings.map(({ name }) => name))
  if (signal !== undefined) {
    console.error(`\n${signal} ended the run after ${done.size} of ${steps.length} scenarios.`)
    if (done.size === 0) return signalStatus + constants.signals[signal]
  }
  console.log(`\nWritten: ${writeReport(report, options.out ?? join(packageRoot(), 'bench/results'))}`)
  showMoved(report, options)
  const falls = (finding: Finding) =>
    isFailed(finding) ? finding.isSkipped !== true : (finding.missed ?? []).length > 0
  if (!options.isCheck) return report.findings.some(falls) ? 1 : 0
  // A scenario that was not measured has no verdict.
  return verdict(report, signal && targets.filter(({ scenario }) => done.has(scenario)))
}

/** Prints the figures that changed against another build, if one was measured, and appends them to the summary. */
function showMoved({ findings }: Report, { summary }: BenchOptions): void {
  const moved = movedTable(findings)
  if (moved === undefined) return
  console.log(`\n${moved}`)
  if (summary !== undefined) appendFileSync(summary, `${moved}\n\n`)
}

/** The reason why geth is not measured; undefined if it is. */
function whyGethIsLeftOut({ report }: BenchOptions): string | undefined {
  if (report === undefined) return whyNoGeth()
  const isAbsent = readReport('--report', report).machine['go-ethereum'] === 'absent'
  return isAbsent ? 'it was absent in that run' : undefined
}

interface Measured {
  readonly report: Report
  /** Undefined if the run finished. */
  readonly signal: NodeJS.Signals | undefined
}

/** Has all scenarios measured, or ends at a signal. Rejects if the measuring process fails. */
async function measure(
  options: BenchOptions,
  targets: RunTask['targets'],
  steps: readonly Step[],
): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  // PostgreSQL does not run as root: its user has to enter this folder.
  chmodSync(folder, 0o711)
  const runId = basename(folder)
  const task: RunTask = { options, targets, folder }
  const env = { ...process.env, TMPDIR: folder, TIDEGATE_BENCH_RUN: runId }
  const program = fileURLToPath(new URL('./run.js', import.meta.url))
  // A process group of its own, so that all its children can be ended with it.
  const child = fork(program, [JSON.stringify(task)], { detached: true, env })
  // The channel closes after the last message.
  const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')])
  let signal: NodeJS.Signals | undefined
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      signal ??= name
      endGroup(child)
    })
  }
  const startedAt = new Date().toISOString()
  let report: Report = { startedAt, machine: {}, settings: {}, loaderCeiling: 0, findings: [] }
  let progress = new Progress(steps)
  child.on('message', (message: RunMessage) => {
    if (message.type === 'begun') {
      // All networks exist by now.
      progress = new Progress(steps)
      const { machine, settings, loaderCeiling } = message
      report = { ...report, machine, settings, loaderCeiling }
      const pairs = Object.entries({ ...machine, ...settings }).map((pair) => pair.join(' '))
      console.log(`${pairs.join(', ')}\n\n${headLine()}`)
    } else if (message.type === 'scenario') console.error(progress.begin(message.name))
    else {
      const { finding } = message
      report = { ...report, findings: [...report.findings, finding] }
      console.log([findingLine(finding), ...detailLines(finding)].join('\n'))
    }
  })
  const [[status]] = await ended
  endGroup(child)
  removeDrafts(runId)
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  if (signal === undefined && status !== 0) throw new Error(`measuring ended with ${status}`)
  if (report.findings.length > 0) console.log(footLines(report).join('\n'))
  return { report, signal }
}

/** Ends a process and all its children. */
function endGroup(child: ChildProcess): void {
  try {
    if (process.platform === 'win32') child.kill('SIGKILL')
    else process.kill(-(child.pid as number), 'SIGKILL')
  } catch {
    // All of them have ended already.
  }
}

try {
  const options = parseOptions(process.argv.slice(2))
  if (options.isHelp) console.log(helpText)
  else if (options.publish !== undefined) publish(options.publish)
  else process.exitCode = await main(options)
} catch (error) {
  const isUsage = error instanceof RangeError
  console.error(isUsage ? `${error.message}\n\nnpm run bench -- --help lists the flags.` : error)
  process.exitCode = isUsage ? 2 : 1
}
