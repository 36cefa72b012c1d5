/** The configuration of a fork for `eth_config` (EIP-7910), and its fork id (EIP-2124). */
import { crc32 } from 'node:zlib'
import {
  bytesToHex,
  hexToBytes,
  padLeft,
  toMinimalBytes,
  toQuantity,
  writeUint64,
} from '../../primitives/bytes.js'
import { type ForkSchedule, includesFork, toInteger } from './forks.js'
import type { Timestamp } from './header.js'
import { hasPrecompile, precompiledContracts, systemContracts } from './protocolContracts.js'

interface ForkSource {
  readonly schedule: ForkSchedule
  /** The `config` member of the genesis, as JSON text. */
  readonly config: string
  readonly genesisHash: string
  /** Unix seconds. */
  readonly genesisTime: Timestamp
}

/**
 * JSON text of the fork by time that is active at `timestamp`, the next one, and the last one planned; null if there is
 * none.
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
  const deposits = config.depositContractAddress ?? bytesToHex(new Uint8Array(20))
  const precompiles = [...precompiledContracts].filter(([number]) => hasPrecompile(fork, number))
  const systems = systemContracts.filter(({ since }) => includesFork(fork, since))
  return {
    activationTime: time <= genesisTime ? 0 : time,
    blobSchedule: blobs && {
      target: blobs.target,
      max: blobs.max,
      baseFeeUpdateFraction: Number(blobs.baseFeeUpdateFraction),
    },
    chainId: toQuantity(config.chainId),
    forkId: forkId(source, time),
    precompiles: byName(
      precompiles.map(([number, { name }]) => [name, bytesToHex(padLeft(toMinimalBytes(number), 20))]),
    ),
    systemContracts: byName([
      ...systems.map(({ name, address }) => [name, bytesToHex(address)] as const),
      ...(includesFork(fork, 'prague') ? [['DEPOSIT_CONTRACT_ADDRESS', deposits] as const] : []),
    ]),
  }
}

function byName(members: (readonly [name: string, address: string])[]): Record<string, string> {
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** EIP-2124: CRC-32 of the genesis hash and of every activation up to the fork, except those at genesis. */
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
