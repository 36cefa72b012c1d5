/** The number of files that this process may open, sockets included, and the connections that this allows. */
import { readdirSync, readFileSync } from 'node:fs'

/** Files that are opened later: connections to upstreams and databases, stores, files of threads. */
const reservedFiles = 256

interface OpenFiles {
  readonly max: number
  /** Connections of clients, for all edges together. */
  readonly connectionsMax: number
}

/** Undefined if the system does not report it (other than Linux), or sets no limit. */
export function readOpenFiles(): OpenFiles | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1')
    const max = Number(/^Max open files +(\d+)/m.exec(limits)?.[1])
    if (Number.isNaN(max)) return undefined
    const others = readdirSync('/proc/self/fd').length + Math.min(reservedFiles, max / 8)
    return { max, connectionsMax: Math.max(Math.floor(max - others), 1) }
  } catch {
    return undefined
  }
}
