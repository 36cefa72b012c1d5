/**
 * The source of a developer chain: imports the recorded blocks, then makes blocks. Owns the start of such a chain, and
 * its reports; `developer.ts` makes the blocks, `developerCalls.ts` has the calls.
 */
import { decodeHeader } from '../../../data/chain/header.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { FaultError, messageRefused, OperatorError } from '../../../primitives/faults.js'
import { callSource, sourceCallsBy } from '../../../primitives/upstreamCalls.js'
import { readChainFile } from '../blocks/chainFile.js'
import { type Genesis, genesisWithTime, parseGenesis } from '../blocks/genesis.js'
import { sizeOfFile, visitBlocks } from '../blocks/importSession.js'
import { sourceEnded } from '../thread/callAnswerer.js'
import type { DevelopTask } from '../thread/messages.js'
import { publishFigures } from '../thread/publishFigures.js'
import { runSource, type Source, type SourceHost, takeCalls } from '../thread/runSource.js'
import { openTaskStore } from '../thread/taskStore.js'
import { BlockMaker } from './blockMaker.js'
import { clockSeconds } from './chainClock.js'
import { Developer } from './developer.js'
import { DeveloperCalls } from './developerCalls.js'

/**
 * Imports the blocks of the recorded file that are above the head, then makes blocks until the signal is aborted. Calls
 * wait for the import. Rejects with OperatorError for a cause that the operator can remove.
 */
export async function developChain(task: DevelopTask, host: SourceHost): Promise<void> {
  const { report, signal } = host
  const { recorded } = task.develop
  const bytesTotal = recorded === undefined ? 0 : await sizeOfFile(recorded)
  const open = () => openTaskStore(task, withTime)
  const run = async (source: Source) => {
    const { store, schedule, importer, session, publisher, onEnd } = source
    session.bytesTotal = bytesTotal
    const say = (text: string) => report({ type: 'said', text })
    const onMade = async () => {
      report({ type: 'head' })
      await publisher?.committed()
    }
    let reported: string | undefined
    const reportTrouble = (trouble: string | undefined) => {
      if (trouble === reported) return
      reported = trouble
      if (trouble !== undefined) say(trouble)
      report({
        type: 'upstream',
        state: { head: undefined, isDown: false, ...(trouble !== undefined && { trouble }), nodes: [] },
      })
    }
    const ready = importAbove(recorded, source, signal).then((firstNumber) => {
      const maker = new BlockMaker(store, schedule, say)
      const isPublished = publisher !== undefined
      if (firstNumber === undefined) return undefined
      const events = { onMade, reportTrouble, isPublished, first: { number: firstNumber, changes: 0 } }
      const developer = new Developer(store, maker, task.develop, events, signal)
      return { developer, calls: new DeveloperCalls(developer, task.develop.accounts) }
    })
    const calls = sourceCallsBy(async (name, args) => {
      const opened = await ready.catch(() => undefined)
      if (opened === undefined || signal.aborted) throw new FaultError(sourceEnded)
      return callSource(opened.calls, name, args).catch((error) => {
        throw error instanceof OperatorError ? messageRefused(error.message) : error
      })
    })
    takeCalls(host, onEnd, calls)
    report({ type: 'opened' })
    onEnd(publishFigures(report, { store, importer }))
    const opened = await ready
    if (opened === undefined) return
    report({ type: 'head' })
    await opened.developer.run()
  }
  await runSource(task, host, run, open)
}

/** A genesis without a time begins now, or when the store was made; tools expect a clock that is not of 1970. */
async function withTime(
  genesis: Genesis | undefined,
  text: string,
  store: ChainWriter,
): Promise<Genesis | undefined> {
  if (genesis === undefined) return undefined
  const first = store.readIdentity() && store.readCanonicalHash(0)
  const header = first && store.readHeader(first)
  return parseGenesis(
    genesisWithTime(text, () => Number(header ? decodeHeader(header).timestamp : clockSeconds())),
  )
}

/**
 * Imports the blocks of a chain file that are above the head. Resolves to the number of the last one once all are
 * stored; 0 without a file. Undefined if the signal ended the import.
 */
async function importAbove(
  file: string | undefined,
  { store, session }: Source,
  signal: AbortSignal,
): Promise<number | undefined> {
  const known = store.head.number
  let last = 0
  const isWhole =
    file === undefined ||
    (await visitBlocks(file, readChainFile(file, session.countReads()), async (block) => {
      last = block.header.number
      if (last > known) await session.import(block)
      return !signal.aborted
    }))
  await session.commit()
  return isWhole && !signal.aborted ? last : undefined
}
