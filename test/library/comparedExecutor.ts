import { isDeepStrictEqual } from 'node:util'
import type { ForkSchedule } from '../../src/data/chain/forks.js'
import type { StateView } from '../../src/data/state/stateView.js'
import { BlockExecutor, type ExecutedBlock } from '../../src/execution/evm/blocks/executeBlock.js'
import { RecoveredKeys } from '../../src/execution/evm/transactions/recoveredKeys.js'
import { bytesToHex, type Hash32 } from '../../src/primitives/bytes.js'
import { InvalidBlockError } from '../../src/primitives/faults.js'
import type { Executor } from '../../src/sources/ingest/blocks/importer.js'
import { LibraryExecutor } from './executeBlock.js'

/** Executes every block with the kernel and with @ethereumjs, and throws if the results differ. */
export class ComparedExecutor implements Executor {
  /** Number of blocks with equal results. */
  compared = 0
  readonly #own: BlockExecutor
  readonly #library: LibraryExecutor

  constructor(schedule: ForkSchedule) {
    this.#own = new BlockExecutor(schedule, new RecoveredKeys())
    this.#library = new LibraryExecutor(schedule)
  }

  async execute(...input: Parameters<BlockExecutor['execute']>): Promise<ExecutedBlock> {
    const [items, fork, state, ancestorHash] = input
    const own = await settled(async () => this.#own.execute(...input))
    const library = await settled(async () => this.#library.execute(items, fork, state, ancestorHash))
    if (own instanceof InvalidBlockError) {
      if (!(library instanceof InvalidBlockError)) throw new Error(`only the kernel refuses: ${own.message}`)
      throw own
    }
    if (library instanceof InvalidBlockError)
      throw new Error(`the kernel does not refuse: ${library.message}`)
    const ours = contentOf(own, state)
    const theirs = contentOf(library, state)
    for (const [name, value] of Object.entries(theirs)) {
      const found = ours[name]
      if (isDeepStrictEqual(found, value)) continue
      throw new Error(`${name} differs: ${JSON.stringify(found)}, the library has ${JSON.stringify(value)}`)
    }
    this.compared++
    return own
  }

  recoverSenders(...input: Parameters<BlockExecutor['recoverSenders']>): Uint8Array {
    return this.#own.recoverSenders(...input)
  }
}

async function settled(execute: () => Promise<ExecutedBlock>): Promise<ExecutedBlock | InvalidBlockError> {
  try {
    return await execute()
  } catch (error) {
    if (error instanceof InvalidBlockError) return error
    throw error
  }
}

/** The whole result as hex digits, except code that the state below has: the library writes some of it again. */
function contentOf(
  { changes, receipts, senders, logsBloom, receiptsRoot, requestsHash, gasUsed }: ExecutedBlock,
  below: StateView,
): Readonly<Record<string, unknown>> {
  const rows = (list: ExecutedBlock['changes']['accounts']) => list.map((row) => row.map(bytesToHex))
  return {
    gasUsed: String(gasUsed),
    receipts: receipts.map(bytesToHex),
    receiptsRoot: bytesToHex(receiptsRoot),
    logsBloom: bytesToHex(logsBloom),
    requestsHash: requestsHash && bytesToHex(requestsHash),
    senders: bytesToHex(senders),
    accounts: rows(changes.accounts),
    slots: rows(changes.slots),
    code: rows(changes.code.filter(([hash]) => below.code(hash as Hash32) === undefined)),
    trie: rows(changes.trie),
    stateRoot: bytesToHex(changes.stateRoot),
  }
}
