/**
 * CPU time of tests. Loaded into each test's process. At its end it prints, as a TAP comment, the CPU seconds of the
 * process and of its ended children. So a run can list the most expensive files. Without /proc it prints nothing.
 */
import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** Clock ticks per second in /proc: 100 on every Linux platform that Node.js runs on. */
const ticksPerSecond = 100

/** CPU seconds up to now, including those of ended children. Undefined without /proc. */
function cpuSeconds(): number | undefined {
  try {
    // The program's name may contain blanks and parentheses. After it, counted from 3: utime is 14, and with stime,
    // cutime and cstime four fields (proc_pid_stat(5)).
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond
  } catch {
    return undefined
  }
}

let counted = 0

/** Prints the CPU time since the last call, under the name of a test file. */
export function reportCpu(file: string): void {
  const seconds = cpuSeconds()
  if (seconds === undefined) return
  // Through the stream, which waits for a slow reader; writing to the descriptor might not wait.
  process.stdout.write(`# cpu: ${(seconds - counted).toFixed(2)} ${file}\n`)
  counted = seconds
}

// A test's threads load this file as well.
if (isMainThread) process.on('exit', () => reportCpu(process.argv[1]?.replace(/^.*\/dist\//, '') ?? ''))
