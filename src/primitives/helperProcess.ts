import { spawnSync } from 'node:child_process'
import { type StartedFile, startedPath } from './builtFile.js'

export interface HelperEnd {
  /** Exit status; null where a signal or the system ended the process, or it could not be started. */
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  /** How it ended and what it printed last, for an error that nobody expected. */
  readonly account: string
}

/** Bytes of what a helper printed that an error shows. An error with its stack is shorter. */
export const printedBytesMax = 2_000

/**
 * Runs a process of this program to its end, at most `timeout` ms, and waits for it. `descriptor` is passed on as
 * descriptor 3. Each exit
 * status has one meaning that the helper gives it; the caller throws for all others, which a crash or a missing file
 * can cause, and shows {@link HelperEnd.account}.
 */
export function runHelper(
  name: StartedFile,
  words: readonly string[],
  { descriptor, timeout }: { readonly descriptor?: number; readonly timeout?: number } = {},
): HelperEnd {
  const { status, signal, error, stderr } = spawnSync(process.execPath, [startedPath(name), ...words], {
    stdio: ['ignore', 'ignore', 'pipe', descriptor ?? 'ignore'],
    ...(timeout !== undefined && { timeout }),
  })
  return { status, signal, account: accountOf(error?.message ?? signal ?? `status ${status}`, stderr) }
}

/** One line: how a process ended, and the last of what it printed. */
export function accountOf(end: string, printed: Uint8Array | undefined): string {
  const text = Buffer.from(printed ?? [])
    .subarray(-printedBytesMax)
    .toString('utf8')
    .trim()
  return text === '' ? end : `${end}; it printed: ${text.replaceAll(/\s*\n\s*/g, ' | ')}`
}
