/**
 * The source of a network under a consensus client: opens the store at its genesis or where it was left, and answers the
 * client's calls one after the other. Owns the order of calls, and the report of a client that is silent.
 */
import { includesFork } from '../../../data/chain/forks.js'
import { type Address, bytesToBigInt, type Hash32 } from '../../../primitives/bytes.js'
import { FaultError, messageRefused, OperatorError } from '../../../primitives/faults.js'
import { setInterval } from '../../../primitives/timers.js'
import type { Announced, PoolQuestion, SourceCalls } from '../../../primitives/upstreamCalls.js'
import { BlockMaker } from '../develop/blockMaker.js'
import { sourceEnded } from '../thread/callAnswerer.js'
import type { ConsensusTask } from '../thread/messages.js'
import { publishFigures } from '../thread/publishFigures.js'
import { runSource, type Source, type SourceHost, takeCalls } from '../thread/runSource.js'
import { Announcements } from '../transactions/announcements.js'
import { hasCellProofs } from './blobs.js'
import { Engine } from './engine.js'
import { callEngine, type EngineService } from './engineMethods.js'
import { Silence } from './silence.js'

const lookMs = 1_000

/** Runs until the signal is aborted. Rejects with OperatorError for a cause that the operator can remove. */
export async function obeyConsensus(task: ConsensusTask, host: SourceHost): Promise<void> {
  const { report, signal } = host
  await runSource(task, host, async (source) => {
    requireMerged(source)
    const { store, schedule, importer, publisher, onEnd } = source
    const say = (text: string) => report({ type: 'said', text })
    const maker = new BlockMaker(store, schedule, say)
    const onChoice = async () => {
      report({ type: 'head' })
      await publisher?.committed()
    }
    const engine = new Engine({ store, schedule, importer, maker, events: { onChoice, say } })
    const silence = new Silence(performance.now(), (trouble) => {
      const state = { head: undefined, isDown: false, nodes: [], ...(trouble !== undefined && { trouble }) }
      report({ type: 'upstream', state })
    })
    const timer = setInterval(() => silence.look(performance.now()), lookMs).unref()
    onEnd(() => clearInterval(timer))
    const calls = new ConsensusCalls({ engine, store, schedule, maker }, silence)
    takeCalls(host, onEnd, calls)
    onEnd(() => calls.end())
    report({ type: 'opened' })
    onEnd(publishFigures(report, { store, importer }))
    report({ type: 'head' })
    if (!signal.aborted)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  })
}

/** Throws OperatorError for a chain of proof of work, whose blocks no consensus client knows. */
function requireMerged({ store, schedule }: Source): void {
  const total = store.readTotalDifficulty(store.head.hash)
  if (total !== undefined && schedule.isMerged(bytesToBigInt(total))) return
  throw new OperatorError(
    `block ${store.head.number}, the last one of the store ${store.path}, is before the Merge, and consensus clients choose only later ones; import the chain up to the Merge, or begin from a state after it`,
  )
}

/** Calls of the consensus client through `relay`, and those of all others about transactions. */
class ConsensusCalls implements SourceCalls {
  readonly #service: EngineService
  readonly #silence: Silence
  readonly #announcements = new Announcements()
  /** Settles once all earlier calls have; the specification asks for their order. */
  #last: Promise<unknown> = Promise.resolve()
  #hasEnded = false

  constructor(service: EngineService, silence: Silence) {
    this.#service = service
    this.#silence = silence
  }

  /** Refuses further calls. Resolves when none is under way. */
  async end(): Promise<void> {
    this.#hasEnded = true
    void this.#announcements.close()
    await this.#last
  }

  /** Answers a call of the Engine API; `params` and the answer's members `result` or `error` are JSON. */
  relay(method: string, params: string): Promise<string> {
    this.#silence.called(performance.now())
    const answer = this.#last.then(async () => {
      if (this.#hasEnded) throw new FaultError(sourceEnded)
      return JSON.stringify(await callEngine(this.#service, method, JSON.parse(params)))
    })
    this.#last = answer.catch(() => undefined)
    return answer
  }

  async send(raw: Uint8Array): Promise<Hash32> {
    const { maker } = this.#service
    // The time of the next block is not known; its fork is the head's, or a later one.
    const timestamp = Number(maker.head.timestamp) + 1
    const { blobCount } = maker.check(raw, timestamp)
    if (blobCount > 0) {
      const isByCells = includesFork(maker.nextFork(timestamp), 'osaka')
      if (hasCellProofs(raw) !== isByCells)
        throw messageRefused(
          `blobs need ${isByCells ? 'proofs of their cells' : 'one proof each'} at this fork`,
        )
      const { checkSidecar } = await import('../develop/blobSidecars.js')
      checkSidecar(raw)
    }
    const hash = maker.take(raw, timestamp)
    this.#announcements.add(hash)
    return hash
  }

  async pending(hash: Hash32): Promise<Uint8Array | undefined> {
    return this.#service.maker.waiting.find(hash)
  }

  async waiting(sender: Address, next: bigint): Promise<number> {
    return this.#service.maker.waiting.countFrom(sender, next)
  }

  async pool(question: PoolQuestion, sender: Address | undefined): Promise<Uint8Array> {
    return this.#service.maker.waiting.poolJson(question, sender)
  }

  announced(after: number | undefined, waitMs: number): Promise<Announced> {
    return this.#announcements.since(after, waitMs)
  }
}
