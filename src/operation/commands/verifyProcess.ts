/** Entry of the child process of `tidegate verify`: opens the store, checks it, and reports over the IPC channel. */

import { ChainReader } from '../../data/store/chainReader.js'
import { storeKindOf } from '../../data/store/chainRows.js'
import { OperatorError } from '../../primitives/faults.js'
import { type GatewayReport, verifyGateway } from '../../sources/ingest/gateway/verifyGateway.js'
import { type VerifyReport, verifyChain } from '../../sources/ingest/verify/verifyChain.js'

export interface VerifyTask {
  readonly path: string
  readonly mapBytes: number
  readonly blocks: number
  readonly seed: number
}

export type VerifyMessage =
  | { readonly type: 'progress'; readonly what: string; readonly done: number }
  | { readonly type: 'report'; readonly report: VerifyReport | GatewayReport }
  /** The operator can correct the cause; `message` says how. */
  | { readonly type: 'refused'; readonly message: string }
  /** The store could not be read or decoded. */
  | { readonly type: 'unreadable'; readonly why: string }

process.once('message', async (task: VerifyTask) => {
  const last = await check(task)
  // Only once the message is sent, and never within the handler of the incoming message: disconnecting there crashes
  // Node.
  process.send?.(last, () => {
    if (process.connected) process.disconnect()
  })
})

/**
 * Any error while the store is read, in LMDB's tree or in RLP, is a fault of the store, because there is no other
 * input.
 */
async function check({ path, mapBytes, blocks, seed }: VerifyTask): Promise<VerifyMessage> {
  try {
    const store = ChainReader.open({ path, mapBytes })
    const onProgress = (what: string, done: number) => {
      const progress: VerifyMessage = { type: 'progress', what, done }
      process.send?.(progress)
    }
    const identity = store.readIdentity()
    const isGateway = identity !== undefined && storeKindOf(identity).blocks === 'proved'
    const report = isGateway
      ? verifyGateway(store, onProgress)
      : verifyChain(store, { blocks, seed, onProgress })
    await store.close()
    return { type: 'report', report }
  } catch (error) {
    if (process.env.TIDEGATE_DEBUG === '1') console.error(error)
    if (error instanceof OperatorError) return { type: 'refused', message: error.message }
    return { type: 'unreadable', why: error instanceof Error ? error.message : String(error) }
  }
}
