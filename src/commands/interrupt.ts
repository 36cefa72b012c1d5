/** Calls `stop` at the first Ctrl-C or SIGTERM; a second one ends the process at once. Returns a function that lets go. */
export function onInterrupt(stop: () => void): () => void {
  let asked = false
  const listener = () => {
    if (asked) process.exit(1)
    asked = true
    stop()
  }
  process.on('SIGINT', listener)
  process.on('SIGTERM', listener)
  return () => {
    process.off('SIGINT', listener)
    process.off('SIGTERM', listener)
  }
}
