/** Entry of the child process of `tidegate verify`: opens the store, checks it, and reports over the IPC channel. */
import { type VerifyReport, verifyChain } from '../ingest/verifyChain.js'
import { OperatorError } from '../primitives/faults.js'
import { ChainReader } from '../store/chainReader.js'

export interface VerifyTask {
  readonly storePath: string
  readonly mapBytes: number
  readonly blocks: number
  readonly seed: number
}

export type VerifyMessage =
  | { readonly type: 'progress'; readonly what: string; readonly done: number }
  | { readonly type: 'report'; readonly report: VerifyReport }
  | { readonly type: 'failed'; readonly message: string; readonly isDefect: boolean }

function send(message: VerifyMessage): void {
  process.send?.(message)
}

process.once('message', async (task: VerifyTask) => {
  try {
    const store = ChainReader.open({ path: task.storePath, mapBytes: task.mapBytes })
    const onProgress = (what: string, done: number) => send({ type: 'progress', what, done })
    const report = verifyChain(store, { blocks: task.blocks, seed: task.seed, onProgress })
    await store.close()
    send({ type: 'report', report })
  } catch (error) {
    const isDefect = !(error instanceof OperatorError)
    send({ type: 'failed', message: error instanceof Error ? error.message : String(error), isDefect })
  }
  process.disconnect()
})
