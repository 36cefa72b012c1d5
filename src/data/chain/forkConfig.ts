/** The configuration of a fork for `eth_config` (EIP-7910), and its fork id (EIP-2124). */
import { crc32 } from 'node:zlib'
import { bytesToHex, hexToBytes, toQuantity, writeUint64 } from '../../primitives/bytes.js'
import { type ForkName, type ForkSchedule, includesFork, toInteger } from './forks.js'
import type { Timestamp } from './header.js'

/** Precompiled and system contracts: the fork that introduced each, its name and address. */
type Named = readonly (readonly [since: ForkName, name: string, address: string])[]

const precompiles: Named = [
  ['chainstart', 'ECREC', '01'],
  ['chainstart', 'SHA256', '02'],
  ['chainstart', 'RIPEMD160', '03'],
  ['chainstart', 'ID', '04'],
  ['byzantium', 'MODEXP', '05'],
  ['byzantium', 'BN254_ADD', '06'],
  ['byzantium', 'BN254_MUL', '07'],
  ['byzantium', 'BN254_PAIRING', '08'],
  ['istanbul', 'BLAKE2F', '09'],
  ['cancun', 'KZG_POINT_EVALUATION', '0a'],
  ['prague', 'BLS12_G1ADD', '0b'],
  ['prague', 'BLS12_G1MSM', '0c'],
  ['prague', 'BLS12_G2ADD', '0d'],
  ['prague', 'BLS12_G2MSM', '0e'],
  ['prague', 'BLS12_PAIRING_CHECK', '0f'],
  ['prague', 'BLS12_MAP_FP_TO_G1', '10'],
  ['prague', 'BLS12_MAP_FP2_TO_G2', '11'],
  ['osaka', 'P256VERIFY', '0100'],
]

const systemContracts: Named = [
  ['amsterdam', 'BUILDER_DEPOSIT_CONTRACT_ADDRESS', '0000bff46984e3725691fa540a8c7589300d8282'],
  ['amsterdam', 'BUILDER_EXIT_CONTRACT_ADDRESS', '000064d678505ad48f8ccb093bc65613800e8282'],
  ['cancun', 'BEACON_ROOTS_ADDRESS', '000f3df6d732807ef1319fb7b8bb8522d0beac02'],
  ['prague', 'CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS', '0000bbddc7ce488642fb579f8b00f3a590007251'],
  ['prague', 'HISTORY_STORAGE_ADDRESS', '0000f90827f1c53a10cb7a02335b175320002935'],
  ['prague', 'WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS', '00000961ef480eb55e80d19ad83579a64c007002'],
]

interface ForkSource {
  readonly schedule: ForkSchedule
  /** The `config` member of the genesis, as JSON text. */
  readonly config: string
  readonly genesisHash: string
  /** Unix seconds. */
  readonly genesisTime: Timestamp
}

/**
 * JSON text of the fork by time that is active at `timestamp`, the next one, and the last one planned; null where
 * there is none.
 */
export function forkConfigJson(source: ForkSource, timestamp: Timestamp): string {
  const { times } = source.schedule.config
  const activations = [...new Set(times.values())].sort((a, b) => a - b)
  const current = activations.findLast((time) => time <= timestamp)
  const next = activations.find((time) => time > timestamp)
  const last = next === undefined ? undefined : activations.at(-1)
  const render = (time: number | undefined) => (time === undefined ? null : forkAt(source, time))
  return JSON.stringify({ current: render(current), next: render(next), last: render(last) })
}

function forkAt(source: ForkSource, time: number): object {
  const { schedule, genesisTime } = source
  const { config } = schedule
  // Every fork by number precedes those by time.
  const fork = schedule.forkAt(Number.MAX_SAFE_INTEGER, time, true)
  const blobs = schedule.blobParametersAt(fork)
  const deposits = config.depositContractAddress ?? addressOf('')
  return {
    activationTime: time <= genesisTime ? 0 : time,
    blobSchedule: blobs && {
      target: blobs.target,
      max: blobs.max,
      baseFeeUpdateFraction: Number(blobs.baseFeeUpdateFraction),
    },
    chainId: toQuantity(config.chainId),
    forkId: forkId(source, time),
    precompiles: namedSince(fork, precompiles),
    systemContracts: namedSince(fork, systemContracts, [
      ['prague', 'DEPOSIT_CONTRACT_ADDRESS', deposits.slice(2)],
    ]),
  }
}

function namedSince(fork: ForkName, ...named: readonly Named[]): Record<string, string> {
  const members = named
    .flat()
    .filter(([since]) => includesFork(fork, since))
    .map(([, name, address]) => [name, addressOf(address)] as const)
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function addressOf(digits: string): string {
  return `0x${digits.padStart(40, '0')}`
}

/** EIP-2124: CRC-32 of the genesis hash and of every activation up to the fork, those of genesis itself left out. */
function forkId({ config, genesisHash, genesisTime }: ForkSource, time: number): string {
  const members = Object.entries(JSON.parse(config) as object).filter(([, value]) => value !== null)
  const activations = (suffix: string, after: Timestamp, upTo: number) => {
    const named = members.filter(([name]) => name.endsWith(suffix))
    const all = new Set(named.map(([name, value]) => toInteger(value, `config.${name}`)))
    return [...all].filter((at) => at > after && at <= upTo).sort((a, b) => a - b)
  }
  let crc = crc32(hexToBytes(genesisHash.slice(2)))
  for (const at of [
    ...activations('Block', 0, Number.MAX_SAFE_INTEGER),
    ...activations('Time', genesisTime, time),
  ]) {
    const bytes = new Uint8Array(8)
    writeUint64(bytes, at, 0)
    crc = crc32(bytes, crc)
  }
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc)
  return bytesToHex(bytes)
}
