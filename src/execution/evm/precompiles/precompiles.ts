/**
 * The precompiled contracts of every fork, all synchronous. {@link precompileRuns} and {@link precompileNumbers} are
 * for a {@link KernelHost}, {@link refusalReason} gives the message of a refused input. Owns the gas of each contract.
 * The computations are in the other files of this folder, the forks in data/chain/protocolContracts.ts. All gas is
 * computed before the input is read.
 */
import { hash } from 'node:crypto'
import { ripemd160 } from '@noble/hashes/legacy.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import { type ForkName, includesFork } from '../../../data/chain/forks.js'
import {
  hasPrecompile,
  type PrecompileNumber,
  precompiledContracts,
} from '../../../data/chain/protocolContracts.js'
import { noBytes, padLeft, toMinimalBytes } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { PrecompileRuns } from '../engine/kernelHost.js'
import { recoverKey } from '../transactions/libsecp256k1.js'
import { blake2f, blake2fRounds } from './blake2f.js'
import * as bls from './bls12381.js'
import { addBn254, bn254PairBytes, multiplyBn254, pairBn254 } from './bn254.js'
import { InputRefusal, isZero } from './contractData.js'
import { verifyKzgProof } from './kzgProof.js'
import { modexpGas, modexpPower } from './modexp.js'
import { verifyP256 } from './p256.js'

/** Price of each term of a sum, in thousandths of a single product's, by the number of terms from 1 on (EIP-2537). */
const g1Discounts: readonly number[] = [
  1000, 949, 848, 797, 764, 750, 738, 728, 719, 712, 705, 698, 692, 687, 682, 677, 673, 669, 665, 661, 658,
  654, 651, 648, 645, 642, 640, 637, 635, 632, 630, 627, 625, 623, 621, 619, 617, 615, 613, 611, 609, 608,
  606, 604, 603, 601, 599, 598, 596, 595, 593, 592, 591, 589, 588, 586, 585, 584, 582, 581, 580, 579, 577,
  576, 575, 574, 573, 572, 570, 569, 568, 567, 566, 565, 564, 563, 562, 561, 560, 559, 558, 557, 556, 555,
  554, 553, 552, 551, 550, 549, 548, 547, 547, 546, 545, 544, 543, 542, 541, 540, 540, 539, 538, 537, 536,
  536, 535, 534, 533, 532, 532, 531, 530, 529, 528, 528, 527, 526, 525, 525, 524, 523, 522, 522, 521, 520,
  520, 519,
]

const g2Discounts: readonly number[] = [
  1000, 1000, 923, 884, 855, 832, 812, 796, 782, 770, 759, 749, 740, 732, 724, 717, 711, 704, 699, 693, 688,
  683, 679, 674, 670, 666, 663, 659, 655, 652, 649, 646, 643, 640, 637, 634, 632, 629, 627, 624, 622, 620,
  618, 615, 613, 611, 609, 607, 606, 604, 602, 600, 598, 597, 595, 593, 592, 590, 589, 587, 586, 584, 583,
  582, 580, 579, 578, 576, 575, 574, 573, 571, 570, 569, 568, 567, 566, 565, 563, 562, 561, 560, 559, 558,
  557, 556, 555, 554, 553, 552, 552, 551, 550, 549, 548, 547, 546, 545, 545, 544, 543, 542, 541, 541, 540,
  539, 538, 537, 537, 536, 535, 535, 534, 533, 532, 532, 531, 530, 530, 529, 528, 528, 527, 526, 526, 525,
  524, 524,
]

interface Contract {
  gas(data: Uint8Array, fork: ForkName): bigint
  /** Runs the contract. Throws {@link InputRefusal}. Checks the watch during long work. */
  run(data: Uint8Array, fork: ForkName, watch: JobWatch | undefined): Uint8Array
}

/** Contracts by number, which is also the address. */
const contracts: Readonly<Record<PrecompileNumber, Contract>> = {
  1: { gas: () => 3_000n, run: recover },
  2: { gas: perWord(60n, 12n), run: (data) => hash('sha256', data, 'buffer') },
  3: { gas: perWord(600n, 120n), run: (data) => padLeft(ripemd160(data), 32) },
  // The kernel runs this contract itself.
  4: { gas: perWord(15n, 3n), run: (data) => data.slice() },
  5: { gas: modexpGas, run: modexpPower },
  // EIP-196, EIP-197; cheaper since EIP-1108.
  6: { gas: (_, fork) => (includesFork(fork, 'istanbul') ? 150n : 500n), run: addBn254 },
  7: {
    gas: (_, fork) => (includesFork(fork, 'istanbul') ? 6_000n : 40_000n),
    run: multiplyBn254,
  },
  8: {
    gas: (data, fork) =>
      includesFork(fork, 'istanbul')
        ? 45_000n + 34_000n * countItems(data, bn254PairBytes)
        : 100_000n + 80_000n * countItems(data, bn254PairBytes),
    run: (data, _, watch) => pairBn254(data, watch),
  },
  // EIP-152.
  9: {
    gas: (data) => BigInt(blake2fRounds(data)),
    run: (data, _, watch) => blake2f(data, watch),
  },
  // EIP-4844.
  10: { gas: () => 50_000n, run: verifyKzgProof },
  // EIP-2537.
  11: { gas: () => 375n, run: (data) => bls.add('g1', data) },
  12: {
    gas: perTerm(12_000n, bls.g1TermBytes, g1Discounts),
    run: (data, _, watch) => bls.sumOf('g1', data, watch),
  },
  13: { gas: () => 600n, run: (data) => bls.add('g2', data) },
  14: {
    gas: perTerm(22_500n, bls.g2TermBytes, g2Discounts),
    run: (data, _, watch) => bls.sumOf('g2', data, watch),
  },
  15: {
    gas: (data) => 37_700n + 32_600n * countItems(data, bls.blsPairBytes),
    run: (data, _, watch) => bls.pairBls(data, watch),
  },
  16: { gas: () => 5_500n, run: bls.mapToG1 },
  17: { gas: () => 23_800n, run: bls.mapToG2 },
  // EIP-7951.
  256: { gas: () => 6_900n, run: verifyP256 },
}

export function precompileNumbers(fork: ForkName): number[] {
  return [...precompiledContracts.keys()].filter((number) => hasPrecompile(fork, number))
}

/** The address of a contract: its number in 20 bytes. */
export function precompileAddress(number: number): Uint8Array {
  return padLeft(toMinimalBytes(number), 20)
}

/**
 * The contracts of a fork by number. The watch, which block execution lacks, ends a contract that exceeds the job's
 * time with FaultError ExecutionTimedOut; some contracts check it only every 30 ms.
 */
export function precompileRuns(fork: ForkName, watch: JobWatch | undefined): PrecompileRuns {
  const own = forkRules(fork).execution.precompiles
  return {
    get(number) {
      if (!hasPrecompile(fork, number)) return undefined
      const contract = contracts[number]
      const bytesMax = own?.inputBytesMax(number, fork)
      return (data, gas) => {
        const gasUsed = own?.gas(number, fork) ?? contract.gas(data, fork)
        if (gasUsed > gas) return { output: noBytes, gasUsed }
        if (bytesMax !== undefined && data.length > bytesMax) return undefined
        watch?.look()
        try {
          return { output: contract.run(data, fork, watch), gasUsed }
        } catch (error) {
          if (error instanceof InputRefusal) return undefined
          throw error
        }
      }
    },
  }
}

/** The reason for a refused input: go-ethereum's message. Takes about as long as the contract itself. */
export function refusalReason(number: number, data: Uint8Array, watch: JobWatch): string {
  try {
    // An input refused at one fork is refused at all later ones.
    contracts[number as PrecompileNumber].run(data, 'osaka', watch)
  } catch (error) {
    if (error instanceof InputRefusal) return error.message
    throw error
  }
  return 'invalid input'
}

function perWord(base: bigint, each: bigint): Contract['gas'] {
  return (data) => base + each * BigInt(Math.ceil(data.length / 32))
}

function countItems(data: Uint8Array, itemBytes: number): bigint {
  return BigInt(Math.floor(data.length / itemBytes))
}

/** `discounts` are thousandths of the price by number of terms; the last one also applies to more terms. */
function perTerm(each: bigint, termBytes: number, discounts: readonly number[]): Contract['gas'] {
  return (data) => {
    const terms = countItems(data, termBytes)
    const discount = discounts[Math.min(Number(terms), discounts.length) - 1] ?? 0
    return (terms * each * BigInt(discount)) / 1_000n
  }
}

/** Input: hash ‖ v ‖ r ‖ s, 32 bytes each. Output: the address as a word, or nothing. */
function recover(data: Uint8Array): Uint8Array {
  const input = new Uint8Array(128)
  input.set(data.subarray(0, 128))
  const v = input[63] as number
  if (!isZero(input.subarray(32, 63)) || (v !== 27 && v !== 28)) return noBytes
  const key = recoverKey(input.subarray(0, 32), BigInt(v - 27), input.subarray(64, 96), input.subarray(96))
  return key === undefined ? noBytes : padLeft(keccak256(key).subarray(12), 32)
}
