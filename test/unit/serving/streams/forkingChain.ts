/**
 * A chain that grows and forks at will in a real store: blocks with real headers, bodies and receipts, whose logs a
 * test chooses. Nothing is executed, so thousands of blocks cost seconds.
 */
import { join } from 'node:path'
import type { Test } from 'tap'
import { Chain } from '../../../../src/data/chain/chain.js'
import type { BlockDiff } from '../../../../src/data/store/blockDiff.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { toHash32, toMinimalBytes } from '../../../../src/primitives/bytes.js'
import { bytesOf, encode, keccak, type Raw } from '../../../rpc/demoChain.js'
import { bloomOf } from '../../../rpc/receiptOracle.js'

/** A log as a test chooses it, in hex. */
export interface ChosenLog {
  readonly address: string
  readonly topics: readonly string[]
}

export interface ForkBlock {
  readonly number: number
  readonly hash: string
  readonly parent: ForkBlock | undefined
  readonly logs: readonly ChosenLog[]
  readonly blockDiff: BlockDiff
}

export function addressOfNumber(number: number): string {
  return `0x${number.toString(16).padStart(40, '0')}`
}

/** Logs of one transaction; a block has as many transactions as it needs. */
const logsPerTransaction = 3

let salt = 0

/** A block that no other equals, on `parent`. */
export function makeBlock(parent: ForkBlock | undefined, logs: readonly ChosenLog[]): ForkBlock {
  const number = parent === undefined ? 0 : parent.number + 1
  const groups: ChosenLog[][] = []
  for (let at = 0; at < logs.length; at += logsPerTransaction)
    groups.push(logs.slice(at, at + logsPerTransaction))
  const header = encode([
    parent === undefined ? new Uint8Array(32) : bytesOf(parent.hash),
    ...[32, 20, 32, 32, 32].map((length) => new Uint8Array(length)),
    bytesOf(bloomOf(logs)),
    new Uint8Array(0),
    toMinimalBytes(number),
    ...[30_000_000, 21_000, 12 * (number + 1)].map(toMinimalBytes),
    toMinimalBytes(++salt),
    new Uint8Array(32),
    new Uint8Array(8),
    Uint8Array.of(7),
  ])
  const hash = keccak(header)
  const transaction: Raw = Array.from({ length: 9 }, () => Uint8Array.of(1))
  const transactionHash = (index: number) =>
    bytesOf(keccak(bytesOf(`${hash}${index.toString(16).padStart(4, '0')}`)))
  const blockDiff: BlockDiff = {
    number,
    hash: toHash32(bytesOf(hash)),
    parentHash: toHash32(parent === undefined ? new Uint8Array(32) : bytesOf(parent.hash)),
    header,
    body: encode([groups.map(() => transaction), []]),
    senders: Buffer.concat(groups.flatMap((_, index) => [new Uint8Array(20), transactionHash(index)])),
    receipts: encode(groups.map((group) => encode(receiptOf(group)))),
    totalDifficulty: new Uint8Array(0),
    accounts: [],
    slots: [],
    trie: [],
    code: [],
  }
  return { number, hash, parent, logs, blockDiff }
}

function receiptOf(logs: readonly ChosenLog[]): Raw {
  const items = logs.map(({ address, topics }) => [
    bytesOf(address),
    topics.map(bytesOf),
    Uint8Array.of(0xda),
  ])
  return [Uint8Array.of(1), Uint8Array.of(1), bytesOf(bloomOf(logs)), items]
}

/** `block` and its ancestors, genesis first. */
export function chainTo(block: ForkBlock): ForkBlock[] {
  const chain: ForkBlock[] = []
  for (let each: ForkBlock | undefined = block; each !== undefined; each = each.parent) chain.push(each)
  return chain.reverse()
}

export class ForkingChain {
  readonly genesis: ForkBlock
  readonly chain: Chain
  #head: ForkBlock
  readonly #store: ChainWriter

  private constructor(store: ChainWriter, genesis: ForkBlock, finalizedLag: number) {
    this.#store = store
    this.genesis = genesis
    this.#head = genesis
    this.chain = new Chain(store, {
      supportsSafe: true,
      safeLag: 0,
      finalizedLag,
      answerCacheBytes: 2 ** 20,
    })
  }

  /** Opens an empty chain in a folder of `t`, which closes it. */
  static open(t: Test, finalizedLag = 0): ForkingChain {
    const forks = ForkingChain.openIn(t.testdir(), finalizedLag)
    t.teardown(() => forks.close())
    return forks
  }

  static openIn(folder: string, finalizedLag = 0): ForkingChain {
    const store = ChainWriter.openForWriting({ path: join(folder, 'chain.mdb'), mapBytes: 2 ** 30 })
    const genesis = makeBlock(undefined, [])
    const identity = { chainId: '1', networkId: '1', genesisHash: genesis.hash, config: '{"chainId":1}' }
    store.initialize(identity, genesis.blockDiff)
    return new ForkingChain(store, genesis, finalizedLag)
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  /** The newest block in the store, even if the chain has not read it yet. */
  get head(): ForkBlock {
    return this.#head
  }

  /** Makes the chain that ends with `head` canonical in the store. The chain does not look yet. */
  write(head: ForkBlock): void {
    const branch: ForkBlock[] = []
    let base = head
    for (let canonical = this.#head; base !== canonical; ) {
      if (base.number < canonical.number) canonical = canonical.parent as ForkBlock
      else {
        branch.unshift(base)
        base = base.parent as ForkBlock
      }
    }
    this.#store.apply(
      base.number,
      branch.map(({ blockDiff }) => blockDiff),
    )
    this.#head = head
  }

  /** Extends the head by blocks with these logs, and looks. */
  extend(...blocks: readonly (readonly ChosenLog[])[]): ForkBlock[] {
    const made = growFrom(this.#head, blocks)
    this.write(made.at(-1) as ForkBlock)
    this.chain.refreshHead()
    return made
  }

  /** Stores a block that is on no canonical chain and was never executed. */
  writeSide({ blockDiff }: ForkBlock): void {
    this.#store.writeSideBlock(blockDiff)
  }
}

/** Adds one block after the other, from `parent` on. */
export function growFrom(parent: ForkBlock, blocks: readonly (readonly ChosenLog[])[]): ForkBlock[] {
  const made: ForkBlock[] = []
  for (const logs of blocks) made.push(makeBlock(made.at(-1) ?? parent, logs))
  return made
}
