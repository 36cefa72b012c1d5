/**
 * The execution engine of @ethereumjs, set up for the demo network: rules from the genesis file, state in memory. Used
 * to build the chain and to check it once more from its bytes.
 */
import { type Block, createBlock, paramsBlock } from '@ethereumjs/block'
import {
  type Common,
  createCommonFromGethGenesis,
  type GethGenesis,
  parseGethGenesisState,
} from '@ethereumjs/common'
import type { EVMMockBlockchainInterface } from '@ethereumjs/evm'
import { MerkleStateManager } from '@ethereumjs/statemanager'
import type { KZG } from '@ethereumjs/util'
import { createVM, paramsVM, type VM } from '@ethereumjs/vm'
import { blobSchedule } from './forks.js'
import type { Genesis } from './genesis.js'

/**
 * Blob targets of the BPO forks under the names that @ethereumjs/common 10.1.3 looks for. It reads a geth blob
 * schedule into other names and then misses `target` and `max` from BPO1 on.
 */
const blobParams = Object.fromEntries(
  (['bpo1', 'bpo2'] as const).map((fork) => {
    const { target, max } = blobSchedule[fork]
    return [fork, { target, max }]
  }),
)

/** The rules of the chain, for every package that asks for its own parameters. */
function createRules(genesis: Genesis, kzg: KZG): Common {
  const rules = createCommonFromGethGenesis(genesis as unknown as GethGenesis, {
    chain: 'tidegate-devnet',
    customCrypto: { kzg },
    params: blobParams,
  })
  rules.updateParams(paramsVM)
  rules.updateParams(paramsBlock)
  return rules
}

/** The chain that BLOCKHASH looks into. */
class KnownBlocks implements EVMMockBlockchainInterface {
  readonly #blocks = new Map<number, Block>()

  async getBlock(number: number): Promise<Block> {
    const block = this.#blocks.get(number)
    if (block === undefined) throw new Error(`block ${number} is not known`)
    return block
  }

  async putBlock(block: Block): Promise<void> {
    this.#blocks.set(Number(block.header.number), block)
  }

  shallowCopy(): this {
    return this
  }
}

/** A virtual machine on `genesis` that knows the blocks of `blockchain`. */
export interface Engine {
  readonly vm: VM
  /** To set them to another fork, make a copy first. */
  readonly rules: Common
  readonly stateManager: MerkleStateManager
  readonly blockchain: EVMMockBlockchainInterface & { putBlock(block: Block): Promise<void> }
  readonly genesisBlock: Block
}

/** Sets up the engine and writes the genesis state. */
export async function createEngine(genesis: Genesis, kzg: KZG): Promise<Engine> {
  const rules = createRules(genesis, kzg)
  const common = rules.copy()
  const stateManager = new MerkleStateManager({ common })
  await stateManager.generateCanonicalGenesis(parseGethGenesisState(genesis as unknown as GethGenesis))
  const blockchain = new KnownBlocks()
  // Made under the newest fork. A machine made before Prague never gets the code for the BLS precompiles, and then
  // calls to them always revert.
  const vm = await createVM({ common, stateManager, blockchain, setHardfork: true })
  common.setHardforkBy({ blockNumber: 0, timestamp: Number(genesis.timestamp) })
  const { number, gasLimit, difficulty, timestamp, extraData, coinbase } = genesis
  const header = { number, gasLimit, difficulty, timestamp, extraData, coinbase }
  const genesisBlock = createBlock(
    { header: { ...header, stateRoot: await stateManager.getStateRoot() } } as Parameters<
      typeof createBlock
    >[0],
    { common },
  )
  await blockchain.putBlock(genesisBlock)
  return { vm, rules, stateManager, blockchain, genesisBlock }
}
