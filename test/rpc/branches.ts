/** Competing branches on the genesis of the demo network, made by the builder of the demo chain. */
import { readFileSync } from 'node:fs'
import { createLegacyTx, type TypedTransaction } from '@ethereumjs/tx'
import { encodeCall } from '../../data/devnet/abi.js'
import { miners, people } from '../../data/devnet/accounts.js'
import { ChainBuilder } from '../../data/devnet/chainBuilder.js'
import type { Genesis } from '../../data/devnet/genesis.js'
import { type DemoBlock, decodeBlock, genesisPath, hex } from './demoChain.js'

/** A counter with the value 1,000 at genesis; `increment()` adds one. */
export const counterAddress = '0x00000000000000000000000000000000000c0de1'

export interface BranchBlock extends DemoBlock {
  readonly bytes: Uint8Array
  readonly stateRoot: string
  /** The counter's value after this block. */
  readonly count: number
}

/**
 * The number of increments of the counter in each block of a branch, from block 1 on, and a word that distinguishes its
 * blocks.
 */
export interface BranchPlan {
  readonly increments: readonly number[]
  /** From this number on, the blocks contain `name`; earlier blocks are those of every other branch. */
  readonly forksAt: number
  readonly name: string
}

/** The blocks of a branch; blocks before the fork are equal for all plans with the same increments. */
export async function buildBranch({ increments, forksAt, name }: BranchPlan): Promise<BranchBlock[]> {
  const genesis = JSON.parse(readFileSync(genesisPath, 'utf8')) as Genesis
  // A chain with proof of work has no blobs.
  const builder = await ChainBuilder.create(genesis, {} as never)
  const made: BranchBlock[] = []
  let nonce = 0
  let count = 1000
  for (const times of increments) {
    const isOwn = builder.nextNumber >= forksAt
    const transactions: TypedTransaction[] = []
    for (let i = 0; i < times; i++) {
      const data = encodeCall('increment()')
      const fields = {
        nonce: nonce++,
        gasPrice: 2_000_000_000n,
        gasLimit: 150_000n,
        to: counterAddress,
        data,
      }
      transactions.push(
        createLegacyTx(fields as never, { common: builder.nextRules() }).sign(people.ada.privateKey),
      )
    }
    const { block } = await builder.mine({
      coinbase: miners[0],
      extraData: isOwn ? name : '',
      transactions,
      uncles: [],
      withdrawals: [],
    })
    const bytes = block.serialize()
    const total = made.at(-1)?.totalDifficulty ?? BigInt(genesis.difficulty ?? 0)
    count += times
    made.push({ ...decodeBlock(bytes, total), bytes, stateRoot: hex(block.header.stateRoot), count })
  }
  return made
}

/** Blocks as a chain file. */
export function chainFileOf(blocks: readonly { readonly bytes: Uint8Array }[]): Uint8Array {
  return Buffer.concat(blocks.map(({ bytes }) => bytes))
}
