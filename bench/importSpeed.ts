/**
 * How fast the demo chain is taken in, beside what the EVM alone needs for the same blocks: both in this process, in
 * turns. Prints one line of JSON: gas a second of each, by round.
 *
 *   npm run build && node dist/bench/importSpeed.js STORE [ROUNDS]
 *
 * STORE is the chain.mdb of an imported demo chain. "The EVM alone" parses blocks, recovers senders and runs system
 * calls and transactions on stored state; it builds no trie, checks no root and writes nothing. It reads history where
 * the import reads the head, which costs it a little.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createBlockFromBytesArray } from '@ethereumjs/block'
import { runBlock } from '@ethereumjs/vm'
import { type ForkName, ForkSchedule, parseGenesisConfig } from '../src/chain/forks.js'
import { decodeHeader } from '../src/chain/header.js'
import { createForkEngine, type ForkEngine } from '../src/evm/forkEngine.js'
import { JournaledState } from '../src/evm/journaledState.js'
import { readChainFile } from '../src/ingest/chainFile.js'
import { parseGenesis } from '../src/ingest/genesis.js'
import { ChainImporter } from '../src/ingest/importer.js'
import { bytesToBigInt, type Hash32 } from '../src/primitives/bytes.js'
import { emptyTrieRoot } from '../src/primitives/keccak.js'
import { decodeRlpList, rlpList } from '../src/primitives/rlp.js'
import { historicalState } from '../src/state/stateView.js'
import { ChainReader } from '../src/store/chainReader.js'
import { ChainWriter } from '../src/store/chainWriter.js'
import { devnetFolder } from './benchData.js'

const [storePath = '', rounds = '1'] = process.argv.slice(2)
const chainPath = join(devnetFolder, 'chain.rlp')

/** A state whose root nobody computes. */
class RootlessState extends JournaledState {
  override async getStateRoot(): Promise<Uint8Array> {
    return emptyTrieRoot
  }
}

/** Seconds and gas of an import into a new store. */
async function importOnce(): Promise<{ seconds: number; gas: bigint }> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-import-'))
  const store = ChainWriter.openForWriting({ path: join(folder, 'chain.mdb') })
  try {
    const genesis = parseGenesis(readFileSync(join(devnetFolder, 'genesis.json'), 'utf8'))
    store.initialize(genesis.identity, genesis.bundle)
    const importer = new ChainImporter(store, genesis.schedule)
    let gas = 0n
    const startedAtMs = performance.now()
    for await (const { rlp } of readChainFile(chainPath, () => undefined)) {
      gas += (await importer.importBlock(rlp)).gasUsed
    }
    await importer.finish()
    return { seconds: (performance.now() - startedAtMs) / 1000, gas }
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const engines = new Map<ForkName, ForkEngine>()

/** Seconds of the EVM alone on the canonical blocks of `store`. */
async function executeOnce(store: ChainReader, schedule: ForkSchedule): Promise<number> {
  const head = store.readHead()?.number ?? 0
  const startedAtMs = performance.now()
  for (let number = 1; number <= head; number++) {
    const hash = store.readCanonicalHash(number) as Hash32
    const headerRlp = store.readHeader(hash) as Uint8Array
    const header = decodeHeader(headerRlp)
    const parentTotal = bytesToBigInt(store.readTotalDifficulty(header.parentHash) as Uint8Array)
    const parent = decodeHeader(store.readHeader(header.parentHash) as Uint8Array)
    const fork = schedule.forkAt(number, header.timestamp, schedule.isMerged(parentTotal))
    let engine = engines.get(fork)
    if (engine === undefined) {
      engine = await createForkEngine(schedule, fork)
      engines.set(fork, engine)
    }
    const state = new RootlessState(historicalState(store, number - 1, parent.stateRoot))
    engine.prepare(state, (n) => store.readCanonicalHash(n))
    const items = [decodeRlpList(headerRlp), ...rlpList(decodeRlpList(store.readBody(hash) as Uint8Array))]
    const { common, vm } = engine
    const block = createBlockFromBytesArray(items as never, { common, freeze: true })
    await runBlock(vm, { block, generate: true, skipBlockValidation: true })
  }
  return (performance.now() - startedAtMs) / 1000
}

const store = ChainReader.open({ path: storePath })
const schedule = new ForkSchedule(parseGenesisConfig(JSON.parse(store.readIdentity()?.config ?? '{}')))
const importRates: number[] = []
const evmRates: number[] = []
// Once unmeasured: the first run of either compiles what both use.
await executeOnce(store, schedule)
for (let round = 0; round < Number(rounds); round++) {
  const { seconds, gas } = await importOnce()
  importRates.push(Number(gas) / seconds)
  evmRates.push(Number(gas) / (await executeOnce(store, schedule)))
}
await store.close()
console.log(JSON.stringify({ importRates, evmRates }))
