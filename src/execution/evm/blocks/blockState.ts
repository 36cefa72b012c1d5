import { pendingState } from '../../../data/state/stateReader.js'
import { headState, historicalState, type StateView } from '../../../data/state/stateView.js'
import { trieState } from '../../../data/state/trieState.js'
import { triesAfter } from '../../../data/state/tries.js'
import type { ChainRows } from '../../../data/store/chainRows.js'
import { equalBytes, type Hash32, toHash32 } from '../../../primitives/bytes.js'
import type { BlockReference } from '../messages/executionRequest.js'

/** Whether a block is the head, canonical or neither; selects the tables from which its state is read. */
export type BlockStatus = 'head' | 'canonical' | 'side'

type NamedBlock = Pick<BlockReference, 'number' | 'hash'>
type OpenedBlock = NamedBlock & Partial<Pick<BlockReference, 'isPending'>>

/** Opens the state after a block on the fastest tables that have it. */
const openState: Readonly<
  Record<BlockStatus, (store: ChainRows, block: NamedBlock, stateRoot: Hash32) => StateView>
> = {
  head: (store, _, stateRoot) => headState(store, stateRoot),
  canonical: (store, { number }, stateRoot) => historicalState(store, number, stateRoot),
  side: (store, { number, hash: named }, stateRoot) => {
    const hash = toHash32(Uint8Array.from(named))
    return trieState(store, stateRoot, hash, triesAfter(store, { number, hash }))
  },
}

export function statusOf(store: ChainRows, { number, hash }: NamedBlock): BlockStatus {
  if (store.isHead(hash)) return 'head'
  return store.isCanonical(number, hash) ? 'canonical' : 'side'
}

/**
 * Runs `work` on the state after a block, given the block's status. If the status changed meanwhile, rows of two states
 * may be mixed: then calls `drop` and repeats the work. Throws the error of the last attempt.
 */
export function atOneStatus<T>(
  store: ChainRows,
  block: NamedBlock,
  work: (status: BlockStatus) => T,
  drop: () => void = () => {},
): T {
  const revision = () => store.readByHand?.()?.revision
  const read = () => {
    store.refresh()
    return statusOf(store, block)
  }
  for (;;) {
    const status = read()
    const before = revision()
    const isMixed = () => status !== 'side' && (read() !== status || revision() !== before)
    try {
      const done = work(status)
      if (!isMixed()) return done
    } catch (error) {
      if (!isMixed()) throw error
    }
    drop()
  }
}

/**
 * States after blocks of one store. Caches the last one, because making a view takes longer than reading an account.
 */
export class BlockStates {
  readonly #store: ChainRows
  #opened: { readonly status: BlockStatus; readonly number: number; readonly view: StateView } | undefined

  constructor(store: ChainRows) {
    this.#store = store
  }

  open(status: BlockStatus, { number, hash, isPending }: OpenedBlock, stateRoot: Hash32): StateView {
    const pending = isPending ? pendingState(this.#store) : undefined
    if (pending !== undefined && equalBytes(pending.stateRoot, stateRoot)) return pending
    const opened = this.#opened
    const isSame = opened?.status === status && opened.number === number
    if (isSame && equalBytes(opened.view.stateRoot, stateRoot)) return opened.view
    const view = openState[status](this.#store, { number, hash }, stateRoot)
    this.#opened = { status, number, view }
    return view
  }
}
