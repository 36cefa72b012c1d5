/** Prices and difficulty of a block, which follow from its parent header. Pure functions of the EIPs they cite. */
import { type BlobParameters, type ForkName, includesFork } from './forkNames.js'
import type { Header, Timestamp } from './header.js'

/** Base fee of the first block with one. */
export const initialBaseFee = 1_000_000_000n
const baseFeeChangeDenominator = 8n
const elasticityMultiplier = 2n

/** Base fee of the child, wei per gas (EIP-1559). `parent` without base fee: the child is the first with one. */
export function nextBaseFee(parent: Header): bigint {
  return changeBaseFee(parent, parent.gasUsed, elasticityMultiplier, baseFeeChangeDenominator)
}

/** Like {@link nextBaseFee}, with a chain's own parameters, for the gas that the parent counts as used. */
export function changeBaseFee(
  { baseFeePerGas, gasLimit }: Header,
  gasUsed: bigint,
  elasticity: bigint,
  denominator: bigint,
): bigint {
  if (baseFeePerGas === undefined) return initialBaseFee
  const target = gasLimit / elasticity
  if (gasUsed === target || target === 0n) return baseFeePerGas
  if (gasUsed > target) {
    const delta = (baseFeePerGas * (gasUsed - target)) / target / denominator
    return baseFeePerGas + (delta > 1n ? delta : 1n)
  }
  return baseFeePerGas - (baseFeePerGas * (target - gasUsed)) / target / denominator
}

/** Gas of one blob (EIP-4844). */
export const gasPerBlob = 131_072n
const minBlobBaseFee = 1n
/**
 * EIP-7918: minimum execution gas that a blob must be worth; below it the excess does not fall by the rule of EIP-4844.
 */
const blobBaseCost = 8_192n

/** Excess blob gas of the child (EIP-4844, from Osaka on EIP-7918), by the child's parameters. */
export function nextExcessBlobGas(parent: Header, fork: ForkName, parameters: BlobParameters): bigint {
  const excess = parent.excessBlobGas ?? 0n
  const used = parent.blobGasUsed ?? 0n
  const target = BigInt(parameters.target) * gasPerBlob
  if (excess + used < target) return 0n
  if (includesFork(fork, 'osaka')) {
    const executionPrice = blobBaseCost * (parent.baseFeePerGas ?? 0n)
    const blobPrice = gasPerBlob * blobBaseFee(excess, parameters)
    if (executionPrice > blobPrice) {
      const { max, target: targetBlobs } = parameters
      return excess + (used * BigInt(max - targetBlobs)) / BigInt(max)
    }
  }
  return excess + used - target
}

/** A price fits a word; the excess in a genesis may have any value. */
const blobBaseFeeMax = 2n ** 256n - 1n

/** Price of blob gas in a block with this excess, wei per gas (EIP-4844); {@link blobBaseFeeMax} at most. */
export function blobBaseFee(excessBlobGas: bigint, { baseFeeUpdateFraction }: BlobParameters): bigint {
  let index = 1n
  let output = 0n
  let term = minBlobBaseFee * baseFeeUpdateFraction
  while (term > 0n) {
    output += term
    if (output > blobBaseFeeMax * baseFeeUpdateFraction) return blobBaseFeeMax
    term = (term * excessBlobGas) / (baseFeeUpdateFraction * index)
    index++
  }
  return output / baseFeeUpdateFraction
}

const minDifficulty = 131_072n
/** Blocks by which each fork delayed the difficulty bomb (EIP-649, 1234, 2384, 3554, 4345, 5133). */
const bombDelays: readonly (readonly [ForkName, number])[] = [
  ['grayGlacier', 11_400_000],
  ['arrowGlacier', 10_700_000],
  ['london', 9_700_000],
  ['muirGlacier', 9_000_000],
  ['constantinople', 5_000_000],
  ['byzantium', 3_000_000],
]

/**
 * Difficulty of a proof-of-work child (yellow paper 4.3.4; EIP-2, EIP-100 and the bomb delays). `forkBlocks`: first
 * blocks of the chain's forks. A fork that the chain omits, as Muir Glacier on some, delays no bomb, as in go-ethereum.
 */
export function nextDifficulty(
  parent: Header,
  hasUncles: boolean,
  timestamp: Timestamp,
  fork: ForkName,
  forkBlocks: ReadonlyMap<ForkName, number>,
): bigint {
  const step = parent.difficulty / 2048n
  const elapsed = Number(BigInt(timestamp) - BigInt(parent.timestamp))
  let difficulty: bigint
  if (includesFork(fork, 'byzantium')) {
    const sign = Math.max((hasUncles ? 2 : 1) - Math.floor(elapsed / 9), -99)
    difficulty = parent.difficulty + step * BigInt(sign)
  } else if (includesFork(fork, 'homestead')) {
    difficulty = parent.difficulty + step * BigInt(Math.max(1 - Math.floor(elapsed / 10), -99))
  } else {
    difficulty = elapsed < 13 ? parent.difficulty + step : parent.difficulty - step
  }
  if (difficulty < minDifficulty) difficulty = minDifficulty
  const number = parent.number + 1
  const hasBegun = (name: ForkName) => (forkBlocks.get(name) ?? Number.POSITIVE_INFINITY) <= number
  const delay = bombDelays.find(([name]) => hasBegun(name))?.[1] ?? 0
  const period = Math.floor(Math.max(0, number - delay) / 100_000)
  return period > 1 ? difficulty + 2n ** BigInt(period - 2) : difficulty
}
