/**
 * Servers under measurement, each in its own process. Owns pinning to cores, and reading the memory of a process.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { CpuClock, statFields } from './cpuClock.js'

/**
 * Memory of a process. Mapped stores are part of the operating system's file cache, which is freed when memory is
 * needed.
 */
export interface Memory {
  readonly residentBytes?: number
  /** The part of these bytes that is not backed by a file. */
  readonly anonymousBytes?: number
  /** Highest resident bytes so far. */
  readonly peakResidentBytes?: number
}

export interface ServerProcess {
  readonly pid: number
  /** First capture of `ready` in its output. */
  readonly said: string
  /** Seconds of CPU, user and system, used so far; undefined if the system does not report them. */
  cpuSeconds(): number | undefined
  /** Page faults so far; undefined if the system does not report them. */
  pageFaults(): number | undefined
  /** Current memory of the process; empty if the system does not report it. */
  memory(): Memory
  hasEnded(): boolean
  stop(): Promise<void>
}

/** The result of `work`, and the seconds of CPU that the server used meanwhile, if they are known. */
export async function withCpu<T>(
  server: ServerProcess | undefined,
  work: () => Promise<T>,
): Promise<readonly [T, number | undefined]> {
  const before = server?.cpuSeconds()
  const result = await work()
  const after = server?.cpuSeconds()
  return [result, before === undefined || after === undefined ? undefined : after - before]
}

/** Cores of the machine; counted before the loader is kept on one of them. */
export const cores = availableParallelism()

const hasTaskset = (() => {
  try {
    execFileSync('taskset', ['-p', String(process.pid)], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

/** Servers run on the first core and the loader on the last, so that they do not compete. */
export const isPinned = hasTaskset && cores > 1
const serverCore = '0'
const loaderCore = String(cores - 1)

/** Pins this process, the loader, to its core, with all threads and processes that it starts later. */
export function pinLoader(): void {
  if (isPinned)
    execFileSync('taskset', ['-a', '-p', '-c', loaderCore, String(process.pid)], { stdio: 'ignore' })
}

/** A command line that runs `command` on the servers' core. */
export function onServerCore(command: readonly string[]): readonly string[] {
  return isPinned ? ['taskset', '-c', serverCore, ...command] : command
}

/** Number of cores from which on a server's pool has cores of its own, besides those of its edge and the loader. */
const freeCoresMin = 4

/** Number of cores that {@link onFreeCores} uses. */
export const freeCores = isPinned && cores >= freeCoresMin ? cores - 1 : 1

/**
 * A command line that runs `command` on every core except the loader's, or, if these are too few, on the servers' core.
 */
export function onFreeCores(command: readonly string[]): readonly string[] {
  return freeCores > 1 ? ['taskset', '-c', `0-${freeCores - 1}`, ...command] : onServerCore(command)
}

/** A command line that runs `command` on any core, although the loader, which starts it, is pinned. */
export function onAllCores(command: readonly string[]): readonly string[] {
  return isPinned ? ['taskset', '-c', `0-${cores - 1}`, ...command] : command
}

const running = new Set<ChildProcess>()

/** Installed with the first child: a program without children keeps its own signal handling. */
function endAllAtExit(): void {
  process.on('exit', () => {
    for (const child of running) child.kill('SIGKILL')
  })
  // By default a signal ends a process without its `exit` event.
  process.once('SIGINT', () => process.exit(130))
  process.once('SIGTERM', () => process.exit(143))
}

let isEndingAll = false

/** Ends `child` when this process ends, for any reason. Returns it. */
export function endWithThisProcess<C extends ChildProcess>(child: C): C {
  if (!isEndingAll) endAllAtExit()
  isEndingAll = true
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Far longer than any server takes. */
const readyMsMax = 120_000

/** The next message of a child. Rejects, with `name` in the error, if it ends first or sends none within `msMax`. */
export async function messageOf(child: ChildProcess, name: string, msMax: number): Promise<unknown> {
  const over = new AbortController()
  const { signal } = over
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message as unknown),
      once(child, 'exit', { signal }).then(([code, by]) => {
        throw new Error(`${name} ended with ${code ?? by}`)
      }),
      delay(msMax, undefined, { signal }).then(() => {
        throw new Error(`${name} said nothing for ${msMax / 1_000} s`)
      }),
    ])
  } finally {
    over.abort()
  }
}

/** Starts `command` on the servers' core and waits for a line of its output that matches `ready`. */
export function startServer(
  command: readonly string[],
  ready: RegExp,
  onCores = onServerCore,
): Promise<ServerProcess> {
  const [program = '', ...args] = onCores(command)
  const child = endWithThisProcess(spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] }))
  return new Promise((resolve, reject) => {
    let errors = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-2_000)
    })
    const end = (why: string) => {
      clearTimeout(timer)
      child.kill('SIGKILL')
      reject(new Error(`${command.slice(0, 3).join(' ')} ${why}: ${errors.trim() || 'it said nothing'}`))
    }
    const timer = setTimeout(() => end(`was not ready within ${readyMsMax / 1000} s`), readyMsMax)
    child.on('error', (error) => end(error.message))
    const onEarlyExit = (code: number | null, signal: NodeJS.Signals | null) =>
      end(`ended with ${code ?? signal}`)
    child.on('exit', onEarlyExit)
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const said = ready.exec(line)?.[1]
      const { pid } = child
      if (said === undefined || pid === undefined) return
      clearTimeout(timer)
      child.off('exit', onEarlyExit)
      resolve(serverOf(child, pid, said))
    })
  })
}

/** A child that serves, as a server under measurement. */
export function serverOf(child: ChildProcess, pid: number, said: string): ServerProcess {
  const clock = new CpuClock(pid)
  return {
    pid,
    said,
    cpuSeconds: () => clock.seconds(),
    pageFaults: () => pageFaultsOf(pid),
    memory: () => memoryOf(pid),
    hasEnded: () => hasEnded(child),
    stop: () => stop(child),
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** Places in `/proc/<pid>/stat`, counted after the program's name. */
const minorFaults = 7
const majorFaults = 9

function pageFaultsOf(pid: number): number | undefined {
  const fields = statFields(pid)
  return fields && (fields[minorFaults] as number) + (fields[majorFaults] as number)
}

/** Empty if the system does not report it. */
export function memoryOf(pid: number): Memory {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const bytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
    return {
      residentBytes: bytes('VmRSS'),
      anonymousBytes: bytes('RssAnon'),
      peakResidentBytes: bytes('VmHWM'),
    }
  } catch {
    return {}
  }
}
