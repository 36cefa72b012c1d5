/**
 * A part of a block's transactions, run apart from those before it on a state that the block's access list tells, and
 * what comes out of it, as bytes between threads. Owns what such a part needs to know, and its encoding.
 */
import { anyBlock, decodeBlockAccessList } from '../../../data/chain/blockAccessList.js'
import type { ForkName, ForkSchedule } from '../../../data/chain/forks.js'
import { headerFromItems } from '../../../data/chain/header.js'
import {
  bytesToBigInt,
  bytesToNumber,
  type Hash32,
  hashBytes,
  latin1Key,
  toHash32,
  toMinimalBytes,
} from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpBytes, rlpList } from '../../../primitives/rlp.js'
import type { Kernel } from '../engine/kernel.js'
import type { KernelLog } from '../engine/kernelLogs.js'
import { RecoveredKeys } from '../transactions/recoveredKeys.js'
import type { SignedTransaction } from '../transactions/signedTransaction.js'
import type { BlockGas } from '../transactions/transactionChecks.js'
import type { BlockRules } from './blockContext.js'
import { BlockRunner } from './blockRun.js'
import { ListedBlock, listedReads } from './listedState.js'
import { ListMarks } from './listMarks.js'

/** A transaction that was run. */
export interface RanTransaction extends BlockGas {
  readonly isSuccess: boolean
  readonly gasUsed: bigint
  readonly logs: readonly KernelLog[]
}

/** Transactions from `start` on, one after the other. */
export interface RanPart {
  readonly start: number
  readonly transactions: readonly RanTransaction[]
}

/** What a thread ran, and the entries of the list that it recorded. */
interface RanParts {
  readonly parts: readonly RanPart[]
  /** As ListMarks has them. */
  readonly marks: Uint8Array
}

/** What another thread needs for parts of a block. All is bytes, so that it is copied fast. */
export interface PartsTask {
  readonly fork: ForkName
  readonly headerRlp: Uint8Array
  readonly bodyRlp: Uint8Array
  /** RLP of the access list, whose form was checked. */
  readonly list: Uint8Array
  /** What the list names, before the block: see {@link ListedBlock.encodeReads}. */
  readonly reads: Uint8Array
  /** Code that accounts of the list have, besides what the thread got before. */
  readonly codes: readonly Uint8Array[]
  /** Whether the code that the thread got before is forgotten. */
  readonly forgetsCode: boolean
  /** Keys in the encoding of {@link RecoveredKeys}. */
  readonly keys: Uint8Array
  /** Hashes of ancestors, 32 bytes each, the parent's first. */
  readonly ancestors: Uint8Array
  /** First transactions of the parts, and the number of all. */
  readonly starts: readonly number[]
}

/** The shares of a block that threads take, one after the other: one thread from the front, the other from the end. */
export class Shares {
  readonly #taken: Int32Array
  readonly #count: number

  /** `taken`: one shared number, 0 at the begin. */
  constructor(taken: Int32Array, count: number) {
    this.#taken = taken
    this.#count = count
  }

  /** Whether there was one more, which now is the caller's. */
  take(): boolean {
    return Atomics.add(this.#taken, 0, 1) < this.#count
  }
}

/** Runs the transactions from `start` to `end`, and adds what came out of each. Throws InvalidBlockError. */
export function runTransactions(
  runner: BlockRunner,
  kernel: Kernel,
  rules: BlockRules,
  transactionAt: (index: number) => SignedTransaction,
  [start, end]: readonly [number, number],
  ran: RanTransaction[],
): void {
  for (let index = start; index < end; index++) {
    // Whether it fits into the block's gas is looked at when that of all before it is known.
    const outcome = runner.run(kernel, transactionAt(index), index, rules, undefined)
    const { gasUsed, executionGas, stateGas, failure } = outcome
    ran.push({ isSuccess: failure === 'none', gasUsed, executionGas, stateGas, logs: kernel.logs })
  }
}

/** What the thread that runs parts from the end keeps between blocks: its kernel, and code. */
export class PartRunner {
  readonly #keys = new RecoveredKeys()
  readonly #runner: BlockRunner
  readonly #codes = new Map<string, Uint8Array>()

  constructor(schedule: ForkSchedule) {
    this.#runner = new BlockRunner(schedule, this.#keys)
  }

  /** Takes shares of a block from its end until there are none, and encodes what came out of them. */
  run(task: PartsTask, taken: Int32Array): Uint8Array<ArrayBuffer> {
    const { fork, starts } = task
    const runner = this.#runner
    const shares = new Shares(taken, starts.length - 1)
    if (task.forgetsCode) this.#codes.clear()
    for (const code of task.codes) this.#codes.set(latin1Key(keccak256(code)), code)
    this.#keys.hold(task.keys)
    const header = headerFromItems(decodeRlpList(task.headerRlp))
    const items = rlpList(decodeRlpList(task.bodyRlp)[0])
    const rules = runner.rulesOf(header, fork)
    const listed = new ListedBlock(decodeBlockAccessList(task.list, anyBlock), listedReads(task.reads))
    const below = { ...nothing, code: (hash: Hash32) => this.#codes.get(latin1Key(hash)) }
    const ancestorHash = (number: number) => ancestorOf(task.ancestors, header.number - number)
    const transactionAt = (index: number) => runner.readTransaction(items[index] as RlpItem, index, fork)
    const marks = new ListMarks(listed)
    const parts: RanPart[] = []
    for (let end = starts.length - 1; shares.take(); end--) {
      const start = starts[end - 1] as number
      const until = starts[end] as number
      const kernel = runner.prepare(rules, listed.before(start + 1, below), ancestorHash)
      kernel.recordAccesses()
      const transactions: RanTransaction[] = []
      runTransactions(runner, kernel, rules, transactionAt, [start, until], transactions)
      marks.mark(kernel)
      parts.push({ start, transactions })
    }
    return encodeRlp([marks.bytes, ...parts.map(partItem)])
  }
}

/** What the list does not name is not there: whoever uses it records an access that the list lacks. */
const nothing = { account: () => undefined, slot: () => undefined }

function ancestorOf(hashes: Uint8Array, distance: number): Hash32 | undefined {
  const at = (distance - 1) * hashBytes
  return at < 0 || at >= hashes.length ? undefined : toHash32(hashes.subarray(at, at + hashBytes))
}

function partItem({ start, transactions }: RanPart): RlpItem {
  return [
    toMinimalBytes(start),
    transactions.map(({ isSuccess, gasUsed, executionGas, stateGas, logs }) => [
      ...[isSuccess ? 1 : 0, gasUsed, executionGas, stateGas].map(toMinimalBytes),
      logs.map(({ address, topics, data }) => [address, topics, data]),
    ]),
  ]
}

/** What {@link PartRunner.run} encoded. */
export function decodeParts(bytes: Uint8Array): RanParts {
  const [marks, ...items] = decodeRlpList(bytes)
  const parts = items.map((item) => {
    const [start, transactions] = rlpList(item)
    return {
      start: bytesToNumber(rlpBytes(start)),
      transactions: rlpList(transactions).map(readTransaction),
    }
  })
  return { parts, marks: rlpBytes(marks) }
}

function readTransaction(item: RlpItem): RanTransaction {
  const fields = rlpList(item)
  const [isSuccess, gasUsed, executionGas, stateGas] = fields
    .slice(0, 4)
    .map((field) => bytesToBigInt(rlpBytes(field)))
  const logs = rlpList(fields[4]).map((log) => {
    const [address, topics, data] = rlpList(log)
    return { address: rlpBytes(address), topics: rlpList(topics).map(rlpBytes), data: rlpBytes(data) }
  })
  return { isSuccess: isSuccess === 1n, gasUsed, executionGas, stateGas, logs } as RanTransaction
}
