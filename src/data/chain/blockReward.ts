/** Ether that a proof-of-work block creates (yellow paper 11.3, EIP-649, EIP-1234). */
import { type ForkName, includesFork } from './forks.js'

const ether = 10n ** 18n

/** The miner's reward for a block without uncles, in wei. Only blocks before the Merge have one. */
export function blockReward(fork: ForkName): bigint {
  if (includesFork(fork, 'constantinople')) return 2n * ether
  return includesFork(fork, 'byzantium') ? 3n * ether : 5n * ether
}

/** Wei that the miner gets for including `uncles` uncles. */
export function inclusionReward(reward: bigint, uncles: number): bigint {
  return (reward / 32n) * BigInt(uncles)
}

/** Wei for the miner of an uncle that is `age` blocks older than the block with it. */
export function uncleReward(reward: bigint, age: number): bigint {
  return ((8n - BigInt(age)) * reward) / 8n
}
