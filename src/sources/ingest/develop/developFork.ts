/**
 * The source of a developer chain on top of a block of another chain. It asks nodes of that chain for missing values,
 * proves each against the root of that block, and stores them. Owns the start of such a chain; its blocks are made as
 * on any developer chain.
 */
import { ForkSchedule } from '../../../data/chain/forks.js'
import type { ChainIdentity, ForkBase } from '../../../data/store/chainRows.js'
import { requireIdentity } from '../../../data/store/chainRows.js'
import { toAddress } from '../../../primitives/bytes.js'
import { FaultError, messageRefused, OperatorError } from '../../../primitives/faults.js'
import { callSource, sourceCallsBy } from '../../../primitives/upstreamCalls.js'
import { learnIdentity } from '../gateway/runGateway.js'
import { sourceEnded } from '../thread/callAnswerer.js'
import type { DevelopTask, ForkPlan } from '../thread/messages.js'
import { publishFigures } from '../thread/publishFigures.js'
import { Ends, noProgress, type SourceHost, takeCalls } from '../thread/runSource.js'
import { BlockMaker } from './blockMaker.js'
import { Developer } from './developer.js'
import { DeveloperCalls } from './developerCalls.js'
import { ForkedNodes, type NewBase, runCollecting } from './forkedNodes.js'
import { ForkedWriter } from './forkedStore.js'
import { addressOfKey, knownKeys } from './knownKeys.js'
import { signingKeys } from './signer.js'
import { buildByHand } from './stateByHand.js'
import type { DumpedRows } from './stateDump.js'

/**
 * Makes blocks on a block of another chain until the signal is aborted. Rejects with OperatorError for a cause that the
 * operator can remove.
 */
export async function developFork(task: DevelopTask, plan: ForkPlan, host: SourceHost): Promise<void> {
  const { report, signal } = host
  const log = (text: string) => report({ type: 'said', text })
  const { storePath: path, mapBytes, isTemporary = false } = task
  const store = ForkedWriter.open({ path, mapBytes, isTemporary })
  const ends = new Ends()
  const finished = { type: 'finished', progress: noProgress, stopped: true } as const
  try {
    const isNew = store.readIdentity() === undefined
    const known = isNew ? await identityOf(plan, log, signal) : requireIdentity(store)
    if (known === undefined) return report(finished)
    const identity = withChainId(known, isNew ? plan.chainId : undefined)
    const nodes = new ForkedNodes(store, withChainId(known, known.fork?.chainId), {
      plan,
      log,
      onEnd: ends.add,
    })
    if (isNew) await nodes.begin(identity, plan.block)
    if (plan.block !== undefined && plan.block !== store.firstBase)
      throw new OperatorError(
        `the chain in ${task.storePath} begins at block ${store.firstBase}, not ${plan.block}; name another folder with --data`,
      )
    const schedule = ForkSchedule.of(identity)
    const maker = new BlockMaker(store, schedule, log, (run) => runCollecting(store.headState, run))
    const fundOnce = async () => {
      const { number } = store.base
      if (store.head.number === number && store.countByHand(number) === 0)
        await fund(store, maker, nodes, task.develop.accounts, BigInt(plan.balance))
    }
    await fundOnce()
    const onMade = async () => report({ type: 'head' })
    const reportTrouble = (trouble: string | undefined) => {
      if (trouble !== undefined) log(trouble)
    }
    const { supply } = nodes
    const first = {
      get number() {
        return store.base.number
      },
      changes: 1,
    }
    const changed = (): DumpedRows => {
      const { number, hash } = requireIdentity(store).fork as ForkBase
      return {
        accounts: store.changedAccounts(),
        slotsOf: (address) => store.changedSlotsOf(address),
        codeOf: (hash) => store.headState.code(hash),
        base: { number, hash },
      }
    }
    const moveBase = async (base: NewBase) => {
      await nodes.moveBase(base)
      await fundOnce()
    }
    const events = {
      onMade,
      reportTrouble,
      isPublished: false,
      first,
      supply: supply.bind(nodes),
      changed,
      moveBase,
    }
    const developer = new Developer(store, maker, task.develop, events, signal)
    const developerCalls = new DeveloperCalls(developer, task.develop.accounts)
    const calls = sourceCallsBy(async (name, args) => {
      if (signal.aborted) throw new FaultError(sourceEnded)
      if (name === 'fetch') return nodes.fetch(...(args as Parameters<typeof nodes.fetch>))
      return callSource(developerCalls, name, args).catch((error) => {
        throw error instanceof OperatorError ? messageRefused(error.message) : error
      })
    })
    takeCalls(host, ends.add, calls)
    report({ type: 'opened' })
    ends.add(publishFigures(report, { store }))
    report({ type: 'head' })
    await developer.run()
  } finally {
    await ends.end()
    await store.close()
  }
  report(finished)
}

/** The chain of the nodes. Rejects with OperatorError if this program cannot execute its blocks. */
async function identityOf(
  { upstreams, fetchMsMax }: ForkPlan,
  log: (text: string) => void,
  signal: AbortSignal,
): Promise<ChainIdentity | undefined> {
  const asked = { network: '', forks: {}, chainId: undefined, genesis: undefined, upstreams, fetchMsMax }
  const known = await learnIdentity(asked, log, signal)
  if (known === undefined) return undefined
  const { family } = ForkSchedule.of(known)
  if (family.execution === undefined)
    throw new OperatorError(
      `the chain ${known.chainId} cannot be forked: its rules are not known here, and its nodes do not report them`,
    )
  return known
}

/** A chain with the rules of another one. */
function withChainId(identity: ChainIdentity, chainId: number | string | undefined): ChainIdentity {
  if (chainId === undefined || String(chainId) === identity.chainId) return identity
  const config = JSON.stringify({ ...JSON.parse(identity.config), chainId: Number(chainId) })
  return { ...identity, chainId: String(chainId), config }
}

/** Sets the balances of the known accounts, as one change by hand after the base. */
async function fund(
  store: ForkedWriter,
  maker: BlockMaker,
  nodes: ForkedNodes,
  accounts: number,
  balance: bigint,
): Promise<void> {
  const wanted = knownKeys(accounts).map((key) => {
    return { address: toAddress(addressOfKey(key)), balance }
  })
  const build = () =>
    maker.onState((state) => {
      // Reads each account of the signer now, so that later checks of its balance need no fetch.
      for (const key of signingKeys(accounts)) state.account(toAddress(addressOfKey(key)))
      return buildByHand(state, wanted)
    })
  const { code, nodes: added, ...change } = await nodes.supply(build)
  const what = `fork, with ${accounts} funded accounts`
  store.changeByHand({ ...change, what }, code, added)
}
