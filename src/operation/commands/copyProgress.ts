import { bar, lineMs } from './importProgress.js'

/** Shows how a copy goes, file by file: a bar that redraws itself on a terminal, JSON lines elsewhere. */
export interface CopyView {
  /** `done` of `what`, from 0 to 1. */
  update(what: string, done: number): void
  /** Removes the bar. */
  clear(): void
}

export function createCopyView(
  event: string,
  terminal: NodeJS.WriteStream,
  line: (text: string) => void,
): CopyView {
  if (terminal.isTTY) {
    return {
      update: (what, done) =>
        terminal.write(`\r\x1b[K${event} ${bar(done)} ${Math.floor(done * 100)} %  ${what}`),
      clear: () => terminal.write('\r\x1b[K'),
    }
  }
  let nextMs = performance.now() + lineMs
  return {
    update(what, done) {
      if (performance.now() < nextMs) return
      nextMs = performance.now() + lineMs
      line(JSON.stringify({ event, what, done: Math.round(done * 1_000) / 1_000 }))
    },
    clear() {},
  }
}
