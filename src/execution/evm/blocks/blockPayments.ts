/** Payments of a block besides its transactions: rewards, withdrawals, and the refund of the DAO fork. */
import { blockReward, inclusionReward, uncleReward } from '../../../data/chain/blockReward.js'
import type { ForkName } from '../../../data/chain/forks.js'
import { type Header, headerFromItems } from '../../../data/chain/header.js'
import { bytesToBigInt, hexToBytes } from '../../../primitives/bytes.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import { type RlpItem, rlpBytes, rlpList } from '../../../primitives/rlp.js'
import type { Kernel } from '../engine/kernel.js'
import { daoAccounts, daoRefundContract } from './daoAccounts.js'

const gwei = 10n ** 9n
const noOrigin = new Uint8Array(20)

export interface Reward {
  /** For the block itself, or for an uncle. */
  readonly kind: 'block' | 'uncle'
  readonly author: Uint8Array
  readonly wei: bigint
}

/** Rewards of a block before the Merge; the block's own is last. `uncles` are RLP items of headers. */
export function rewardsOf(header: Header, uncles: readonly RlpItem[], fork: ForkName): Reward[] {
  const reward = blockReward(fork)
  const rewards: Reward[] = uncles.map((item) => {
    const uncle = headerFromItems(rlpList(item))
    return { kind: 'uncle', author: uncle.miner, wei: uncleReward(reward, header.number - uncle.number) }
  })
  const wei = reward + inclusionReward(reward, uncles.length)
  return [...rewards, { kind: 'block', author: header.miner, wei }]
}

/** Pays the miners of the block and of its uncles. */
export function payRewards(kernel: Kernel, header: Header, uncles: readonly RlpItem[], fork: ForkName): void {
  kernel.begin(noOrigin, 0n, [])
  for (const { author, wei } of rewardsOf(header, uncles, fork)) kernel.credit(kernel.account(author), wei)
  kernel.end()
}

/** Pays withdrawals (EIP-4895), in gwei. Throws {@link InvalidBlockError} for another shape. */
export function payWithdrawals(kernel: Kernel, withdrawals: readonly RlpItem[]): void {
  kernel.begin(noOrigin, 0n, [])
  for (const [index, item] of withdrawals.entries()) {
    const fields = rlpList(item).map(rlpBytes)
    const [number, validator, address, amount] = fields
    const areIntegers = [number, validator, amount].every(
      (bytes) => bytes !== undefined && bytes.length <= 8 && bytes[0] !== 0,
    )
    if (fields.length !== 4 || !areIntegers || address?.length !== 20 || amount === undefined) {
      throw new InvalidBlockError(`withdrawal ${index} is malformed`)
    }
    const account = kernel.account(address)
    kernel.see(account)
    kernel.credit(account, bytesToBigInt(amount) * gwei)
  }
  kernel.end()
}

/** Moves the ether of the DAO accounts (EIP-779). */
export function applyDaoFork(kernel: Kernel): void {
  kernel.begin(noOrigin, 0n, [])
  const refund = kernel.account(hexToBytes(daoRefundContract))
  for (const digits of daoAccounts) {
    const account = kernel.account(hexToBytes(digits))
    const wei = kernel.balanceOf(account)
    kernel.debit(account, wei)
    kernel.credit(refund, wei)
  }
  kernel.end()
}
