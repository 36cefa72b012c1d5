/**
 * The plan of the chain: the fork of every block, its timestamp and its target gas limit. All of it is fixed, so that
 * the genesis file can have the time of a fork before any block exists.
 */

/** First block of each fork. From Shanghai on the genesis file names that block's timestamp instead. */
export const forkBlocks = {
  frontier: 0,
  homestead: 10,
  eip150: 20,
  eip155: 30,
  byzantium: 40,
  constantinople: 55,
  petersburg: 62,
  istanbul: 70,
  muirGlacier: 80,
  berlin: 85,
  london: 100,
  arrowGlacier: 115,
  grayGlacier: 120,
  /** The first block of proof of stake, which Ethereum calls Paris. */
  merge: 130,
  shanghai: 145,
  cancun: 165,
  prague: 190,
  osaka: 212,
  bpo1: 228,
  bpo2: 240,
} as const

export type ForkName = keyof typeof forkBlocks

/**
 * Number of the newest block; above 256, so that the chain exceeds the range of BLOCKHASH, but not that of EIP-2935.
 */
export const headNumber = 264

/** 8433 spells TIDE on a telephone. It belongs to no public network that its makers know of. */
export const chainId = 8433

/** 2025-01-01T00:00:00Z. */
export const genesisTimestamp = 1_735_689_600

const slotSeconds = 12

/** Seconds between proof-of-work blocks: 5 to 20, from a fixed walk, so that the difficulty rises and falls. */
function powSeconds(number: number): number {
  return 5 + ((number * number * 7 + number * 3) % 16)
}

/** Seconds since 1970 of a block. Cost grows with `number`. */
export function blockTimestamp(number: number): number {
  let time = genesisTimestamp
  for (let n = 1; n <= number; n++) time += n < forkBlocks.merge ? powSeconds(n) : slotSeconds
  return time
}

/**
 * The gas limit of genesis, and the target of later blocks, which change it by at most 1/1024 a block. London doubles
 * it.
 */
export const genesisGasLimit = 12_000_000n

/** The gas limit that the miners or validators of a block aim at. */
export function gasLimitTarget(number: number): bigint {
  if (number < forkBlocks.byzantium) return 12_500_000n
  if (number < forkBlocks.istanbul) return 12_000_000n
  if (number < forkBlocks.london) return 15_000_000n
  if (number < forkBlocks.osaka) return 30_000_000n
  return 36_000_000n
}

/** Blob counts per block in geth's format: the values of the public networks. */
export const blobSchedule = {
  cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3338477 },
  prague: { target: 6, max: 9, baseFeeUpdateFraction: 5007716 },
  osaka: { target: 6, max: 9, baseFeeUpdateFraction: 5007716 },
  bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8346193 },
  bpo2: { target: 14, max: 21, baseFeeUpdateFraction: 11684671 },
} as const
