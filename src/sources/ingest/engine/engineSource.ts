/**
 * The source of a network under a consensus client. Opens the store at its genesis or where it was left, and answers
 * the client's calls one after the other. Owns the order of calls, and the report of a silent client.
 */
import { includesFork } from '../../../data/chain/forks.js'
import { requireIdentity } from '../../../data/store/chainRows.js'
import { type Address, bytesToBigInt, bytesToHex, type Hash32 } from '../../../primitives/bytes.js'
import { FaultError, messageRefused, OperatorError } from '../../../primitives/faults.js'
import { isObject } from '../../../primitives/jsonType.js'
import { setInterval } from '../../../primitives/timers.js'
import {
  type Announced,
  dataLimitsMethod,
  engineRequestMethod,
  type PoolQuestion,
  type SourceCalls,
} from '../../../primitives/upstreamCalls.js'
import type { UpstreamOptions } from '../../upstream/upstream.js'
import { Upstreams } from '../../upstream/upstreams.js'
import { BlockMaker } from '../develop/blockMaker.js'
import { UpstreamBlocks } from '../nodes/upstreamBlocks.js'
import { sourceEnded } from '../thread/callAnswerer.js'
import type { ConsensusTask, UpstreamsState } from '../thread/messages.js'
import { publishFigures } from '../thread/publishFigures.js'
import { checkMs, runSource, type Source, type SourceHost, takeCalls } from '../thread/runSource.js'
import { Announcements } from '../transactions/announcements.js'
import { Forwarding } from '../transactions/forwarding.js'
import { SentTransactions } from '../transactions/sentTransactions.js'
import { BeaconBlocks } from './beaconBlocks.js'
import { hasCellProofs } from './blobs.js'
import { dataLimitsText, readDataLimits } from './dataLimits.js'
import { Engine, type EngineEvents } from './engine.js'
import type { Json } from './engineFields.js'
import { CallCounts, type EngineFigures } from './engineFigures.js'
import { callEngine, type EngineService, engineMethods } from './engineMethods.js'
import { GapFiller } from './gapFiller.js'
import { inTurns, nodeSource } from './gapSources.js'
import { Silence } from './silence.js'

const lookMs = 1_000
/** Time between two looks at nodes, whose heads choose nothing here. */
const pollMs = 10_000

/** Runs until the signal is aborted. Rejects with OperatorError for a cause that the operator can remove. */
export async function obeyConsensus(task: ConsensusTask, host: SourceHost): Promise<void> {
  const { report, signal } = host
  await runSource(task, host, async (source) => {
    requireMerged(source)
    const { store, schedule, importer, publisher, onEnd } = source
    const say = (text: string) => report({ type: 'said', text })
    const maker = new BlockMaker(store, schedule, say)
    let forwarding: Forwarding | undefined
    const onChoice = async () => {
      report({ type: 'head' })
      forwarding?.onHead()
      await publisher?.committed()
    }
    let gap: GapFiller | undefined
    const events: EngineEvents = {
      onChoice,
      say,
      onUnlinked: (block) => gap?.receive(block),
      onUnknownHead: (head) => gap?.want(head),
    }
    const engine = new Engine({ store, schedule, importer, maker, events })
    let silent: string | undefined
    let upstreams: Upstreams | undefined
    let beacon: BeaconBlocks | undefined
    let receivers: Upstreams | undefined
    const reportState = stateReporter(report, () => ({
      head: gap?.number,
      // The consensus client continues without nodes.
      isDown: false,
      nodes: [...(upstreams?.states() ?? []), ...(receivers?.states() ?? [])],
      ...(beacon && { beaconNodes: beacon.states() }),
      trouble: silent ?? gap?.trouble,
    }))
    const silence = new Silence(performance.now(), (trouble) => {
      silent = trouble
      reportState()
    })
    const { from, beaconNodes, transactions } = task.consensus
    upstreams = await openUpstreams(from, source, say)
    beacon = beaconNodes.length === 0 ? undefined : openBeacon(beaconNodes, source, say)
    receivers = await openUpstreams(transactions.to, source, say)
    forwarding = receivers && forwardingTo(receivers, source, maker, say)
    const calls = new ConsensusCalls({ engine, store, schedule, maker }, { silence, forwarding, say })
    gap = gapFillerOf(source, task.consensus, { upstreams, beacon, engine, calls, onChoice, report, say })
    const look = () => {
      silence.look(performance.now())
      calls.reportDataLimits()
      reportState()
    }
    const timer = setInterval(look, lookMs).unref()
    onEnd(() => clearInterval(timer))
    takeCalls(host, onEnd, calls)
    onEnd(() => calls.end())
    report({ type: 'opened' })
    const readEngine = () => calls.figures(gap)
    onEnd(
      publishFigures(report, {
        store,
        importer,
        engine: readEngine,
        ...(upstreams && { upstreams }),
        beacon,
      }),
    )
    report({ type: 'head' })
    const stopped = () => new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    const closeNodes = () => {
      upstreams?.close()
      beacon?.close()
      receivers?.close()
    }
    signal.addEventListener('abort', closeNodes, { once: true })
    if (!signal.aborted) await (gap?.run(signal) ?? stopped())
  })
}

/** Undefined if there are no nodes. Throws OperatorError if one is of another chain. */
async function openUpstreams(
  nodes: readonly UpstreamOptions[],
  { store, onEnd }: Source,
  log: (text: string) => void,
): Promise<Upstreams | undefined> {
  if (nodes.length === 0) return undefined
  const { chainId, genesisHash } = requireIdentity(store)
  const storedBlock = () => {
    const block = store.readMarker('finalized')
    return block && { number: block.number, hash: bytesToHex(block.hash) }
  }
  const chain = { chainId: BigInt(chainId), genesisHash, storedBlock }
  const upstreams = new Upstreams(nodes, { chain, pollMs, log })
  onEnd(() => upstreams.close())
  await upstreams.check(checkMs)
  return upstreams
}

/** Asks the nodes for their state at once, and again and again until the source ends. */
function openBeacon(
  nodes: readonly UpstreamOptions[],
  { schedule, onEnd }: Source,
  log: (text: string) => void,
): BeaconBlocks {
  const beacon = new BeaconBlocks(nodes, schedule, log)
  void beacon.look()
  const timer = setInterval(() => void beacon.look(), pollMs).unref()
  onEnd(() => {
    clearInterval(timer)
    beacon.close()
  })
  return beacon
}

function forwardingTo(
  upstreams: Upstreams,
  { store, onEnd }: Source,
  maker: BlockMaker,
  log: (text: string) => void,
): Forwarding {
  const nonceOf = async (address: Address) => maker.accountOf(address)?.nonce ?? 0n
  const sent = new SentTransactions(store, upstreams, { nonceOf, log })
  const forwarding = new Forwarding(upstreams, sent, log)
  onEnd(() => forwarding.close())
  return forwarding
}

/** Undefined if there are no nodes. */
function gapFillerOf(
  { store, schedule, importer, session }: Source,
  { fetchMsMax, gap: limits }: ConsensusTask['consensus'],
  {
    upstreams,
    beacon,
    engine,
    calls,
    onChoice,
    report,
    say,
  }: {
    readonly upstreams: Upstreams | undefined
    readonly beacon: BeaconBlocks | undefined
    readonly engine: Engine
    readonly calls: ConsensusCalls
    readonly onChoice: () => Promise<void>
    readonly report: SourceHost['report']
    readonly say: (text: string) => void
  },
): GapFiller | undefined {
  const nodes = upstreams && nodeSource(new UpstreamBlocks(upstreams, fetchMsMax, schedule))
  const sources = [nodes, beacon].filter((each) => each !== undefined)
  if (sources.length === 0) return undefined
  return new GapFiller({
    store,
    importer,
    session,
    blocks: inTurns(sources),
    limits,
    rejected: engine.rejected,
    inTurn: (work) => calls.inTurn(work),
    reject: (error, asked, parentHash) => engine.reject(error, asked, parentHash),
    onFilled: onChoice,
    report,
    say,
  })
}

/** Returns a function that reports the state if it has changed. */
function stateReporter(
  report: SourceHost['report'],
  read: () => Omit<UpstreamsState, 'trouble'> & { readonly trouble: string | undefined },
): () => void {
  // Nothing is reported while a client calls and there are no nodes.
  let reported = JSON.stringify({ isDown: false, nodes: [] })
  return () => {
    const { trouble, ...state } = read()
    const next: UpstreamsState = { ...state, ...(trouble !== undefined && { trouble }) }
    const text = JSON.stringify(next)
    if (text === reported) return
    reported = text
    report({ type: 'upstream', state: next })
  }
}

/** Throws OperatorError for a chain of proof of work, whose blocks no consensus client knows. */
function requireMerged({ store, schedule }: Source): void {
  const total = store.readTotalDifficulty(store.head.hash)
  if (total !== undefined && schedule.isMerged(bytesToBigInt(total))) return
  throw new OperatorError(
    `block ${store.head.number}, the last one of the store ${store.path}, is before the Merge, and consensus clients choose only later ones; import the chain up to the Merge, or begin from a state after it`,
  )
}

interface CallParts {
  readonly silence: Silence
  /** Undefined if no node gets transactions. */
  readonly forwarding: Forwarding | undefined
  /** Takes sentences for the operator. */
  say(text: string): void
}

/** Calls of the consensus client through `relay`, and those of all others about transactions. */
class ConsensusCalls implements SourceCalls {
  readonly #service: EngineService
  readonly #silence: Silence
  readonly #forwarding: Forwarding | undefined
  readonly #say: (text: string) => void
  readonly #announcements = new Announcements()
  readonly #counts = new CallCounts((method) => engineMethods.has(method))
  #reportedDataLimits: string | undefined
  /** Settles once all earlier calls have; the specification asks for their order. */
  #last: Promise<unknown> = Promise.resolve()
  #hasEnded = false

  constructor(service: EngineService, { silence, forwarding, say }: CallParts) {
    this.#service = service
    this.#silence = silence
    this.#forwarding = forwarding
    this.#say = say
  }

  /** Refuses further calls. Resolves when no call is running. */
  async end(): Promise<void> {
    this.#hasEnded = true
    void this.#announcements.close()
    await this.#last
  }

  /** Runs `work` between two calls. Rejects as it does, and with SourceEnded. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(() => {
      if (this.#hasEnded) throw new FaultError(sourceEnded)
      return work()
    })
    this.#last = done.catch(() => undefined)
    return done
  }

  /**
   * Answers a call of the Engine API; `params` and the answer's members `result` or `error` are JSON. Also answers
   * {@link dataLimitsMethod}, of any caller, by its result alone. Rejects with FaultError.
   */
  async relay(method: string, params: string): Promise<string> {
    if (method === dataLimitsMethod) {
      this.#service.maker.dataLimits = readDataLimits(JSON.parse(params))
      return 'true'
    }
    const begunMs = performance.now()
    this.#silence.called(begunMs)
    return this.inTurn(async () =>
      method === engineRequestMethod
        ? this.#answerWhole(params, begunMs)
        : JSON.stringify(await this.#answer(method, JSON.parse(params), begunMs)),
    )
  }

  async #answer(method: string, params: unknown, begunMs: number): Promise<Json> {
    const answer = await callEngine(this.#service, method, params)
    this.#counts.add(method, answer, performance.now() - begunMs)
    return answer
  }

  async #answerWhole(text: string, begunMs: number): Promise<string> {
    const failed = (code: number, message: string) =>
      JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })
    let request: unknown
    try {
      request = JSON.parse(text)
    } catch {
      return failed(-32700, 'parse error')
    }
    const { id = null, method, params = [] } = isObject(request) ? request : {}
    if (typeof method !== 'string') return failed(-32600, 'invalid request')
    const { result, error } = await this.#answer(method, params, begunMs)
    return JSON.stringify({ jsonrpc: '2.0', id, result, error })
  }

  figures(gap: GapFiller | undefined): EngineFigures {
    const { calledAtMs, silentSinceMs } = this.#silence
    return { ...this.#counts.read(), calledAtMs, silentSinceMs, gap: gap?.figures }
  }

  /** Informs the operator if the limits have changed since the last call. */
  reportDataLimits(): void {
    const text = dataLimitsText(this.#service.maker.dataLimits)
    if (text === this.#reportedDataLimits) return
    this.#reportedDataLimits = text
    if (text !== undefined) this.#say(text)
  }

  async send(raw: Uint8Array): Promise<Hash32> {
    const { maker } = this.#service
    // The time of the next block is not known; its fork is the head's, or a later one.
    const timestamp = Number(maker.head.timestamp) + 1
    const tx = maker.check(raw, timestamp)
    if (tx.blobCount > 0) {
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
    this.#forwarding?.add(tx)
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
