/**
 * A process of this program that reads a store for long. It can be ended in the middle of a read: LMDB's copy cannot be
 * stopped, and no signal is handled within a long loop. Then this process frees its reader slot, which would keep pages
 * from being reused.
 */
import { fork } from 'node:child_process'
import { type StartedFile, startedPath } from '../../../primitives/packageRoot.js'
import { accountOf, type HelperEnd, printedBytesMax, runHelper } from './helperProcess.js'

export interface ReadingOptions<M> {
  readonly onMessage: (message: M) => void
  /** Ends the process once it is aborted. */
  readonly stop: AbortSignal
}

/**
 * Starts the process `name`, sends it a task, and resolves once it has ended and its output has arrived. Rejects with
 * the reason of `stop` if that was aborted, and with the error of the system if the process could not be started.
 */
export async function runReadingProcess<M>(
  name: StartedFile,
  task: { readonly path: string; readonly mapBytes: number },
  { onMessage, stop }: ReadingOptions<M>,
): Promise<HelperEnd> {
  stop.throwIfAborted()
  // LMDB prints lines about missing pages, which an error of the process may explain.
  const output = process.env.TIDEGATE_DEBUG === '1' ? 'inherit' : 'pipe'
  const child = fork(startedPath(name), { stdio: ['ignore', output, output, 'ipc'] })
  let printed = Buffer.alloc(0)
  const keepLast = (piece: Buffer) => {
    printed = Buffer.concat([printed, piece]).subarray(-printedBytesMax)
  }
  child.stdout?.on('data', keepLast)
  child.stderr?.on('data', keepLast)
  child.on('message', onMessage)
  const end = () => child.kill('SIGKILL')
  stop.addEventListener('abort', end)
  try {
    await new Promise<void>((resolve, reject) => {
      child.on('error', reject)
      // A message may arrive after the child has exited; once the channel is closed, too, none will come.
      const onOver = () => {
        if (!child.connected && (child.exitCode !== null || child.signalCode !== null)) resolve()
      }
      // On `close`, all its output has arrived.
      child.on('close', onOver)
      child.on('disconnect', onOver)
      // If the child ends before it has its task, its end is reported.
      child.send(task, () => undefined)
    })
  } finally {
    stop.removeEventListener('abort', end)
  }
  const { exitCode, signalCode } = child
  if (signalCode !== null) runHelper('clearReaders', [task.path, String(task.mapBytes), String(child.pid)])
  stop.throwIfAborted()
  return {
    status: exitCode,
    signal: signalCode,
    account: accountOf(signalCode ?? `status ${exitCode}`, printed),
  }
}
