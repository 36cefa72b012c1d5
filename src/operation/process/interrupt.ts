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
export function onInterrupt(stop: () => void): () => void {
  let asked: { readonly signal: NodeJS.Signals; readonly atMs: number } | undefined
  const isOfNpm = npmScripts.includes(process.env.npm_lifecycle_event ?? '')
  const listener = (signal: NodeJS.Signals) => {
    if (asked === undefined) {
      asked = { signal, atMs: performance.now() }
      stop()
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
 * Calls `reload` at SIGHUP. If the process was started on a terminal that is now gone, the signal ends it, as by
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
