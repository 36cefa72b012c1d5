/** The source of a network that follows other nodes: opens its store, and what works on it beside the {@link Follower}. */
import type { Publisher } from '../../feed/publisher.js'
import { decodeAccount } from '../../state/account.js'
import { Upstreams } from '../../upstream/upstreams.js'
import { CallTaker } from '../callTaker.js'
import type { OpenPublisher } from '../feed/publishSource.js'
import { ChainImporter } from '../importer.js'
import { Intake } from '../intake.js'
import type { FollowTask, IngestMessage } from '../messages.js'
import { PassedOn } from '../passedOn.js'
import { publishFigures } from '../publishFigures.js'
import { closePublished, openTaskStore } from '../taskStore.js'
import { Follower } from './follower.js'
import { genesisOfNode } from './nodeGenesis.js'

/** How long the start waits for an upstream to say which chain it has, so that a wrong one is refused at once. */
const checkMs = 2_000
/**
 * Follows until `signal` is aborted. Gives `onReady` what takes calls, and calls `openPublisher`, once the store is
 * open. Rejects with OperatorError where an upstream is of another chain at the start.
 */
export async function followChain(
  task: FollowTask,
  report: (message: IngestMessage) => void,
  signal: AbortSignal,
  onReady: (calls: CallTaker) => void,
  openPublisher: OpenPublisher = () => undefined,
): Promise<void> {
  const notice = (text: string) => report({ type: 'said', text })
  const { store, schedule } = await openFollowedStore(task, report, signal)
  const ends: (() => unknown)[] = []
  let publisher: Publisher | undefined
  try {
    publisher = openPublisher(store)
    const { chainId, genesisHash } = store.readIdentity() ?? {}
    if (chainId === undefined || genesisHash === undefined) throw new Error('the store has no genesis')
    const { upstreams: nodes, pollMs, quorum } = task.follow
    const upstreams = new Upstreams(nodes, {
      chain: { chainId: BigInt(chainId), genesisHash },
      pollMs,
      quorum,
      log: notice,
    })
    ends.push(() => upstreams.close())
    await upstreams.check(checkMs)
    const passedOn = new PassedOn(store, upstreams, {
      schedule,
      timeoutMs: task.follow.timeoutMs,
      log: notice,
      nonceOf: async (address) => {
        const row = store.readAccount(address)
        return row === undefined ? 0n : decodeAccount(row).nonce
      },
    })
    ends.push(() => passedOn.close())
    const calls = new CallTaker(report, async (call) => {
      if (call.type === 'fetch') throw new Error('a follower holds everything and fetches nothing else')
      return passedOn.answer(call)
    })
    ends.push(() => calls.end())
    onReady(calls)
    report({ type: 'opened' })
    const importer = new ChainImporter(store, schedule)
    ends.push(publishFigures(report, { store, importer, upstreams }))
    const intake = new Intake(importer, store, 0, report, publisher)
    const tell = (message: IngestMessage) => {
      report(message)
      if (message.type === 'head') passedOn.onHead()
    }
    await new Follower(task.follow, store, intake, upstreams, tell, signal).run()
    await intake.commit()
    report({ type: 'finished', progress: intake.progress(), stopped: signal.aborted })
  } finally {
    await Promise.all(ends.reverse().map((end) => end()))
    await closePublished(store, publisher)
  }
}

/** Opens the store of a task as {@link openTaskStore} does, with the genesis of the node that is followed. */
export function openFollowedStore(
  task: FollowTask,
  report: (message: IngestMessage) => void,
  signal: AbortSignal,
): ReturnType<typeof openTaskStore> {
  const notice = (text: string) => report({ type: 'said', text })
  return openTaskStore(task, report, (genesis, text, store) =>
    genesisOfNode(genesis, text, store, task.follow.upstreams, { notice, signal }),
  )
}
