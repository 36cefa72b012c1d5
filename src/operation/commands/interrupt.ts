import { isatty } from 'node:tty'

/**
 * Calls `stop` at the first Ctrl-C or SIGTERM. A second one ends the process at once, by that signal: `process.exit`
 * would first end every thread in order, and aborts where one is still loading its modules. Returns a function that
 * stops listening for signals.
 */
export function onInterrupt(stop: () => void): () => void {
  let asked = false
  const listener = (signal: NodeJS.Signals) => {
    if (!asked) {
      asked = true
      stop()
      return
    }
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
 * Calls `say` at SIGUSR1 and SIGUSR2, which do nothing else then. By default SIGUSR1 opens the inspector of Node.js,
 * through which every user of the machine could run code in this process, and SIGUSR2 ends it.
 */
export function onIdleSignals(say: (signal: NodeJS.Signals) => void): void {
  for (const signal of idleSignals) process.on(signal, say)
}

/**
 * Calls `reload` at SIGHUP. Where the process was started on a terminal and that is gone, the signal ends the process
 * as by default.
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
