import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** A server under measurement, in a process of its own. */
export interface ServerProcess {
  readonly pid: number
  /** First capture of `ready` in what it printed. */
  readonly said: string
  /** Seconds of CPU, user and system, taken so far; undefined where the system does not tell. */
  cpuSeconds(): number | undefined
  stop(): void
}

/** Clock ticks of `/proc/<pid>/stat`; 100 a second on every Linux that Node runs on. */
const ticksPerSecond = 100

const hasTaskset = (() => {
  try {
    execFileSync('taskset', ['-p', String(process.pid)], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

/** Keeps this process, the loader, on the last core, so that it does not take the servers' time. */
export function pinLoader(cores: number): void {
  if (hasTaskset && cores > 1)
    execFileSync('taskset', ['-a', '-p', '-c', String(cores - 1), String(process.pid)], { stdio: 'ignore' })
}

/** Starts `node <args>` on the first core and waits for a line that matches `ready`. */
export function startServer(args: readonly string[], ready: RegExp, cores: number): Promise<ServerProcess> {
  const command = [process.execPath, ...args]
  const pinned = hasTaskset && cores > 1 ? ['taskset', '-c', '0', ...command] : command
  const child: ChildProcess = spawn(pinned[0] as string, pinned.slice(1), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => reject(new Error(`${args[0]} ended with ${code}`)))
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const said = ready.exec(line)?.[1]
      const { pid } = child
      if (said === undefined || pid === undefined) return
      resolve({ pid, said, cpuSeconds: () => cpuSeconds(pid), stop: () => child.kill('SIGTERM') })
    })
  })
}

function cpuSeconds(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  } catch {
    return undefined
  }
}
