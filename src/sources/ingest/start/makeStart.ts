/**
 * Makes the store of a chain that begins at a block: chooses the block, loads the state after it, and stores the
 * headers before it.
 */
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { decodeHeader } from '../../../data/chain/header.js'
import { readStoredIdentity } from '../../../data/store/manifest.js'
import { type StartBlock, StateLoad } from '../../../data/store/startWriter.js'
import { bytesToHex } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { isThere } from '../../../primitives/files.js'
import { NoAnswerError } from '../../upstream/upstreams.js'
import type { Genesis } from '../blocks/genesis.js'
import { sizeOfFile } from '../blocks/importSession.js'
import type { IngestStore, StartPlan } from '../thread/messages.js'
import { checkMs, noProgress, type SourceHost } from '../thread/runSource.js'
import { readGenesis, requireChainId } from '../thread/taskStore.js'
import { fetchBegun, fetchState, removeFetched } from './fetchState.js'
import { StateLoader } from './loadState.js'
import { readStartHeaders, startBlocks } from './startBlocks.js'
import { StartNodes } from './startNodes.js'
import { readStateDump } from './stateDump.js'

/** Shares of the time for reading a dump, and for making its tries; the rest is for writing the store. */
const shares = { read: 0.4, tries: 0.4 }

/**
 * Makes the store of `task`; does nothing if it begins at that block already. Resolves to false if it was stopped; then
 * nothing is left. Rejects with OperatorError if the state is not that of the block, and if there is another store.
 */
export async function makeStart(task: IngestStore, plan: StartPlan, host: SourceHost): Promise<boolean> {
  if (task.genesis === undefined)
    throw new OperatorError(
      'a state does not contain the rules of its chain; name its genesis with --genesis FILE',
    )
  const genesis = readGenesis(task.genesis)
  requireChainId(`the genesis ${task.genesis.path}`, genesis.identity, task.chainId)
  const nodes = plan.nodes && new StartNodes(plan.nodes, genesis, host)
  try {
    await nodes?.check(checkMs)
    return await beginAt(task, plan, { genesis, nodes, host })
  } catch (error) {
    // A stop also ends the requests to nodes.
    const hasNoAnswer = error instanceof NoAnswerError
    if (nodes !== undefined && host.signal.aborted && (hasNoAnswer || error instanceof OperatorError))
      return false
    throw hasNoAnswer ? new OperatorError(error.message) : error
  } finally {
    await nodes?.close()
  }
}

interface Beginning {
  readonly genesis: Genesis
  readonly nodes: StartNodes | undefined
  readonly host: SourceHost
}

async function beginAt(task: IngestStore, plan: StartPlan, beginning: Beginning): Promise<boolean> {
  const { genesis, nodes, host } = beginning
  const fetched = join(dirname(task.storePath), 'fetched.jsonl')
  const begun = begunAt(task)
  const isNamed = plan.hash !== undefined || plan.headers.length > 0
  if (!isNamed && begun?.start !== undefined) return true
  const headers =
    nodes === undefined || plan.headers.length > 0
      ? await readStartHeaders(plan.headers)
      : await nodes.headers(plan.hash ?? fetchBegun(fetched))
  const blocks = startBlocks(headers, genesis, plan)
  const first = blocks.at(-1) as StartBlock
  if (begun?.start === bytesToHex(first.hash)) return true
  if (begun !== undefined) {
    throw new OperatorError(
      `the store ${task.storePath} exists already, and begins at another block (${begun.start ?? begun.genesis}); load the state into an empty folder`,
    )
  }
  await nodes?.vouch(first)
  const load = new StateLoad(task.storePath, first.number, task.mapBytes)
  try {
    if (plan.state !== undefined) return await loadInto(load, plan.state, blocks, beginning)
    const { number, hash, header } = first
    const block = { number, hash, stateRoot: decodeHeader(header).stateRoot }
    const what = `the state after block ${number} (${bytesToHex(hash)})`
    host.report({ type: 'said', text: `${what} is fetched from ${nodes?.names}` })
    if (!(await fetchState(fetched, nodes as StartNodes, block, progressOf(number, host)))) return false
    const isMade = await loadInto(load, fetched, blocks, beginning).catch((error) => {
      // The fetched state is not that of the block, so it is not reused.
      if (error instanceof OperatorError) removeFetched(fetched)
      throw error
    })
    if (isMade) removeFetched(fetched)
    return isMade
  } finally {
    load.close()
  }
}

/** Loads a dump of the state after the last of `blocks`, and makes the store from it; false if it was stopped. */
async function loadInto(
  load: StateLoad,
  dump: string,
  blocks: readonly StartBlock[],
  { genesis, host }: Beginning,
): Promise<boolean> {
  const { number, hash, header } = blocks.at(-1) as StartBlock
  const { timestamp } = decodeHeader(genesis.blockDiff.header)
  const start = { number, hash: bytesToHex(hash), genesisTime: Number(timestamp) }
  const loader = new StateLoader(load, `block ${number} (${start.hash})`, decodeHeader(header).stateRoot)
  try {
    const bytesTotal = await sizeOfFile(dump)
    const report = progressOf(number, host)
    const goOn = (share: number) => report(Math.round(share * bytesTotal), bytesTotal)
    await readStateDump(dump, loader, async (bytes) => {
      await setImmediate()
      return report(Math.round(shares.read * bytes), bytesTotal)
    })
    if (host.signal.aborted) return false
    if (!(await loader.finish((share) => goOn(shares.read + shares.tries * share)))) return false
    const written = shares.read + shares.tries
    const identity = { ...genesis.identity, start }
    if (!(await load.finish(identity, blocks, async (share) => goOn(written + (1 - written) * share))))
      return false
    const { accounts, slots } = load.counts
    const text = `the store begins at block ${number} (${start.hash}), with ${accounts} accounts and ${slots} slots`
    host.report({ type: 'said', text })
    return true
  } finally {
    loader.close()
  }
}

/**
 * Where a store begins: hashes of its block, unless that is the genesis, and of the genesis; undefined without a store.
 */
function begunAt({ storePath, mapBytes }: IngestStore) {
  if (!isThere(storePath)) return undefined
  const identity = readStoredIdentity(storePath, mapBytes)
  return { start: identity?.start?.hash, genesis: identity?.genesisHash ?? 'it is empty' }
}

/** Reports progress, in bytes, at intervals; returns whether to continue. */
function progressOf(number: number, { report, signal }: SourceHost) {
  const begunMs = performance.now()
  let reportedMs = begunMs
  return (bytesRead: number, bytesTotal: number): boolean => {
    const nowMs = performance.now()
    if (nowMs - reportedMs >= reportMs) {
      reportedMs = nowMs
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
