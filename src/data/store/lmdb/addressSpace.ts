/**
 * Checks whether the process has the address space for a store. With too little, lmdb crashes the process in `open`
 * without a message. Only Linux reports free space; on other systems the check passes.
 */
import { readFileSync, realpathSync } from 'node:fs'
import { OperatorError } from '../../../primitives/faults.js'
import { isThere } from '../../../primitives/files.js'

/** Only an eighth is suggested: several stores and the memory of the program must fit, too. */
const shareOfFree = 8

/**
 * Throws OperatorError if the process cannot map `bytes` for the store at `path`. Causes are a limit of the process, or
 * no free gap that is long enough. Takes a millisecond.
 */
export function assertAddressSpace(path: string, bytes: number): void {
  const maps = readProcess('maps')
  // Threads of one process share the map of a store.
  if (maps === undefined || (isThere(path) && maps.includes(` ${realpathSync(path)}\n`))) return
  const { longestGap, taken } = measureMaps(maps)
  const limit = Number(/^Max address space +(\d+)/m.exec(readProcess('limits') ?? '')?.[1] ?? Infinity)
  const free = Math.min(longestGap, Math.max(0, limit - taken))
  if (bytes <= free) return
  const fitting = 2 ** Math.floor(Math.log2(Math.max(1, free / shareOfFree)))
  throw new OperatorError(
    `cannot open the store ${path}: it takes ${gib(bytes)} of address space, and this process has ${gib(free)} left; set "store.mapBytes" in the configuration to less, such as ${fitting}${limit === Infinity ? '' : ', or raise the limit (ulimit -v)'}`,
  )
}

/** Longest gap and total size of the mappings in /proc/PID/maps, whose lines are in address order. */
function measureMaps(maps: string): { readonly longestGap: number; readonly taken: number } {
  let end = 0
  let longestGap = 0
  let taken = 0
  for (const [, from = '', to = ''] of maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) /gm)) {
    const start = Number.parseInt(from, 16)
    // Higher addresses belong to the kernel.
    if (start > Number.MAX_SAFE_INTEGER) break
    longestGap = Math.max(longestGap, start - end)
    end = Number.parseInt(to, 16)
    taken += end - start
  }
  return { longestGap, taken }
}

/** A file of /proc about this process; undefined if there is none. */
function readProcess(name: string): string | undefined {
  try {
    return readFileSync(`/proc/self/${name}`, 'utf8')
  } catch {
    return undefined
  }
}

function gib(bytes: number): string {
  return `${Math.floor(bytes / 2 ** 30)} GiB`
}
