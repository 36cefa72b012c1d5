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
