/**
 * What tests cost. Loaded into each test's process: at its end it prints, as a comment of TAP, the CPU seconds of the
 * process and of all that it started and saw end, so that a run can name the files that take most. Where there is no
 * /proc, it says nothing.
 */
import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** Ticks of the clock that /proc counts in, a second. It is 100 on every platform of Linux that Node.js runs on. */
const ticksPerSecond = 100

/** CPU seconds until now, and those of ended children. Undefined where there is no /proc. */
function cpuSeconds(): number | undefined {
  try {
    // The name of the program may hold blanks and parentheses. After it, counted from 3: utime is 14, and with stime,
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

/** Prints what was spent since the last call, under the name of a test file. */
export function reportCpu(file: string): void {
  const seconds = cpuSeconds()
  if (seconds === undefined) return
  // Through the stream, which waits for a reader that is behind: the file itself may be one that does not wait.
  process.stdout.write(`# cpu: ${(seconds - counted).toFixed(2)} ${file}\n`)
  counted = seconds
}

// A test's threads load it as well.
if (isMainThread) process.on('exit', () => reportCpu(process.argv[1]?.replace(/^.*\/dist\//, '') ?? ''))
