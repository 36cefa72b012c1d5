/**
 * The CPU time of another process, in nanoseconds if the system counts them. Linux gives nanoseconds for each living
 * thread (`/proc/PID/task/TID/schedstat`). For the whole process, with its ended threads, it gives only ticks of 10 ms.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Ticks of `/proc/PID/stat`; 100 a second on every Linux that Node.js runs on. */
const ticksPerSecond = 100
/** Places in `/proc/PID/stat`, counted after the program's name. */
const userTime = 11
const systemTime = 12

/** The fields of `/proc/PID/stat` after the program's name, which may contain any character; undefined without it. */
export function statFields(pid: number, proc = '/proc'): readonly number[] | undefined {
  try {
    const stat = readFileSync(join(proc, `${pid}/stat`), 'utf8')
    return stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
  } catch {
    return undefined
  }
}

/** CPU seconds of one process. `proc` is the folder in which the system shows processes. */
export class CpuClock {
  readonly #pid: number
  readonly #proc: string
  /** Seconds of each thread that lived at the last reading, by its id. */
  #living: ReadonlyMap<string, number> = new Map()
  #endedSeconds = 0

  constructor(pid: number, proc = '/proc') {
    this.#pid = pid
    this.#proc = proc
  }

  /**
   * Seconds of user and system so far, which never decrease; undefined if the system does not show them. A thread that
   * runs during the reading counts up to its last tick. Time between the last reading of a thread and its end counts by
   * ticks: at most 20 ms are missing.
   */
  seconds(): number | undefined {
    const fields = statFields(this.#pid, this.#proc)
    if (fields === undefined) return undefined
    const ticksSeconds = ((fields[userTime] as number) + (fields[systemTime] as number)) / ticksPerSecond
    const living = this.#readThreads()
    if (living === undefined) return ticksSeconds
    for (const [id, seconds] of this.#living) {
      const now = living.get(id)
      // A new thread may have the id of an ended one.
      if (now === undefined || now < seconds) this.#endedSeconds += seconds
    }
    this.#living = living
    const sum = [...living.values()].reduce((total, seconds) => total + seconds, 0)
    // Ticks are rounded down, so the process took at least as much.
    this.#endedSeconds = Math.max(this.#endedSeconds, ticksSeconds - sum)
    return sum + this.#endedSeconds
  }

  /** Undefined if the system counts no nanoseconds. */
  #readThreads(): Map<string, number> | undefined {
    const folder = join(this.#proc, String(this.#pid), 'task')
    const living = new Map<string, number>()
    try {
      for (const id of readdirSync(folder)) {
        const nanoseconds = readNanoseconds(join(folder, id, 'schedstat'))
        if (nanoseconds !== undefined) living.set(id, nanoseconds / 1e9)
      }
    } catch {
      return undefined
    }
    return living.size === 0 ? undefined : living
  }
}

/** The first number of the file; undefined for a thread that has just ended. */
function readNanoseconds(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8').split(' ', 1)[0])
  } catch {
    return undefined
  }
}
