/** The output of a run for people: each file at its end, the running files, and the failures at the end. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import type { TestFile } from './testFiles.js'
import type { FileReport } from './testProcess.js'

/** Without a terminal, the running files are printed at this interval. */
const namedEachMs = 60_000

/** Seconds of each file in the last run: long files start first. */
const secondsFile = join(packageRoot(), 'dist/testSeconds.json')

export function readSeconds(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(secondsFile, 'utf8'))
  } catch {
    return {}
  }
}

export class RunView {
  readonly #total: number
  readonly #reports: FileReport[] = []
  /** Running processes: the files left of each, and the start of the first one. */
  readonly #running = new Map<readonly TestFile[], { left: number; sinceMs: number }>()
  readonly #cpu = new Map<string, number>()
  readonly #begunMs = Date.now()
  readonly #isWatched = process.stderr.isTTY === true
  readonly #timer: NodeJS.Timeout

  constructor(total: number) {
    this.#total = total
    this.#timer = setInterval(() => this.#showRunning(), this.#isWatched ? 500 : namedEachMs).unref()
  }

  begin(files: readonly TestFile[]): void {
    this.#running.set(files, { left: files.length, sinceMs: Date.now() })
  }

  end(files: readonly TestFile[]): void {
    this.#running.delete(files)
  }

  addCpu(path: string, seconds: number): void {
    this.#cpu.set(path, (this.#cpu.get(path) ?? 0) + seconds)
  }

  add(files: readonly TestFile[], report: FileReport): void {
    const running = this.#running.get(files)
    if (running) {
      running.left--
      running.sinceMs = Date.now()
    }
    this.#reports.push(report)
    const { file, seconds, findings } = report
    const done = `${this.#reports.length}`.padStart(`${this.#total}`.length)
    const { passed, failures, skipped } = findings
    const counts = [`${passed} passed`, ...(skipped.length > 0 ? [`${skipped.length} skipped`] : [])]
    if (failures.length > 0) counts.unshift(`${failures.length} failed`)
    const what = failures.length > 0 ? 'FAILED' : 'ok'
    this.#print(
      `[${done}/${this.#total}] ${what} ${file.path}: ${counts.join(', ')}, ${seconds.toFixed(1)} s`,
    )
    for (const failure of failures) this.#print(failure.replaceAll(/^/gm, '    '))
  }

  /** Prints the summary, and returns whether all tests passed. */
  close(): boolean {
    clearInterval(this.#timer)
    if (this.#isWatched) process.stderr.write('\r\x1b[K')
    const sum = (count: (report: FileReport) => number) =>
      this.#reports.reduce((total, report) => total + count(report), 0)
    const failed = this.#reports.filter(({ findings }) => findings.failures.length > 0)
    const skips = this.#reports.flatMap(({ file, findings }) =>
      findings.skipped.map((skipped) => `${file.path} > ${skipped}`),
    )
    for (const skipped of skips) this.#print(`# skipped: ${skipped}`)
    for (const [path, seconds] of [...this.#cpu].sort(([, one], [, other]) => other - one)) {
      if (process.env.CI) this.#print(`# cpu: ${seconds.toFixed(1)} ${path}`)
    }
    this.#printFailed(failed)
    const minutes = (Date.now() - this.#begunMs) / 60_000
    const cpuSeconds = [...this.#cpu.values()].reduce((total, seconds) => total + seconds, 0)
    this.#print(`${this.#total} files in ${minutes.toFixed(1)} minutes, ${cpuSeconds.toFixed(0)} s of CPU`)
    this.#print(
      `${sum(({ findings }) => findings.passed)} passed, ${sum(({ findings }) => findings.failures.length)} failed, ${skips.length} skipped`,
    )
    this.#writeSeconds()
    return failed.length === 0 && this.#reports.length === this.#total
  }

  #printFailed(failed: readonly FileReport[]): void {
    const byClock = failed.filter(({ file }) => file.marks.has('clock'))
    for (const { file, findings } of failed) {
      const first = findings.failures[0]?.split('\n')[0] ?? ''
      this.#print(`FAILED ${file.path}: ${first}\n  alone: npm test -- ${file.path}`)
    }
    if (byClock.length > 0) {
      const names = byClock.map(({ file }) => `${file.path} (${file.marks.get('clock')})`)
      this.#print(`Of these, a busy machine can upset: ${names.join(', ')}`)
    }
  }

  #writeSeconds(): void {
    const seconds = this.#reports.map(({ file, seconds }) => [file.path, Math.round(seconds * 10) / 10])
    writeFileSync(secondsFile, JSON.stringify({ ...readSeconds(), ...Object.fromEntries(seconds) }))
  }

  #showRunning(): void {
    const names = [...this.#running].flatMap(([files, { left, sinceMs }]) => {
      const file = files.at(-left)
      if (left === 0 || file === undefined) return []
      return `${file.path.replace(/^test\/|\.test\.ts$/g, '')} ${Math.round((Date.now() - sinceMs) / 1000)} s`
    })
    const text = `${this.#reports.length} of ${this.#total} files; now: ${names.join(', ')}`
    if (this.#isWatched) process.stderr.write(`\r\x1b[K${text.slice(0, (process.stderr.columns ?? 80) - 1)}`)
    else this.#print(text)
  }

  #print(text: string): void {
    if (this.#isWatched) process.stderr.write('\r\x1b[K')
    console.log(text)
  }
}
