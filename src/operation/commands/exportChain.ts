/** `tidegate export`: writes canonical blocks of a store into archives and chain files. May run beside a server. */

import { epochBlocks } from '../../data/ssz/verifyHeaderProof.js'
import { ChainReader } from '../../data/store/chainReader.js'
import { firstNumberOf, storeKindOf } from '../../data/store/chainRows.js'
import { FaultError, OperatorError, UsageError } from '../../primitives/faults.js'
import { makeFolder } from '../../primitives/files.js'
import { exportArchives } from '../../sources/ingest/era/exportArchives.js'
import { exportStart } from '../../sources/ingest/start/exportStart.js'
import type { ExportConfig } from '../config/config.js'
import { type Io, untilInterrupted } from '../process/terminal.js'

/** Exports; resolves to the exit status. Files that are complete when it is interrupted stay. */
export function exportChain(config: ExportConfig, io: Io): Promise<number> {
  return untilInterrupted(io, 'stopped; there is no incomplete file', (stop) => exportFrom(config, io, stop))
}

async function exportFrom(
  { network, mapBytes, ...config }: ExportConfig,
  io: Io,
  stop: AbortSignal,
): Promise<number> {
  const store = ChainReader.open({ path: network.storePath, mapBytes })
  try {
    const identity = store.readIdentity()
    const kind = identity && storeKindOf(identity)
    if (kind?.blocks === 'proved') {
      throw new OperatorError(
        `network ${network.name} is of kind ${kind.name}, whose store holds of most blocks only a part; export another network`,
      )
    }
    if (config.stateOf !== undefined) {
      if (kind?.state === 'none')
        throw new OperatorError(`network ${network.name} holds no state; export another one`)
      return await exportState(store, network.name, config, io, stop)
    }
    const { receipts, bodies } = store.readOldestKept()
    const first = Math.max(identity ? firstNumberOf(identity) : 0, receipts, bodies)
    const head = store.readHead()?.number ?? 0
    const from = config.from ?? first
    const to = config.to ?? head
    if (from < first || to > head || from > to) {
      throw new UsageError(
        `blocks ${from} to ${to} are not all there; ${network.name} has ${first} to ${head}`,
      )
    }
    if (from !== first && from % epochBlocks !== 0) {
      throw new UsageError(
        `--from: expected the oldest block (${first}) or the first one of an epoch, a multiple of ${epochBlocks} such as ${from - (from % epochBlocks)}`,
      )
    }
    makeFolder(config.folder)
    const plan = { network: network.name, from, to, folder: config.folder, stop }
    for await (const file of exportArchives(store, plan)) {
      io.out(`${file.path}: blocks ${file.first} to ${file.last}`)
    }
    return 0
  } catch (error) {
    if (!(error instanceof FaultError)) throw error
    throw new OperatorError(
      `${network.name} holds no receipts, which archives need; it came from archives without them`,
    )
  } finally {
    await store.close()
  }
}

/** Writes the state after a block, and the headers that a store needs to begin there. */
async function exportState(
  store: ChainReader,
  network: string,
  { stateOf, folder }: Pick<ExportConfig, 'stateOf' | 'folder'>,
  io: Io,
  stop: AbortSignal,
): Promise<number> {
  const head = store.readHead()?.number ?? 0
  const number = stateOf === 'latest' ? head : (stateOf ?? head)
  const oldest = store.readOldestKept().state
  if (number < oldest || number > head)
    throw new UsageError(`--block: ${network} has the state of the blocks ${oldest} to ${head}`)
  makeFolder(folder)
  const { state, blocks } = await exportStart(store, { network, number, folder, stop })
  io.out(`${state}: the state after block ${number}`)
  io.out(`${blocks}: block ${number}, and the headers before it`)
  return 0
}
