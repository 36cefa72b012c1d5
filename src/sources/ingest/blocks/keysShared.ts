/**
 * Recovers the public keys of one block in two threads. A block of a consensus client comes alone, so nothing is
 * recovered ahead of it. This thread takes the transactions from the first one on, the other one from the last one
 * backwards, until they meet. Owns who takes which transaction.
 */
import { availableParallelism } from 'node:os'
import { joinRecords, recoverKeysOf } from '../../../execution/evm/transactions/recoveredKeys.js'
import { type RlpItem, rlpList } from '../../../primitives/rlp.js'
import type { Block } from './block.js'
import { RecoveryThread } from './recoveryThread.js'

/** The message with a block and its answer take as long as recovering the keys of some ten transactions. */
const transactionsWorthThread = 32

const never = () => false

export class SharedKeys {
  readonly #thread: RecoveryThread | undefined

  constructor(storePath: string) {
    this.#thread = availableParallelism() > 1 ? new RecoveryThread(storePath) : undefined
  }

  /**
   * Keys of the block that is executed next, in the encoding of {@link Block.takeKeys}. There are none for few
   * transactions, on one core, and until the thread has started. If the thread fails, its part is missing.
   */
  async find({ items, bodyRlp }: Block): Promise<Uint8Array> {
    const transactions = rlpList(items[1])
    if (transactions.length < transactionsWorthThread) return noKeys
    const claims = new Int32Array(new SharedArrayBuffer(8))
    const theirs = this.#thread?.share({ claims, body: bodyRlp })?.catch(() => noKeys)
    if (theirs === undefined) return noKeys
    const own = recoverKeysOf(claimed(transactions, claims, 'first'), never)
    // A thread that has not begun takes none, and may begin much later on a busy machine.
    const hasBegun = Atomics.load(claims, 1) === 1
    return hasBegun ? joinRecords([own, await theirs]) : own
  }

  /** Resolves once the thread has ended. */
  async close(): Promise<void> {
    await this.#thread?.close()
  }
}

const noKeys = new Uint8Array(0)

/**
 * The transactions that one side takes. `claims`: how many both have taken, or more once none is left; and whether the
 * side that takes the last ones has begun.
 */
export function* claimed(
  transactions: readonly RlpItem[],
  claims: Int32Array,
  from: 'first' | 'last',
): Generator<RlpItem> {
  const { length } = transactions
  if (from === 'last') Atomics.store(claims, 1, 1)
  for (let taken = 0; Atomics.add(claims, 0, 1) < length; taken++)
    yield transactions[from === 'first' ? taken : length - 1 - taken] as RlpItem
}
