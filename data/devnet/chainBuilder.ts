/**
 * Makes one block after another on top of genesis: header fields by the rules of the fork, execution, roots.
 *
 * Owns heads, uncles and total difficulty. The story owns the content of blocks. There is no proof of work: `mixHash`,
 * `nonce`, and the randomness and beacon roots of later blocks are hashes of the block's number. Everything else
 * follows the protocol.
 */
import {
  type Block,
  type BlockHeader,
  createBlock,
  genTransactionsTrieRoot,
  genWithdrawalsTrieRoot,
  type HeaderData,
} from '@ethereumjs/block'
import { type Common, Hardfork } from '@ethereumjs/common'
import { TransactionType, type TypedTransaction } from '@ethereumjs/tx'
import { createWithdrawal, type KZG, type WithdrawalData } from '@ethereumjs/util'
import { type RunBlockResult, runBlock } from '@ethereumjs/vm'
import { concatBytes } from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import { encodeRlp, type RlpItem } from '../../src/primitives/rlp.js'
import { type Account, textHash } from './accounts.js'
import { createEngine, type Engine } from './engine.js'
import { blockTimestamp, forkBlocks, gasLimitTarget } from './forks.js'
import type { Genesis } from './genesis.js'

/** The choices of the story for a block. */
export interface BlockRequest {
  readonly coinbase: Account
  readonly extraData: string
  readonly transactions: readonly TypedTransaction[]
  readonly uncles: readonly BlockHeader[]
  readonly withdrawals: readonly WithdrawalData[]
}

/** A block with the results of its execution. */
export interface MinedBlock {
  readonly block: Block
  readonly result: RunBlockResult
}

/** GAS_PER_BLOB of EIP-4844. */
export const blobGasPerBlob = 131_072n

function blobGasUsed(transactions: readonly TypedTransaction[]): bigint {
  let blobs = 0
  for (const tx of transactions) {
    if (tx.type === TransactionType.BlobEIP4844 && 'blobVersionedHashes' in tx) {
      blobs += tx.blobVersionedHashes.length
    }
  }
  return BigInt(blobs) * blobGasPerBlob
}

/** The gas limit after `parent`, one step towards its target; the rule allows less than 1/1024 (yellow paper, 4.3.4). */
function nextGasLimit(parent: BlockHeader, number: number): bigint {
  const start = number === forkBlocks.london ? parent.gasLimit * 2n : parent.gasLimit
  const step = start / 1024n - 1n
  const target = gasLimitTarget(number)
  if (start < target) return start + step < target ? start + step : target
  return start - step > target ? start - step : target
}

export class ChainBuilder {
  readonly #engine: Engine
  readonly blocks: Block[]
  /** Total difficulty of each block, genesis first. */
  readonly totalDifficulties: bigint[]

  private constructor(engine: Engine) {
    this.#engine = engine
    this.blocks = [engine.genesisBlock]
    this.totalDifficulties = [engine.genesisBlock.header.difficulty]
  }

  static async create(genesis: Genesis, kzg: KZG): Promise<ChainBuilder> {
    return new ChainBuilder(await createEngine(genesis, kzg))
  }

  get stateManager() {
    return this.#engine.stateManager
  }

  get head(): Block {
    return this.blocks[this.blocks.length - 1] as Block
  }

  /** Number of the block that comes next. */
  get nextNumber(): number {
    return this.blocks.length
  }

  /** The rules of the block that comes next; a copy. */
  nextRules(): Common {
    const rules = this.#engine.rules.copy()
    rules.setHardforkBy({ blockNumber: this.nextNumber, timestamp: blockTimestamp(this.nextNumber) })
    return rules
  }

  /** The base fee of the block that comes next; undefined before London. */
  nextBaseFee(): bigint | undefined {
    const rules = this.nextRules()
    if (!rules.isActivatedEIP(1559)) return undefined
    if (this.nextNumber === forkBlocks.london) return rules.param('initialBaseFee')
    return this.head.header.calcNextBaseFee()
  }

  nextGasLimit(): bigint {
    return nextGasLimit(this.head.header, this.nextNumber)
  }

  /** An empty block that competes with the next one and loses. Call before {@link mine}. State is left as it was. */
  async makeUncle(coinbase: Account, extraData: string, secondsLater: number): Promise<BlockHeader> {
    const request = { coinbase, extraData, transactions: [], uncles: [], withdrawals: [] }
    const header = await this.#headerData(request, `uncle ${extraData}`)
    const { block } = await this.#execute(request, {
      ...header,
      timestamp: blockTimestamp(this.nextNumber) + secondsLater,
    })
    await this.#engine.stateManager.setStateRoot(this.head.header.stateRoot)
    return block.header
  }

  /** Executes the next block and puts it on top. Throws when a transaction is invalid (not when it merely fails). */
  async mine(request: BlockRequest): Promise<MinedBlock> {
    const header = await this.#headerData(request, `block ${this.nextNumber}`)
    const mined = await this.#execute(request, header)
    await this.#engine.blockchain.putBlock(mined.block)
    const parentTotal = this.totalDifficulties[this.totalDifficulties.length - 1] as bigint
    this.blocks.push(mined.block)
    this.totalDifficulties.push(parentTotal + mined.block.header.difficulty)
    return mined
  }

  async #headerData(request: BlockRequest, seed: string): Promise<HeaderData> {
    const rules = this.nextRules()
    const number = this.nextNumber
    const parent = this.head.header
    const baseFeePerGas = this.nextBaseFee()
    const isStaked = rules.gteHardfork(Hardfork.Paris)
    return {
      parentHash: this.head.hash(),
      uncleHash: keccak256(encodeRlp(request.uncles.map((uncle) => uncle.raw() as unknown as RlpItem))),
      coinbase: request.coinbase.hex,
      transactionsTrie: await genTransactionsTrieRoot([...request.transactions]),
      number,
      gasLimit: nextGasLimit(parent, number),
      timestamp: blockTimestamp(number),
      extraData: new TextEncoder().encode(request.extraData),
      mixHash: textHash(`${isStaked ? 'randomness' : 'mix hash'} of ${seed}`),
      nonce: isStaked ? new Uint8Array(8) : textHash(`nonce of ${seed}`).slice(0, 8),
      ...(baseFeePerGas === undefined ? {} : { baseFeePerGas }),
      ...(rules.isActivatedEIP(4895)
        ? { withdrawalsRoot: await genWithdrawalsTrieRoot(request.withdrawals.map(createWithdrawal)) }
        : {}),
      ...(rules.isActivatedEIP(4844)
        ? {
            blobGasUsed: blobGasUsed(request.transactions),
            excessBlobGas: parent.calcNextExcessBlobGas(rules),
            parentBeaconBlockRoot: textHash(`beacon root of block ${number - 1}`),
          }
        : {}),
    }
  }

  async #execute(request: BlockRequest, header: HeaderData): Promise<MinedBlock> {
    const rules = this.nextRules()
    const isStaked = rules.gteHardfork(Hardfork.Paris)
    const options = {
      common: rules,
      setHardfork: true,
      ...(isStaked ? {} : { calcDifficultyFromHeader: this.head.header }),
    }
    const body = {
      transactions: [...request.transactions],
      uncleHeaders: [...request.uncles],
      ...(rules.isActivatedEIP(4895) ? { withdrawals: [...request.withdrawals] } : {}),
    }
    const draft = createBlock({ header, ...body }, options)
    const result = await runBlock(this.#engine.vm, {
      block: draft,
      generate: true,
      skipBlockValidation: true,
    })
    const sealed = {
      ...header,
      stateRoot: result.stateRoot,
      receiptTrie: result.receiptsRoot,
      logsBloom: result.logsBloom,
      gasUsed: result.gasUsed,
      ...(result.requestsHash === undefined ? {} : { requestsHash: result.requestsHash }),
    }
    return { block: createBlock({ header: sealed, ...body }, options), result }
  }
}

/** Blocks 1 to the head as `geth import` takes them: their RLP, one after another, without genesis. */
export function encodeChain(blocks: readonly Block[]): Uint8Array {
  return concatBytes(...blocks.slice(1).map((block) => block.serialize()))
}
