/** Entry of the child process of `copyStore`: opens a store, and copies it as it is at one moment to a new file. */
import { OperatorError } from '../../../primitives/faults.js'
import { syncPath } from '../../../primitives/files.js'
import { errorText, openEnvironment } from './environment.js'

export interface CopyTask {
  readonly path: string
  readonly mapBytes: number
  /** A new file. */
  readonly to: string
}

export type CopyMessage =
  /** The copy is on disk. */
  | { readonly type: 'copied' }
  /** The store cannot be opened; `message` is the whole error. */
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'failed'; readonly why: string }

// A copy without a parent is of no use, and would keep pages of the store.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))

process.once('message', async (task: CopyTask) => {
  const last = await copy(task)
  process.send?.(last, () => process.exit(0))
})

async function copy({ path, mapBytes, to }: CopyTask): Promise<CopyMessage> {
  try {
    const environment = openEnvironment({ path, mapBytes, readOnly: true })
    try {
      await environment.backup(to, true)
      syncPath(to)
    } finally {
      await environment.close()
    }
    return { type: 'copied' }
  } catch (error) {
    if (error instanceof OperatorError) return { type: 'refused', message: error.message }
    return { type: 'failed', why: errorText(error) }
  }
}
