/** The source of a network that follows other nodes: the {@link Follower} and the other users of its store. */

import { decodeAccount } from '../../../data/state/account.js'
import { requireIdentity } from '../../../data/store/chainRows.js'
import { openNodes } from '../nodes/sourceNodes.js'
import type { FollowTask, IngestMessage } from '../thread/messages.js'
import { publishFigures } from '../thread/publishFigures.js'
import { checkMs, runSource, type Source, type SourceHost, takeCalls } from '../thread/runSource.js'
import { openTaskStore } from '../thread/taskStore.js'
import { Relay } from '../transactions/relay.js'
import { Follower } from './follower.js'
import { genesisOfNode } from './nodeGenesis.js'

/** Follows until the signal is aborted. Rejects with OperatorError if an upstream is of another chain at the start. */
export function followChain(task: FollowTask, host: SourceHost): Promise<void> {
  const { report, signal } = host
  const log = (text: string) => report({ type: 'said', text })
  const open = () => openFollowedStore(task, host)
  const follow = async ({ store, schedule, importer, session, onEnd }: Source) => {
    const identity = requireIdentity(store)
    const { timeoutMs } = task.follow
    const parts = { identity, schedule, store, requestMs: timeoutMs, log, onEnd }
    const { upstreams, blocks, signed } = openNodes(task.follow, parts)
    await upstreams.check(checkMs)
    const relay = new Relay(store, upstreams, {
      schedule,
      proveHead: signed && ((checkpoint, blockHash) => signed.prove(checkpoint, blockHash)),
      timeoutMs,
      log,
      nonceOf: async (address) => {
        const row = store.readAccount(address)
        return row === undefined ? 0n : decodeAccount(row).nonce
      },
    })
    onEnd(() => relay.close())
    takeCalls(host, onEnd, relay)
    report({ type: 'opened' })
    onEnd(publishFigures(report, { store, importer, upstreams, signed }))
    const reportToBoth = (message: IngestMessage) => {
      report(message)
      if (message.type === 'head') relay.onHead()
    }
    const ending = new AbortController()
    const until = AbortSignal.any([signal, ending.signal])
    const follower = new Follower(
      task.follow,
      { store, session, upstreams, blocks, signed, report: reportToBoth },
      until,
    )
    // When one ends, it ends the other; then nothing uses the store any more.
    const running = [follower.run(), ...(signed ? [signed.run(until)] : [])]
    const outcomes = await Promise.allSettled(running.map((each) => each.finally(() => ending.abort())))
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }
  return runSource(task, host, follow, open)
}

/** Opens the store of a task as {@link openTaskStore} does, with the genesis of the followed node. */
export function openFollowedStore(
  task: FollowTask,
  { report, signal }: SourceHost,
): ReturnType<typeof openTaskStore> {
  const notice = (text: string) => report({ type: 'said', text })
  return openTaskStore(task, (genesis, text, store) =>
    genesisOfNode(genesis, text, store, task.follow.upstreams, { notice, signal }),
  )
}
