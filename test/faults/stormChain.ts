/**
 * A chain for storms: it grows by a block a step, and every few steps a branch replaces up to 64 of its newest blocks.
 * Owns every block that was ever made, with its state, and which was the newest at which step.
 */
import { setImmediate } from 'node:timers/promises'
import type { MerkleStateManager } from '@ethereumjs/statemanager'
import { createAddressFromString } from '@ethereumjs/util'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.js'
import {
  type BlockPlan,
  ChainMaker,
  contracts,
  type MadeBlock,
  mergedConfig,
  storeInput,
  testAddresses,
  testGenesis,
} from '../ingest/chainMaker.js'
import { Dice } from '../library/property.js'

/** Most blocks that a branch replaces. */
export const depthMax = 64
/** Blocks before the first step, so that it may be a deep reorganisation. */
const firstBlocks = depthMax + 16
/** Steps between two reorganisations, at most. */
const calmStepsMax = 8
/** Slots of {@link contracts.store} that transactions write. */
const slots = 4

/** Accounts whose balances differ from block to block. */
export const accounts: readonly string[] = [
  ...testAddresses.map(String),
  ...Array.from({ length: 5 }, (_, index) => `0x${'5a'.repeat(19)}a${index}`),
]

export interface StormBlock {
  readonly made: MadeBlock
  readonly number: number
  /** Lower-case hex. */
  readonly hash: string
  readonly parent: StormBlock | undefined
  /** Whether the execution of the block gives the results in its header. */
  readonly isValid: boolean
  /** The step from which nodes without a lag have it. */
  readonly bornAt: number
  /** Members of the block's JSON that @ethereumjs does not know. */
  readonly moreMembers?: Readonly<Record<string, string>>
}

interface Tip {
  readonly block: StormBlock
  readonly atMs: number
}

export class StormChain {
  /** Blocks by hash, in lower-case hex. */
  readonly blocks = new Map<string, StormBlock>()
  /** Blocks that have each transaction, by its hash. */
  readonly homes = new Map<string, StormBlock[]>()
  /** Blocks that left the chain, newest last. */
  readonly orphans: StormBlock[] = []
  readonly maker: ChainMaker
  readonly #dice: Dice
  /** The newest block of each step, and when the step was. */
  readonly #tips: Tip[] = []
  /** The last step at which a block was the newest, by its hash. */
  readonly #lastTip = new Map<string, number>()
  #calmSteps = calmStepsMax

  /** Chains of earlier seeds at their start, because making them takes as long as most tests. */
  static readonly #first = new Map<number, Promise<StormChain>>()

  private constructor(maker: ChainMaker, dice: Dice) {
    this.maker = maker
    this.#dice = dice
  }

  static async create(dice: Dice): Promise<StormChain> {
    const maker = await ChainMaker.create(testGenesis(mergedConfig(), { difficulty: '0x0' }))
    const chain = new StormChain(maker, dice)
    let tip = chain.#add(maker.genesis, undefined, 0)
    for (let count = 0; count < firstBlocks; count++) tip = await chain.#extend(tip, 0)
    chain.#publish(tip)
    return chain
  }

  /** The chain that `seed` gives, which grows by itself. One at a time grows of each seed. */
  static async fromSeed(seed: number): Promise<StormChain> {
    const made = StormChain.#first.get(seed) ?? StormChain.create(new Dice(seed))
    StormChain.#first.set(seed, made)
    const first = await made
    const chain = new StormChain(first.maker, first.#dice.copy())
    for (const [hash, block] of first.blocks) chain.blocks.set(hash, block)
    for (const [hash, blocks] of first.homes) chain.homes.set(hash, blocks)
    chain.#publish(first.tip)
    return chain
  }

  /** Number of the newest step; 0 at first. */
  get step(): number {
    return this.#tips.length - 1
  }

  get tip(): StormBlock {
    return this.tipAt(this.step)
  }

  tipAt(step: number): StormBlock {
    return (this.#tips[Math.max(step, 0)] as Tip).block
  }

  /** Makes a step, which removes this number of blocks. Resolves to the number. */
  async advance(depth = this.#chooseDepth()): Promise<number> {
    const { tip, step } = this
    let block = ancestor(tip, tip.number - depth) as StormBlock
    while (block.number <= tip.number) {
      block = await this.#extend(block, step + 1)
      // The nodes answer meanwhile.
      await setImmediate()
    }
    for (let left = tip; left.number > tip.number - depth; left = left.parent as StormBlock) {
      this.orphans.push(left)
    }
    this.#publish(block)
    return depth
  }

  /** Makes this number of steps without a block, until every node with at most this lag has the newest one. */
  rest(steps: number): void {
    for (let count = 0; count < steps; count++) this.#publish(this.tip)
  }

  /** A block on the newest one with right links and wrong content. Only lying nodes have it. */
  async makeInvalid(): Promise<StormBlock> {
    const { tip } = this
    const field = this.#dice.throw(2) === 0 ? 'stateRoot' : 'receiptTrie'
    const header = { [field]: new Uint8Array(32).fill(1 + this.#dice.throw(255)) }
    const made = await this.maker.extend(tip.made, { ...this.#plan(), header })
    return this.#add(made, tip, this.step, false)
  }

  /**
   * Time since the block stopped being the newest, in steps and in ms. A block that never was the newest has the age of
   * the newest block of its step.
   */
  age(block: StormBlock): { readonly steps: number; readonly ms: number } {
    const last = this.#lastTip.get(block.hash) ?? block.bornAt - 1
    if (last >= this.step) return { steps: 0, ms: 0 }
    const over = this.#tips[last + 1] as Tip
    return { steps: this.step - last, ms: performance.now() - over.atMs }
  }

  /** The result of `read` for the state after a block. */
  readState<T>(block: StormBlock, read: (state: MerkleStateManager) => Promise<T>): Promise<T> {
    return this.maker.readState(block.made, read)
  }

  /** Balance of an account after a block, in wei. */
  balance(block: StormBlock, address: string): Promise<bigint> {
    return this.readState(block, async (state) => {
      return (await state.getAccount(createAddressFromString(address)))?.balance ?? 0n
    })
  }

  /** A slot of {@link contracts.store} after a block. */
  slot(block: StormBlock, slot: number): Promise<bigint> {
    const key = hexToBytes(slot.toString(16).padStart(64, '0'))
    return this.readState(block, async (state) => {
      const value = await state.getStorage(createAddressFromString(contracts.store), key)
      return value.length === 0 ? 0n : BigInt(bytesToHex(value))
    })
  }

  #chooseDepth(): number {
    if (--this.#calmSteps > 0) return 0
    this.#calmSteps = 3 + this.#dice.throw(calmStepsMax - 2)
    return 1 + this.#dice.throw(this.#dice.throw(2) === 0 ? 3 : depthMax)
  }

  #plan(): BlockPlan {
    const dice = this.#dice
    const to = accounts[dice.throw(accounts.length)] as string
    const write = storeInput(BigInt(dice.throw(slots)), BigInt(1 + dice.throw(1_000_000)))
    return {
      after: 1,
      transactions: [
        { from: 0, to, value: BigInt(1 + dice.throw(1_000_000)) },
        ...(dice.throw(2) === 0 ? [{ from: 1, to: contracts.store, data: write }] : []),
      ],
    }
  }

  async #extend(parent: StormBlock, bornAt: number): Promise<StormBlock> {
    return this.#add(await this.maker.extend(parent.made, this.#plan()), parent, bornAt)
  }

  #add(made: MadeBlock, parent: StormBlock | undefined, bornAt: number, isValid = true): StormBlock {
    const { number, hash } = made
    const block: StormBlock = { made, number, hash: bytesToHex(hash), parent, isValid, bornAt }
    this.blocks.set(block.hash, block)
    if (!isValid) return block
    for (const transaction of made.block.transactions) {
      const key = bytesToHex(transaction.hash())
      this.homes.set(key, [...(this.homes.get(key) ?? []), block])
    }
    return block
  }

  #publish(block: StormBlock): void {
    this.#tips.push({ block, atMs: performance.now() })
    this.#lastTip.set(block.hash, this.step)
  }
}

/** The block of this number on the branch that ends with `tip`; undefined above it. */
export function ancestor(tip: StormBlock, number: number): StormBlock | undefined {
  if (number > tip.number || number < 0) return undefined
  let block = tip
  while (block.number > number) block = block.parent as StormBlock
  return block
}
