/** The source of a gateway: its upstreams, its store, and fetching for callers. One per network. */

import { once } from 'node:events'
import { ForkSchedule } from '../../../data/chain/forks.js'
import { headOf, unknownForkOf } from '../../../data/chain/header.js'
import { identityWithForks, knownIdentity } from '../../../data/chain/knownNetworks.js'
import type { ChainIdentity } from '../../../data/store/chainRows.js'
import { GatewayWriter } from '../../../data/store/gatewayWriter.js'
import { pause } from '../../../primitives/deferred.js'
import { OperatorError } from '../../../primitives/faults.js'
import type { FetchMissing } from '../../../primitives/notStored.js'
import { setTimeout } from '../../../primitives/timers.js'
import { Upstream } from '../../upstream/upstream.js'
import type { Upstreams } from '../../upstream/upstreams.js'
import { parseGenesis } from '../blocks/genesis.js'
import { chainOf } from '../nodes/chainOf.js'
import { SignedLinks } from '../nodes/signedLinks.js'
import { openNodes } from '../nodes/sourceNodes.js'
import type { GatewayTask } from '../thread/messages.js'
import { publishFigures } from '../thread/publishFigures.js'
import { reportUpstreams } from '../thread/reportUpstreams.js'
import { checkMs, Ends, noProgress, type SourceHost, takeCalls } from '../thread/runSource.js'
import { Relay } from '../transactions/relay.js'
import { HeadKeeper } from './headKeeper.js'
import { LogFiller } from './logFiller.js'
import { WorkingSet } from './workingSet.js'

/** Wait between two attempts to learn the chain from upstreams. */
const identityRetryMs = 1_000
/** Maximum wait for a head of upstreams before the stored one is served. */
const headMsMax = 3_000

/** Runs until the signal is aborted. Rejects with OperatorError for problems that the operator can fix. */
export async function runGateway(task: GatewayTask, host: SourceHost): Promise<void> {
  const { report, signal: stopped } = host
  const log = (text: string) => report({ type: 'said', text })
  const store = GatewayWriter.open({ path: task.storePath, mapBytes: task.mapBytes })
  const ends = new Ends()
  try {
    const identity = store.readIdentity() ?? (await learnIdentity(task, log, stopped))
    if (identity === undefined) return report({ type: 'finished', progress: noProgress, stopped: true })
    store.begin(identity)
    const schedule = ForkSchedule.of(identity)
    const { fetchMsMax, historyBlocks, logs, workingSet: plan } = task
    const parts = { identity, schedule, store, requestMs: fetchMsMax, log, onEnd: ends.add }
    const { upstreams, blocks, signed } = openNodes(task, parts)
    store.keptBlocks = historyBlocks
    const workingSet = new WorkingSet(store, upstreams, {
      schedule,
      fetchMsMax,
      log,
      plan,
    })
    const { fetcher, reader } = workingSet
    ends.add(() => workingSet.close())
    ends.add(publishFigures(report, { store, upstreams, fetcher, signed, workingSet }))
    const filler = openFiller(store, fetcher, logs, { upstreams, log })
    ends.add(() => filler?.close())
    const relay = new Relay(store, upstreams, {
      schedule,
      proveHead: signed && ((checkpoint, blockHash) => signed.prove(checkpoint, blockHash)),
      timeoutMs: fetchMsMax,
      log,
      nonceOf: (address) => fetcher.readNonce(address),
    })
    ends.add(() => relay.close())
    const heads = new ReportedHeads(store, report)
    const onHead = () => {
      heads.onHead()
      relay.onHead()
      filler?.wake()
      workingSet.onHead()
    }
    const keeper = new HeadKeeper(store, fetcher, reader, {
      schedule,
      historyBlocks,
      linkTo: logs?.from,
      choice: upstreams.choice,
      signed,
      links: signed && new SignedLinks(blocks),
      onHead,
      onLinked() {
        heads.onLinked()
        filler?.wake()
      },
      log,
    })
    ends.add(() => keeper.close())
    ends.add(reportUpstreams(report, upstreams, () => keeper.trouble, signed, workingSet))
    const fetch: FetchMissing = async (wanted, call) => (await fetcher.fetch(wanted, call)) === 'absent'
    takeCalls(host, ends.add, Object.assign(relay, { fetch }))
    // Without an upstream, the stored data is served unchanged; a head is reported once it is the upstreams' head. A
    // signed head may come much later, and the stored one was signed. Some upstreams may answer, but too few for a
    // head.
    ends.add(heads.openWithin(headMsMax))
    const isReachable = await upstreams.check(checkMs)
    if (signed !== undefined || !isReachable) heads.openStored()
    ends.add(upstreams.onHead((claim) => keeper.follow(claim)))
    if (upstreams.head !== undefined) void keeper.follow(upstreams.head.claim)
    if (signed !== undefined) await signed.run(stopped)
    else if (!stopped.aborted) await once(stopped, 'abort')
  } finally {
    await ends.end()
    await store.close()
  }
  report({ type: 'finished', progress: noProgress, stopped: true })
}

/** Fills the log index if the configuration requires the whole index. */
function openFiller(
  store: GatewayWriter,
  fetcher: WorkingSet['fetcher'],
  logs: GatewayTask['logs'],
  options: { readonly upstreams: Upstreams; readonly log: (text: string) => void },
): LogFiller | undefined {
  store.keepsLogIndex = logs !== undefined && !logs.lazy
  if (!store.keepsLogIndex) return undefined
  const filler = new LogFiller(store, fetcher, { from: logs?.from ?? 0, ...options })
  filler.wake()
  return filler
}

/** Reports heads, but none before the store may be read. */
class ReportedHeads {
  readonly #store: GatewayWriter
  readonly #report: SourceHost['report']
  #isOpened = false
  #isOutdated = false

  constructor(store: GatewayWriter, report: SourceHost['report']) {
    this.#store = store
    this.#report = report
  }

  open(): void {
    if (!this.#isOpened) this.#report({ type: 'opened' })
    this.#isOpened = true
  }

  /** Like {@link open}, but only if there is a head. */
  openStored(): void {
    if (this.#store.readHead() !== undefined) this.open()
  }

  /** Like {@link openHeld}, but after `ms`. Returns a function that ends the wait. */
  openWithin(ms: number): () => void {
    if (this.#store.readHead() === undefined) return () => {}
    const opening = setTimeout(() => this.open(), ms)
    return () => clearTimeout(opening)
  }

  /** Called when older headers were linked to the head. */
  onLinked(): void {
    this.open()
    this.#report({ type: 'head' })
  }

  onHead(): void {
    const head = headOf(this.#store)
    const why = head && unknownForkOf(head.header)
    if (why !== undefined && !this.#isOutdated) this.#report({ type: 'said', text: why, isError: true })
    this.#isOutdated ||= why !== undefined
    if (this.#isOpened) this.#report({ type: 'head' })
  }
}

type AskedIdentity = Pick<
  GatewayTask,
  'genesis' | 'network' | 'forks' | 'chainId' | 'upstreams' | 'fetchMsMax'
>

/** The configured chain, or that of the upstreams; undefined if the gateway is stopped first. */
export async function learnIdentity(
  { genesis, network, forks, chainId, upstreams, fetchMsMax }: AskedIdentity,
  log: (text: string) => void,
  stopped: AbortSignal,
): Promise<ChainIdentity | undefined> {
  if (genesis !== undefined) {
    try {
      return parseGenesis(genesis.text).identity
    } catch (error) {
      throw new OperatorError(`${genesis.path}: ${(error as Error).message}`)
    }
  }
  const withForks = (identity: ChainIdentity) => {
    try {
      return identityWithForks(identity, forks)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw new OperatorError(`network ${network}: ${error.message}`)
    }
  }
  const known = knownIdentity(network, chainId)
  if (known !== undefined) return withForks(known)
  let said = ''
  const nodes = upstreams.map((options) => new Upstream(options))
  const close = () => {
    for (const node of nodes) node.close()
  }
  stopped.addEventListener('abort', close)
  while (!stopped.aborted) {
    for (const upstream of nodes) {
      try {
        const reported = await chainOf(upstream, performance.now() + fetchMsMax, () =>
          log(
            `the rules of the chain come from upstream ${upstream.name}, and nothing proves them; to use your own, give a genesis file`,
          ),
        )
        close()
        return withForks(reported)
      } catch (error) {
        if (error instanceof OperatorError) throw error
        const text = `upstream ${upstream.name} does not say which chain it has: ${(error as Error).message}`
        if (text !== said) log(text)
        said = text
      }
    }
    await pause(identityRetryMs, stopped)
  }
  return undefined
}
