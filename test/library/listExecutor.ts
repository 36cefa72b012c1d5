/**
 * Blocks of Amsterdam "executed" from their access list alone: its last values are applied to the state, receipts are
 * those that another node gave. No code of a contract runs, so this tests what surrounds execution, and that a list
 * leads from one state to the next.
 */
import { decodeBlockAccessList } from '../../src/data/chain/blockAccessList.js'
import type { ForkSchedule } from '../../src/data/chain/forks.js'
import { headerFromItems } from '../../src/data/chain/header.js'
import { indexedRoot } from '../../src/data/state/indexedRoot.js'
import { BlockExecutor, type ExecutedBlock } from '../../src/execution/evm/blocks/executeBlock.js'
import { ListedBlock, listedChanges } from '../../src/execution/evm/blocks/listedState.js'
import { Blooms } from '../../src/execution/evm/blocks/receipts.js'
import { RecoveredKeys } from '../../src/execution/evm/transactions/recoveredKeys.js'
import { hexToBytes } from '../../src/primitives/bytes.js'
import { decodeRlpList, rlpBytes, rlpList } from '../../src/primitives/rlp.js'
import type { Executor } from '../../src/sources/ingest/importer.js'
import { receiptsFromJson } from '../../src/sources/ingest/nodes/receiptsFromJson.js'
import type { AmsterdamBlock } from '../ingest/amsterdam.js'

type Execute = Parameters<Executor['execute']>

const anyBlock = { transactionCount: 2 ** 20, gasLimit: 2n ** 60n }

export class ListExecutor implements Executor {
  readonly #real: BlockExecutor
  readonly #blocks: readonly AmsterdamBlock[]

  constructor(schedule: ForkSchedule, blocks: readonly AmsterdamBlock[]) {
    this.#real = new BlockExecutor(schedule, new RecoveredKeys())
    this.#blocks = blocks
  }

  recoverSenders(...input: Parameters<Executor['recoverSenders']>): Uint8Array {
    return this.#real.recoverSenders(...input)
  }

  execute(...[items, fork, state, ancestorHash]: Execute): ExecutedBlock {
    const header = headerFromItems(rlpList(items[0]))
    const block = this.#blocks[header.number]
    if (block?.blockAccessListRlp === undefined) {
      return this.#real.execute(items, fork, state, ancestorHash)
    }
    const blockAccessList = hexToBytes(block.blockAccessListRlp)
    const receipts = decodeRlpList(receiptsFromJson(block.receipts)).map(rlpBytes)
    const blooms = new Blooms()
    for (const { logs } of block.receipts) blooms.bloomOf(readLogs(logs))
    return {
      changes: listedChanges(
        new ListedBlock(decodeBlockAccessList(blockAccessList, anyBlock), state),
        state,
        undefined,
      ),
      gasUsed: BigInt(block.gasUsed),
      logsBloom: blooms.block,
      receipts,
      receiptsRoot: indexedRoot(receipts),
      requestsHash: header.requestsHash,
      blockAccessList,
      senders: this.#real.recoverSenders(items, fork),
    }
  }
}

function readLogs(logs: unknown) {
  return (logs as readonly { address: string; topics: readonly string[]; data: string }[]).map(
    ({ address, topics, data }) => ({
      address: hexToBytes(address),
      topics: topics.map(hexToBytes),
      data: hexToBytes(data),
    }),
  )
}
