/** The helper processes of the store: how one is run, and what its exit status says. */
import { spawnSync } from 'node:child_process'
import { type StartedFile, startedPath } from '../../../primitives/packageRoot.js'

// Any other status than these is an error without an answer.

/** Whether the holder of a writer's lock is alive (`connectToHolder.ts`). */
export const holderStatus = { listens: 0, nobodyListens: 3 } as const

/** Whether a living process reads a store under this pid (`clearReaders.ts`). */
export const readersStatus = { pidIsFree: 0, pidIsTaken: 3 } as const

/** Whether all rows of a store can be read (`walkStore.ts`). */
export const walkStatus = { whole: 0, damaged: 5 } as const

export interface HelperEnd {
  /** Exit status; null if a signal or the system ended the process, or it could not be started. */
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  /** End of the process and its last output, for an unexpected error. */
  readonly account: string
}

/** Most bytes of a helper's output that an error shows. An error with its stack is shorter. */
export const printedBytesMax = 2_000

/**
 * Runs a helper process of this program to its end, at most `timeout` ms, and waits for it. The process gets
 * `descriptor` as descriptor 3. A crash or a missing file can cause an unknown exit status: then the caller throws, with
 * {@link HelperEnd.account}.
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

/** One line: the end of a process, and its last output. */
export function accountOf(end: string, printed: Uint8Array | undefined): string {
  const text = Buffer.from(printed ?? [])
    .subarray(-printedBytesMax)
    .toString('utf8')
    .trim()
  return text === '' ? end : `${end}; it printed: ${text.replaceAll(/\s*\n\s*/g, ' | ')}`
}
