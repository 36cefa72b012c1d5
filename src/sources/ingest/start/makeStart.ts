/** Makes the store of a chain that begins at a block: which block that is, the state after it, and what is said of it. */
import { setImmediate } from 'node:timers/promises'
import { decodeHeader } from '../../../data/chain/header.js'
import { readStoredIdentity } from '../../../data/store/manifest.js'
import { type StartBlock, StateLoad } from '../../../data/store/startWriter.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { isThere } from '../../../primitives/isThere.js'
import { sizeOfFile } from '../importSession.js'
import type { IngestStore, StartPlan } from '../messages.js'
import { noProgress, type SourceHost } from '../runSource.js'
import { readGenesis, requireChainId } from '../taskStore.js'
import { StateLoader } from './loadState.js'
import { readStartHeaders, startBlocks } from './startBlocks.js'
import { readStateDump } from './stateDump.js'

/** Shares of the time that it takes to read a dump, and to make the tries of it; the rest is to write the store. */
const shares = { read: 0.4, tries: 0.4 }

/**
 * Makes the store of `task`; nothing where it begins at that block already. Resolves to false where it was stopped, and
 * nothing is left then. Rejects with OperatorError where the state is not that of the block, and where there is another
 * store.
 */
export async function makeStart(task: IngestStore, plan: StartPlan, host: SourceHost): Promise<boolean> {
  if (task.genesis === undefined)
    throw new OperatorError(
      'a state does not tell the rules of its chain; name its genesis with --genesis FILE',
    )
  const genesis = readGenesis(task.genesis)
  requireChainId(`the genesis ${task.genesis.path}`, genesis.identity, task.chainId)
  const blocks = startBlocks(await readStartHeaders(plan.headers), genesis, plan)
  const first = blocks.at(-1) as StartBlock
  const begun = beginning(task)
  if (begun === bytesToHex(first.hash)) return true
  if (begun !== undefined) {
    throw new OperatorError(
      `the store ${task.storePath} is there already, and begins elsewhere (${begun}); load the state into an empty folder`,
    )
  }
  const { timestamp } = decodeHeader(genesis.blockDiff.header)
  const start = { number: first.number, hash: bytesToHex(first.hash), genesisTime: Number(timestamp) }
  const load = new StateLoad(task.storePath, first.number, task.mapBytes)
  let loader: StateLoader | undefined
  try {
    const { stateRoot } = decodeHeader(first.header)
    loader = new StateLoader(load, `block ${first.number} (${start.hash})`, stateRoot)
    const report = await progressOf(plan.state, first.number, host)
    await readStateDump(plan.state, loader, async (bytes) => {
      await setImmediate()
      return report(shares.read * bytes, true)
    })
    if (host.signal.aborted) return false
    const isMade = await loader.finish((share) => report(shares.read + shares.tries * share))
    const written = shares.read + shares.tries
    const finish = () =>
      load.finish({ ...genesis.identity, start }, blocks, async (share) =>
        report(written + (1 - written) * share),
      )
    if (!isMade || !(await finish())) return false
    const { accounts, slots } = load.counts
    const text = `the store begins at block ${start.number} (${start.hash}), with ${accounts} accounts and ${slots} slots`
    host.report({ type: 'said', text })
    return true
  } finally {
    loader?.close()
    load.close()
  }
}

/** Hash of the block at which a store begins; undefined where there is none. */
function beginning({ storePath, mapBytes }: IngestStore): string | undefined {
  if (!isThere(storePath)) return undefined
  const identity = readStoredIdentity(storePath, mapBytes)
  return identity?.start?.hash ?? identity?.genesisHash ?? 'it is empty'
}

/** Reports the share of all that is done, now and then, and returns whether to go on. */
async function progressOf(path: string, number: number, { report, signal }: SourceHost) {
  const bytesTotal = await sizeOfFile(path)
  const begunMs = performance.now()
  let reportedMs = begunMs
  return (done: number, isBytes = false): boolean => {
    const nowMs = performance.now()
    if (nowMs - reportedMs >= reportMs) {
      reportedMs = nowMs
      const bytesRead = Math.round(isBytes ? done : done * bytesTotal)
      report({
        type: 'progress',
        progress: { ...noProgress, number, bytesRead, bytesTotal, elapsedMs: nowMs - begunMs },
      })
    }
    return !signal.aborted
  }
}

/** Time between two reports. */
const reportMs = 250
