/** How many files this process may have open, sockets included, and how many connections that leaves. */
import { readdirSync, readFileSync } from 'node:fs'

/** Files that are opened later: connections to upstreams and databases, stores, what threads need. */
const reservedFiles = 256

interface OpenFiles {
  readonly max: number
  /** Connections of clients, of all edges together. */
  readonly connectionsMax: number
}

/** Undefined where the system does not say, as beside Linux, or sets no limit. */
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
