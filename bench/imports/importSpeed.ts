/**
 * The speed of an import compared with that of the EVM alone on the same blocks, in turns. Prints one line of JSON: gas
 * per second of each, by round.
 *
 *   npm run build && node dist/modules/bench/imports/importSpeed.js FOLDER [ROUNDS]
 *
 * FOLDER has genesis.json, chain.rlp, and the chain.mdb from importing both. For @ethereumjs, deposits of the OP Stack
 * are legacy transactions, and none of its transactions pays for L1 or the operator. "The EVM alone" only runs the
 * transactions, by @ethereumjs. Blocks are parsed and senders known before, all state that they read is in memory, no
 * trie is built, no root compared, nothing written. The import begins with the bytes of the chain file and ends with
 * the last flush; it may use all cores, as for a user. It has a process of its own, where the parsed blocks and states
 * of the other, some hundred MB, do not burden its garbage collection. Both are measured after three unmeasured runs,
 * in which V8 compiles the code; the first also reads the states.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { type Block, createBlockFromBytesArray } from '@ethereumjs/block'
import { createLegacyTx, type TypedTransaction } from '@ethereumjs/tx'
import { Address as EvmAddress } from '@ethereumjs/util'
import { runTx } from '@ethereumjs/vm'
import { optimismForks } from '../../src/data/chain/families/optimism/forks.js'
import { type ForkName, ForkSchedule, parseGenesisConfig } from '../../src/data/chain/forks.js'
import { decodeHeader } from '../../src/data/chain/header.js'
import { RememberedState } from '../../src/data/state/rememberedState.js'
import { historicalState } from '../../src/data/state/stateView.js'
import { ChainReader } from '../../src/data/store/chainReader.js'
import { bytesToBigInt, type Hash32 } from '../../src/primitives/bytes.js'
import { emptyTrieRoot } from '../../src/primitives/keccak.js'
import { decodeRlpList, type RlpItem, rlpBytes, rlpList } from '../../src/primitives/rlp.js'
import { depositType } from '../../src/primitives/transactionTypes.js'
import { createForkEngine, type ForkEngine } from '../../test/library/forkEngine.js'
import { JournaledState } from '../../test/library/journaledState.js'
import { endWithThisProcess, messageOf } from '../servers/serverProcess.js'
import type { Imported } from './importAgain.js'

const [folder = '', rounds = '1'] = process.argv.slice(2)
/** After fewer imports, part of the code is still being compiled: half of the time of a first one. */
const roundsBefore = 3
/** Far longer than any import takes. */
const importMsMax = 600_000

/** The program's output: gas per second, by round. */
export interface ImportRates {
  readonly import: readonly number[]
  readonly evm: readonly number[]
}

/** A state without computing its root. */
class RootlessState extends JournaledState {
  override async getStateRoot(): Promise<Uint8Array> {
    return emptyTrieRoot
  }
}

/** A block ready to be run. */
interface ReadyBlock {
  readonly block: Block
  /** In the order of the block, deposits first. */
  readonly transactions: readonly TypedTransaction[]
  readonly engine: ForkEngine
  readonly state: RememberedState
}

/** The canonical blocks of `store`, parsed, with their senders and the states before them. */
async function readBlocks(store: ChainReader, schedule: ForkSchedule): Promise<ReadyBlock[]> {
  const engines = new Map<ForkName, ForkEngine>()
  const blocks: ReadyBlock[] = []
  const head = store.readHead()?.number ?? 0
  for (let number = 1; number <= head; number++) {
    const hash = store.readCanonicalHash(number) as Hash32
    const headerRlp = store.readHeader(hash) as Uint8Array
    const header = decodeHeader(headerRlp)
    const parentTotal = bytesToBigInt(store.readTotalDifficulty(header.parentHash) as Uint8Array)
    const parent = decodeHeader(store.readHeader(header.parentHash) as Uint8Array)
    const own = schedule.forkAt(number, header.timestamp, schedule.isMerged(parentTotal))
    const fork = (optimismForks as Readonly<Partial<Record<ForkName, ForkName>>>)[own] ?? own
    const engine = engines.get(fork) ?? (await createForkEngine(schedule, fork))
    engines.set(fork, engine)
    const [list, ...parts] = decodeRlpList(store.readBody(hash) as Uint8Array)
    const isDeposit = (item: RlpItem) => item instanceof Uint8Array && item[0] === depositType.number
    const signed = rlpList(list).filter((item) => !isDeposit(item))
    const items = [decodeRlpList(headerRlp), signed, ...parts]
    const block = createBlockFromBytesArray(items as never, { common: engine.common, freeze: true })
    const deposits = rlpList(list)
      .filter(isDeposit)
      .map((item) => depositOf(item as Uint8Array, block, engine))
    // A frozen transaction keeps its sender.
    for (const transaction of block.transactions) transaction.getSenderAddress()
    const state = new RememberedState(historicalState(store, number - 1, parent.stateRoot))
    blocks.push({ block, transactions: [...deposits, ...block.transactions], engine, state })
  }
  return blocks
}

/** A deposit as a transaction signed by anyone. */
function depositOf(item: Uint8Array, block: Block, { common }: ForkEngine): TypedTransaction {
  const fields = decodeRlpList(item.subarray(1)).map(rlpBytes)
  const at = (name: string) => fields[depositType.placeOf(name) as number] as Uint8Array
  const price = block.header.baseFeePerGas ?? 0n
  const data = { to: at('to'), value: at('value'), gasLimit: at('gas'), data: at('input'), gasPrice: price }
  const transaction = createLegacyTx(data, { common, freeze: false })
  const sender = new EvmAddress(at('from'))
  return Object.assign(transaction, { getSenderAddress: () => sender })
}

/** Gas that a transaction uses; its whole limit if it may not start. */
async function run(
  { block, engine }: ReadyBlock,
  tx: TypedTransaction,
  blockGasUsed: bigint,
): Promise<bigint> {
  if (tx.isSigned())
    return (await runTx(engine.vm, { tx, block, blockGasUsed, skipBalance: true })).totalGasSpent
  try {
    const free = { skipBalance: true, skipNonce: true, skipHardForkValidation: true }
    return (await runTx(engine.vm, { tx, block, blockGasUsed, ...free })).totalGasSpent
  } catch {
    return tx.gasLimit
  }
}

/** Seconds and gas of the EVM alone. */
async function executeOnce(store: ChainReader, blocks: readonly ReadyBlock[]): Promise<Imported> {
  let gas = 0n
  const startedAtMs = performance.now()
  for (const ready of blocks) {
    const { engine, state, transactions } = ready
    engine.prepare(new RootlessState(state), (n) => store.readCanonicalHash(n))
    let blockGasUsed = 0n
    for (const tx of transactions) blockGasUsed += await run(ready, tx, blockGasUsed)
    gas += blockGasUsed
  }
  return { seconds: (performance.now() - startedAtMs) / 1000, gas: Number(gas) }
}

const store = ChainReader.open({ path: join(folder, 'chain.mdb') })
const schedule = new ForkSchedule(parseGenesisConfig(JSON.parse(store.readIdentity()?.config ?? '{}')))
const rates: { readonly [Side in keyof ImportRates]: number[] } = { import: [], evm: [] }
const blocks = await readBlocks(store, schedule)
const importing = endWithThisProcess(
  fork(fileURLToPath(new URL('./importAgain.js', import.meta.url)), [folder]),
)
for (let round = 0; round < Number(rounds) + roundsBefore; round++) {
  const imported = messageOf(importing, 'an import', importMsMax)
  importing.send({})
  const sides = { import: (await imported) as Imported, evm: await executeOnce(store, blocks) }
  if (round < roundsBefore) continue
  for (const side of ['import', 'evm'] as const) rates[side].push(sides[side].gas / sides[side].seconds)
}
importing.disconnect()
await store.close()
console.log(JSON.stringify(rates))
