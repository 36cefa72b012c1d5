/** One process of tests: starts it, parses its TAP while it runs, and reports each finished file. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { Parser, type Result } from 'tap-parser'
import type { TestFile } from './testFiles.js'
import { TestFindings } from './testFindings.js'

export interface FileReport {
  readonly file: TestFile
  readonly seconds: number
  readonly findings: TestFindings
}

const folder = import.meta.dirname

/** Limit for output besides TAP, such as an error that ended the process. */
const printedLinesMax = 40

/**
 * Without the loaders that the library would put into NODE_OPTIONS. More certificates take a third of a process's
 * start.
 */
function environmentOf(files: readonly TestFile[]): NodeJS.ProcessEnv {
  const { NODE_EXTRA_CA_CERTS, ...others } = process.env
  const isInstalling = files.some((file) => file.marks.has('installs'))
  return {
    ...others,
    ...(isInstalling && NODE_EXTRA_CA_CERTS !== undefined ? { NODE_EXTRA_CA_CERTS } : {}),
    NODE_OPTIONS: `--require ${JSON.stringify(join(folder, 'laterOptimizer.cjs'))}`,
  }
}

function start(files: readonly TestFile[]) {
  const imports = ['withoutAsyncHooks', 'cpuSeconds'].flatMap((name) => [
    '--import',
    new URL(`${name}.js`, import.meta.url).href,
  ])
  const paths = files.map(({ path }) => join(folder, '../..', path.replace(/ts$/, 'js')))
  const sharing = files.length > 1 ? 'sharing' : 'alone'
  const words = ['--enable-source-maps', ...imports, join(folder, 'manyFiles.js'), sharing, ...paths]
  // A process group of its own, so that the servers which it starts can be ended with it.
  const child = spawn(process.execPath, words, {
    env: environmentOf(files),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  running.add(child)
  child.on('close', () => running.delete(child))
  return child
}

const running = new Set<ChildProcess>()

/** Ends all test processes, and what they started, at once. */
export function endProcesses(): void {
  for (const { pid } of running) {
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    } catch {
      // The process has ended.
    }
  }
}

/**
 * Runs files one after the other in a process. Calls `onFile` for each at its end, and `onCpu` with the CPU seconds of
 * each, including those of its ended child processes. Never rejects: if a process crashes, its files fail.
 */
export function runProcess(
  files: readonly TestFile[],
  onFile: (report: FileReport) => void,
  onCpu: (path: string, seconds: number) => void,
): Promise<void> {
  const child = start(files)
  const left = [...files]
  const printed: string[] = []
  let begunMs = Date.now()
  let findings = new TestFindings()
  const endFile = () => {
    const file = left.shift()
    if (file === undefined) return
    onFile({ file, seconds: (Date.now() - begunMs) / 1000, findings })
    begunMs = Date.now()
    findings = new TestFindings()
  }
  const note = (text: string) => {
    printed.push(...text.split('\n').filter((line) => line.trim() !== ''))
    printed.splice(0, printed.length - printedLinesMax)
  }

  const parser = new Parser()
  /** The closing results of a file repeat those of its tests. */
  const closing = new WeakSet<Result>()
  parser.on('child', (file) => findings.watch(file))
  parser.on('result', (result) => {
    if (!closing.has(result)) findings.add(result)
  })
  parser.on('assert', (result) => {
    closing.add(result)
    if (result.skip || (!result.ok && findings.failures.length === 0)) findings.add(result)
    endFile()
  })
  parser.on('comment', (line) => {
    const [, seconds, path] = /^# cpu: ([\d.]+) (?:.*modules\/)?(\S+)/.exec(line) ?? []
    if (path !== undefined) onCpu(path.replace(/js$/, 'ts'), Number(seconds))
  })
  parser.on('extra', note)
  child.stderr.setEncoding('utf8').on('data', note)
  child.stdout.pipe(parser)
  return new Promise((resolve) => {
    child.on('error', (error) => note(String(error)))
    child.on('close', (status, signal) => {
      while (left.length > 0) {
        const how = `its process ended with ${signal ?? `status ${status}`}`
        findings.failures.push([how, ...printed].join('\n'))
        endFile()
      }
      resolve()
    })
  })
}
