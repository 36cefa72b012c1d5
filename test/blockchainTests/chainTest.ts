/**
 * Ethereum's blockchain tests (https://github.com/ethereum/execution-specs, legacy: ethereum/tests): a genesis, blocks
 * that are valid or not, also of competing branches, and the head that they lead to.
 */

import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.js'
import { InvalidBlockError } from '../../src/primitives/faults.js'
import { parseBlock } from '../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { BadBlockError, ChainImporter } from '../../src/sources/ingest/blocks/importer.js'

export interface JsonChainTest {
  readonly network: string
  readonly config?: {
    readonly chainid?: string
    readonly blobSchedule?: Readonly<Record<string, Readonly<Record<string, string>>>>
  }
  readonly genesisBlockHeader: Readonly<Record<string, string>>
  readonly pre: Readonly<Record<string, unknown>>
  readonly blocks: readonly JsonBlock[]
  readonly lastblockhash: string
}

interface JsonBlock {
  readonly rlp: string
  /** The reason why the block is invalid. */
  readonly expectException?: string
}

/** Bytes of address space for a store; a test's blocks take some megabytes. */
const mapBytes = 2 ** 28

/** Told of each block that was executed: its gas, and the CPU time of its import, in microseconds. */
export type OnBlock = (gasUsed: number, cpuMicros: number) => void

/** Runs a test on a new store at `storePath`. Returns the difference from the expected result. */
export async function runChainTest(
  test: JsonChainTest,
  storePath: string,
  onBlock?: OnBlock,
): Promise<string | undefined> {
  const { identity, blockDiff, schedule } = parseGenesis(genesisTextOf(test))
  const { hash } = test.genesisBlockHeader
  if (identity.genesisHash !== hash) return `the genesis is ${identity.genesisHash}, not ${hash}`
  const store = ChainWriter.openForWriting({ path: storePath, mapBytes })
  try {
    store.initialize(identity, blockDiff)
    store.beginBatch()
    const importer = new ChainImporter(store, schedule)
    for (const [index, block] of test.blocks.entries()) {
      const problem = await importInto(importer, block, onBlock)
      if (problem !== undefined) return `block ${index} of ${test.blocks.length} ${problem}`
    }
    await store.commitBatch()
    const head = bytesToHex(store.head.hash)
    return head === test.lastblockhash ? undefined : `the head is ${head}, not ${test.lastblockhash}`
  } finally {
    await store.close()
  }
}

async function importInto(
  importer: ChainImporter,
  { rlp, expectException }: JsonBlock,
  onBlock: OnBlock | undefined,
): Promise<string | undefined> {
  try {
    const before = process.cpuUsage()
    const block = parseBlock(hexToBytes(rlp))
    const { outcome } = await importer.importAsHead(block)
    const { user, system } = process.cpuUsage(before)
    onBlock?.(Number(block.header.gasUsed), user + system)
    // A block beside the chain is executed only when its branch becomes the heavier one; the head shows that.
    return expectException === undefined || outcome === 'side' ? undefined : `is taken: ${expectException}`
  } catch (error) {
    if (!(error instanceof BadBlockError || error instanceof InvalidBlockError)) throw error
    return expectException === undefined ? `is refused: ${error.message}` : undefined
  }
}

/** Forks in their order, with the members of a genesis' `config` that set them. */
const forks: readonly (readonly [name: string, ...members: string[]])[] = [
  ['Frontier'],
  ['Homestead', 'homesteadBlock'],
  ['Dao', 'daoForkBlock'],
  ['EIP150', 'eip150Block'],
  ['EIP158', 'eip155Block', 'eip158Block'],
  ['Byzantium', 'byzantiumBlock'],
  ['Constantinople', 'constantinopleBlock'],
  ['ConstantinopleFix', 'petersburgBlock'],
  ['Istanbul', 'istanbulBlock'],
  ['Berlin', 'muirGlacierBlock', 'berlinBlock'],
  ['London', 'londonBlock'],
  ['ArrowGlacier', 'arrowGlacierBlock', 'grayGlacierBlock'],
  ['Paris', 'terminalTotalDifficulty'],
  ['Shanghai', 'shanghaiTime'],
  ['Cancun', 'cancunTime'],
  ['Prague', 'pragueTime'],
  ['Osaka', 'osakaTime'],
  ['BPO1', 'bpo1Time'],
  ['BPO2', 'bpo2Time'],
  ['BPO3', 'bpo3Time'],
  ['BPO4', 'bpo4Time'],
]

/** The `config` of networks such as Osaka, BerlinToLondonAt5, OsakaToBPO1AtTime15k and ArrowGlacierToParisAtDiffC0000. */
function configOf(network: string): Record<string, number | boolean> {
  const [, before, after, by, at] = /^(.+?)(?:To(.+)At(Time|Diff)?(\w+))?$/.exec(network) ?? []
  const indexOf = (fork: string) => {
    const index = forks.findIndex(([name]) => name === fork)
    if (index < 0) throw new Error(`no such fork: ${fork} of ${network}`)
    return index
  }
  const first = indexOf(before as string)
  const last = after === undefined ? first : indexOf(after)
  const begin = Number(by === 'Diff' ? `0x${at}` : at?.replace('k', '000'))
  const config: Record<string, number | boolean> = {}
  for (const [index, [name, ...members]] of forks.entries()) {
    // The DAO fork is tested as the target of a transition only.
    if (index > last || (name === 'Dao' && after !== 'Dao')) continue
    for (const member of members) config[member] = index <= first ? 0 : begin
  }
  return { ...config, ...(after === 'Dao' ? { daoForkSupport: true } : {}) }
}

/** The test's genesis in geth's form. */
/** The genesis of a test, as go-ethereum writes it. */
function genesisTextOf({ network, config, genesisBlockHeader: header, pre }: JsonChainTest): string {
  const schedule = Object.entries(config?.blobSchedule ?? {}).map(([fork, parameters]) => [
    fork.toLowerCase(),
    Object.fromEntries(Object.entries(parameters).map(([member, value]) => [member, Number(value)])),
  ])
  return JSON.stringify({
    ...header,
    number: 0,
    config: {
      chainId: Number(config?.chainid ?? 1),
      // The address on mainnet, which these tests use.
      depositContractAddress: '0x00000000219ab540356cbb839cbe05303d7705fa',
      ...configOf(network),
      ...(schedule.length > 0 ? { blobSchedule: Object.fromEntries(schedule) } : {}),
    },
    alloc: pre,
  })
}
