/**
 * Contracts of the protocol, with the fork that introduced each: precompiled contracts, and targets of system calls.
 */
import { hexToBytes } from '../../primitives/bytes.js'
import { forkRules } from './forkRules.js'
import { type ForkName, includesFork } from './forks.js'

interface Precompile {
  readonly since: ForkName
  /** Name in `eth_config` (EIP-7910). */
  readonly name: string
}

const byNumber = {
  1: { since: 'chainstart', name: 'ECREC' },
  2: { since: 'chainstart', name: 'SHA256' },
  3: { since: 'chainstart', name: 'RIPEMD160' },
  4: { since: 'chainstart', name: 'ID' },
  5: { since: 'byzantium', name: 'MODEXP' },
  6: { since: 'byzantium', name: 'BN254_ADD' },
  7: { since: 'byzantium', name: 'BN254_MUL' },
  8: { since: 'byzantium', name: 'BN254_PAIRING' },
  9: { since: 'istanbul', name: 'BLAKE2F' },
  10: { since: 'cancun', name: 'KZG_POINT_EVALUATION' },
  11: { since: 'prague', name: 'BLS12_G1ADD' },
  12: { since: 'prague', name: 'BLS12_G1MSM' },
  13: { since: 'prague', name: 'BLS12_G2ADD' },
  14: { since: 'prague', name: 'BLS12_G2MSM' },
  15: { since: 'prague', name: 'BLS12_PAIRING_CHECK' },
  16: { since: 'prague', name: 'BLS12_MAP_FP_TO_G1' },
  17: { since: 'prague', name: 'BLS12_MAP_FP2_TO_G2' },
  256: { since: 'osaka', name: 'P256VERIFY' },
} as const satisfies Readonly<Record<number, Precompile>>
export type PrecompileNumber = keyof typeof byNumber

/** Precompiled contracts by number, which is also the address. */
export const precompiledContracts: ReadonlyMap<number, Precompile> = new Map(
  Object.entries(byNumber).map(([number, contract]) => [Number(number), contract]),
)

/** Whether a fork has a precompiled contract; if not, the address is an ordinary account. */
export function hasPrecompile(fork: ForkName, number: number): number is PrecompileNumber {
  const since = precompiledContracts.get(number)?.since
  const own = forkRules(fork).execution.precompiles?.since.get(number)
  return since !== undefined && (includesFork(fork, since) || (own !== undefined && includesFork(fork, own)))
}

interface SystemContract {
  readonly since: ForkName
  readonly name: string
  readonly address: Uint8Array
  /** Type of the requests (EIP-7685) that a call after a block's transactions returns. */
  readonly requests?: number
}

/** EIP-4788. */
export const beaconRoots: SystemContract = {
  since: 'cancun',
  name: 'BEACON_ROOTS_ADDRESS',
  address: hexToBytes('000f3df6d732807ef1319fb7b8bb8522d0beac02'),
}
/** EIP-2935. */
export const parentHashes: SystemContract = {
  since: 'prague',
  name: 'HISTORY_STORAGE_ADDRESS',
  address: hexToBytes('0000f90827f1c53a10cb7a02335b175320002935'),
}

/** In the order of their requests, which are from EIP-7002, EIP-7251 and, twice, EIP-8282. */
export const systemContracts: readonly SystemContract[] = [
  beaconRoots,
  parentHashes,
  {
    since: 'prague',
    name: 'WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS',
    address: hexToBytes('00000961ef480eb55e80d19ad83579a64c007002'),
    requests: 1,
  },
  {
    since: 'prague',
    name: 'CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS',
    address: hexToBytes('0000bbddc7ce488642fb579f8b00f3a590007251'),
    requests: 2,
  },
  {
    since: 'amsterdam',
    name: 'BUILDER_DEPOSIT_CONTRACT_ADDRESS',
    address: hexToBytes('0000bff46984e3725691fa540a8c7589300d8282'),
    requests: 3,
  },
  {
    since: 'amsterdam',
    name: 'BUILDER_EXIT_CONTRACT_ADDRESS',
    address: hexToBytes('000064d678505ad48f8ccb093bc65613800e8282'),
    requests: 4,
  },
]
