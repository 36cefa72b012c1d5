import { Chain } from '../../../data/chain/chain.js'
import { ForkSchedule } from '../../../data/chain/forks.js'
import { headOf } from '../../../data/chain/header.js'
import { type ChainIdentity, storeKindOf } from '../../../data/store/chainRows.js'
import { ChainWriter } from '../../../data/store/chainWriter.js'
import type { ReadyLimits } from '../../../data/store/readyRows.js'
import { bytesToBigInt } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { type Genesis, parseGenesis } from '../blocks/genesis.js'
import type { IngestStore } from './messages.js'

/**
 * Opens the store of a task for writing, or makes it from the task's genesis. `complete` may change a genesis before it
 * is stored, or find one if there is no file. Throws OperatorError for an unusable genesis or store, and for a store in
 * which no blocks are executed. Also throws it if genesis, store and task name different chains.
 */
export async function openTaskStore(
  task: IngestStore,
  complete: (
    genesis: Genesis | undefined,
    text: string,
    store: ChainWriter,
  ) => Promise<Genesis | undefined> = async (genesis) => genesis,
): Promise<{ store: ChainWriter; schedule: ForkSchedule }> {
  const read = task.genesis && readGenesis(task.genesis)
  if (read !== undefined) requireChainId(`the genesis ${task.genesis?.path}`, read.identity, task.chainId)
  const store = ChainWriter.openForWriting({
    path: task.storePath,
    mapBytes: task.mapBytes,
    ...(task.history && { history: task.history }),
  })
  try {
    requireExecuted(store)
    const genesis = await complete(read, task.genesis?.text ?? '', store)
    if (genesis !== undefined) {
      requireChainId('the genesis', genesis.identity, task.chainId)
      const embedded = task.isEmbedded ? ({ embedded: true } as const) : {}
      store.initialize({ ...genesis.identity, ...embedded }, genesis.blockDiff)
      if (task.genesis !== undefined) adoptRules(store, genesis, task.genesis.path)
    }
    const schedule = genesis?.schedule ?? storedSchedule(store, task.chainId)
    if (task.ready !== undefined) keepReady(store, task.ready)
    return { store, schedule }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Makes the store keep answers about its newest blocks, in the words in which they are rendered for requests. */
export function keepReady(store: ChainWriter, limits: ReadyLimits): void {
  const options = { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 0 }
  const chain = new Chain(store, options)
  store.keepReady(limits, (hash) => chain.renderBlock(hash))
}

/** Throws OperatorError if the store does not have a whole state, in which blocks are executed. */
function requireExecuted(store: ChainWriter): void {
  const identity = store.readIdentity()
  if (identity === undefined) return
  const kind = storeKindOf(identity)
  if (kind.state === 'whole') return
  throw new OperatorError(
    `the store ${store.path} is of a network of kind ${kind.name}, in which no blocks are executed; import archives (.era1, .ere) into it, or name another network`,
  )
}

/** Throws OperatorError if `identity`, read from `what`, does not have the chain id `configured`. */
export function requireChainId(
  what: string,
  { chainId }: ChainIdentity,
  configured: number | undefined,
): void {
  if (configured === undefined || chainId === String(configured)) return
  throw new OperatorError(
    `${what} is of chain id ${chainId}, the configuration says ${configured}; correct one of them`,
  )
}

/** Throws OperatorError for a malformed genesis. */
export function readGenesis({ text, path }: NonNullable<IngestStore['genesis']>): Genesis {
  try {
    return parseGenesis(text)
  } catch (error) {
    if (error instanceof RangeError)
      throw new OperatorError(`the genesis ${path} is not usable: ${error.message}`)
    throw error
  }
}

function storedSchedule(store: ChainWriter, chainId: number | undefined): ForkSchedule {
  const identity = store.readIdentity()
  if (identity === undefined)
    throw new OperatorError(`the store ${store.path} is new; name its genesis with --genesis FILE`)
  requireChainId(`the store ${store.path}`, identity, chainId)
  return ForkSchedule.of(identity)
}

/**
 * A genesis file may get new forks while its hash stays the same. They are adopted if they do not change the rules of
 * any stored block; otherwise throws OperatorError.
 */
function adoptRules(store: ChainWriter, { identity, schedule }: Genesis, path: string): void {
  const known = store.readIdentity()
  const head = headOf(store)
  if (known === undefined || head === undefined || known.config === identity.config) return
  const total = store.readTotalDifficulty(head.hash)
  if (total === undefined) throw new Error('the head of the store is not whole')
  const before = ForkSchedule.of(known)
  const difference = schedule.firstDifference(before, {
    number: head.number,
    timestamp: head.header.timestamp,
    totalDifficulty: bytesToBigInt(total),
  })
  if (difference !== undefined) {
    throw new OperatorError(
      `the genesis ${path} changes ${difference}, by which blocks of the store ${store.path} up to ${head.number} ` +
        'were made; use the genesis it was made with, or import the chain again into an empty folder',
    )
  }
  store.writeConfig(identity.config)
}
