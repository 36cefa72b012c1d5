/**
 * Messages whose execution takes as much as their gas allows: time, memory, or one uninterruptible instruction. Owns
 * the EVM code and the data; attacks.ts sends them.
 */
import { toQuantity } from '../../src/primitives/bytes.js'
import { addressOf } from '../data/demoFacts.js'
import { rpc } from '../load/rpc.js'

/** Address of the overridden code. */
export const bombAddress = `0x${'b0'.repeat(20)}`

/** EVM code, by effect. Messages have no `gas`, so they get the server's maximum. */
export const code = {
  /** JUMPDEST PUSH1 0 JUMP */
  loop: '0x5b600056',
  /** Hashes a megabyte repeatedly. */
  hashLoop: '0x5b620f424060002050600056',
  /** MLOAD at 12 MiB: 303 million gas at once. */
  memory: '0x6300c0000051',
  /** 360 KiB of memory, and a call of itself: over 200 frames keep theirs at the same time. */
  memoryOfFrames: '0x6205a000515060006000600060006000305af1',
  /** TSTORE of new keys: 2.9 million of them. */
  transientSlots: '0x60005b60010180805d600256',
  /** SSTORE of new keys. */
  slots: '0x60005b600101808055600256',
  /** LOG0 with 64 KiB of data, repeatedly. */
  logs: '0x5b620100006000a0600056',
  /** Returns 10 MiB. */
  answer: '0x6300a000006000f3',
} as const

/** Code that calls the precompiled contract at `address` repeatedly, with its own calldata and all gas. */
export function precompileLoop(address: number): string {
  const copyAll = '3660006000' + '37'
  const call = `6000600036600061${address.toString(16).padStart(4, '0')}5afa`
  // JUMPDEST at 6; the call; POP PUSH1 6 JUMP.
  return `0x${copyAll}5b${call}50600656`
}

/** The methods that execute a message. */
export const executing = ['eth_call', 'eth_estimateGas', 'eth_createAccessList'] as const

/**
 * The n-th request to execute overridden code. An unused balance makes each request different, so that no answer is
 * cached. `data` is hex without `0x`.
 */
export function bomb(n: number, byteCode: string, data = '', method: string = 'eth_call'): string {
  const message = { from: addressOf('bea'), to: bombAddress, data: `0x${data}` }
  return rpc(method, [message, 'latest', { [bombAddress]: { code: byteCode, balance: toQuantity(n + 1) } }])
}

const bytes32 = (value: bigint): string => value.toString(16).padStart(64, '0')

/** The generators of both groups of BN254, as a pair in the form of EIP-197. */
const bn254Pair = [
  1n,
  2n,
  11559732032986387107991004021392285783925812861821192530917403151452391805634n,
  10857046999023057135944570762232829481370756359578518086990519993285655852781n,
  4082367875863433681332203403145435568316851327593401208105741076214120093531n,
  8495653923123431417604973247489272438418190587263600148770280649306958101930n,
]
  .map(bytes32)
  .join('')

const field64 = (hex: string): string => hex.padStart(128, '0')

/** The generators of both groups of BLS12-381, as points in the form of EIP-2537. */
const blsPoint1 = [
  '17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb',
  '08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1',
]
  .map(field64)
  .join('')
const blsPoint2 = [
  '024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8',
  '13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e',
  '0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801',
  '0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be',
]
  .map(field64)
  .join('')
const largeScalar = 'f'.repeat(64)

/** Data for a precompiled contract that takes long for its gas. */
export interface PrecompileBomb {
  readonly name: string
  readonly address: number
  /** Hex without `0x`; `size` counts pairs, points or bytes, and rounds of BLAKE2b. */
  data(size: number): string
  /** The largest size that the gas of a call, or a body of 5 MiB, allows. */
  readonly sizeMax: number
}

export const precompileBombs: readonly PrecompileBomb[] = [
  {
    name: 'modexp',
    address: 0x05,
    // Base and modulus have `size` bytes, the exponent 32.
    data: (size) =>
      [size, 32, size].map((length) => bytes32(BigInt(length))).join('') +
      'f'.repeat(size * 2) +
      largeScalar +
      `${'f'.repeat(size * 2 - 2)}fe`,
    sizeMax: 1_024,
  },
  { name: 'bn254 pairing', address: 0x08, data: (size) => bn254Pair.repeat(size), sizeMax: 9_000 },
  {
    name: 'blake2f',
    address: 0x09,
    data: (size) => size.toString(16).padStart(8, '0') + '01'.repeat(209),
    sizeMax: 250_000_000,
  },
  {
    name: 'bls12-381 sums of group 1',
    address: 0x0c,
    data: (size) => (blsPoint1 + largeScalar).repeat(size),
    sizeMax: 15_000,
  },
  {
    name: 'bls12-381 sums of group 2',
    address: 0x0e,
    data: (size) => (blsPoint2 + largeScalar).repeat(size),
    sizeMax: 8_000,
  },
  {
    name: 'bls12-381 pairing',
    address: 0x0f,
    data: (size) => (blsPoint1 + blsPoint2).repeat(size),
    sizeMax: 6_000,
  },
]
