import { isatty } from 'node:tty'

/**
 * npm scripts that run the program, which gets npm's signals then. At Ctrl-C it gets two: the terminal's, and the same
 * one from npm, which forwards its own within this time.
 */
const npmScripts = ['start', 'tidegate']
const sentOnMs = 1_000

/**
 * Calls `stop` at the first Ctrl-C or SIGTERM. A second one ends the process at once, by that signal. `process.exit`
 * would first end every thread in order, and aborts if one is still loading its modules. Returns a function that stops
 * listening.
 */
export function onInterrupt(stop: (signal: NodeJS.Signals) => void): () => void {
  let asked: { readonly signal: NodeJS.Signals; readonly atMs: number } | undefined
  const isOfNpm = npmScripts.includes(process.env.npm_lifecycle_event ?? '')
  const listener = (signal: NodeJS.Signals) => {
    if (asked === undefined) {
      asked = { signal, atMs: performance.now() }
      stop(signal)
      return
    }
    if (isOfNpm && signal === asked.signal && performance.now() - asked.atMs < sentOnMs) return
    release()
    process.kill(process.pid, signal)
  }
  const release = () => {
    process.off('SIGINT', listener)
    process.off('SIGTERM', listener)
  }
  process.on('SIGINT', listener)
  process.on('SIGTERM', listener)
  return release
}

/**
 * Does the work of a command, to which Ctrl-C and SIGTERM are the signal `stop`. Work that is stopped closes the stores
 * that it reads, removes incomplete files and rejects. Then the process prints `outcome` and ends by the signal that it
 * got. A shell ends a script only if its program ended in this way.
 */
export async function untilInterrupted<T>(
  io: Pick<Io, 'err'>,
  outcome: string,
  work: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  let asked: NodeJS.Signals | undefined
  const release = onInterrupt((signal) => {
    asked = signal
    stop.abort()
  })
  try {
    return await work(stop.signal)
  } catch (error) {
    if (asked === undefined) throw error
    io.err(`tidegate: ${outcome}`)
    release()
    process.kill(process.pid, asked)
    throw error
  } finally {
    release()
  }
}

/** Signals that have another meaning in Node.js or by default, and none here. */
const idleSignals = ['SIGUSR1', 'SIGUSR2'] as const

/**
 * Calls `say` at SIGUSR1 and SIGUSR2, which then do nothing else. By default SIGUSR1 opens the inspector of Node.js,
 * through which every user of the machine could run code in this process, and SIGUSR2 ends it.
 */
export function onIdleSignals(say: (signal: NodeJS.Signals) => void): void {
  for (const signal of idleSignals) process.on(signal, say)
}

/**
 * Calls `reload` at SIGHUP. If the process was started on a terminal that is now closed, the signal ends it, as by
 * default.
 */
export function onHangup(reload: () => void): void {
  const hadTerminal = isatty(0)
  const listener = () => {
    if (!hadTerminal || isatty(0)) return reload()
    process.off('SIGHUP', listener)
    process.kill(process.pid, 'SIGHUP')
  }
  process.on('SIGHUP', listener)
}

/** Output of a command. Each call writes whole lines; the last line break is left out of `text`. */
export interface Io {
  /** Results, on standard output. */
  readonly out: (text: string) => void
  /** Messages, on standard error. */
  readonly err: (text: string) => void
}
