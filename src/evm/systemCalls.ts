/** System calls: the protocol's own calls of contracts before and after a block's transactions. */
import { sha256 } from '@noble/hashes/sha2.js'
import { type ForkName, type ForkSchedule, includesFork } from '../chain/forks.js'
import type { Header } from '../chain/header.js'
import {
  bytesToBigInt,
  concatBytes,
  equalBytes,
  type Hash32,
  hexToBytes,
  toHash32,
} from '../primitives/bytes.js'
import { InvalidBlockError } from './invalidBlock.js'
import type { Kernel } from './kernel.js'
import type { KernelLog } from './kernelLogs.js'

/** EIP-4788. */
const systemAddress = hexToBytes('fffffffffffffffffffffffffffffffffffffffe')
const beaconRoots = hexToBytes('000f3df6d732807ef1319fb7b8bb8522d0beac02')
/** EIP-2935. */
const parentHashes = hexToBytes('0000f90827f1c53a10cb7a02335b175320002935')
/** EIP-7002, EIP-7251: contracts by the type of their requests. */
const requestContracts: readonly (readonly [type: number, address: Uint8Array])[] = [
  [1, hexToBytes('00000961ef480eb55e80d19ad83579a64c007002')],
  [2, hexToBytes('0000bbddc7ce488642fb579f8b00f3a590007251')],
]
/** The deposit contract of mainnet, for chains without one in their genesis. */
const depositContractDefault = '0x00000000219ab540356cbb839cbe05303d7705fa'
const systemGas = 30_000_000n
const nothing = new Uint8Array(0)

/** System calls before the transactions. A failed one changes nothing. */
export function beginBlock(kernel: Kernel, header: Header, fork: ForkName): void {
  const { parentBeaconBlockRoot } = header
  if (includesFork(fork, 'cancun') && parentBeaconBlockRoot !== undefined) {
    callSystem(kernel, beaconRoots, parentBeaconBlockRoot)
  }
  if (includesFork(fork, 'prague')) callSystem(kernel, parentHashes, header.parentHash)
}

/**
 * EIP-7685: the hash of a block's requests, from its logs and the system calls after its transactions. An absent
 * contract makes no requests, as on development chains. Throws {@link InvalidBlockError} where one fails.
 */
export function requestsHashOf(kernel: Kernel, logs: readonly KernelLog[], { config }: ForkSchedule): Hash32 {
  const deposits = hexToBytes((config.depositContractAddress ?? depositContractDefault).slice(2))
  const lists: (readonly [type: number, requests: Uint8Array])[] = [[0, depositsOf(logs, deposits)]]
  for (const [type, address] of requestContracts) {
    const outcome = callSystem(kernel, address, nothing)
    if (outcome?.isSuccess === false) throw new InvalidBlockError(`the contract of requests ${type} fails`)
    lists.push([type, outcome?.output ?? nothing])
  }
  const hashes = lists
    .filter(([, requests]) => requests.length > 0)
    .map(([type, requests]) => sha256(concatBytes(Uint8Array.of(type), requests)))
  return toHash32(sha256(concatBytes(...hashes)))
}

function callSystem(
  kernel: Kernel,
  address: Uint8Array,
  data: Uint8Array,
): { readonly isSuccess: boolean; readonly output: Uint8Array } | undefined {
  kernel.begin(systemAddress, 0n, [])
  const account = kernel.account(address)
  if (!kernel.hasCode(account)) return undefined
  const { failure } = kernel.run(kernel.account(systemAddress), account, 0n, 0n, data, systemGas)
  const { output } = kernel
  kernel.end()
  return { isSuccess: failure === 'none', output }
}

/** `DepositEvent(bytes,bytes,bytes,bytes,bytes)` */
const depositTopic = hexToBytes('649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5')
const depositLogBytes = 576
const malformedDeposit = 'a deposit log has another layout than the deposit contract gives it'
/** Offset and length of each part of a deposit in the log's data (EIP-6110). */
const depositParts: readonly (readonly [offset: number, bytes: number])[] = [
  [160, 48],
  [256, 32],
  [320, 8],
  [384, 96],
  [512, 8],
]

/** EIP-6110: deposits that the contract at `address` logged. */
function depositsOf(logs: readonly KernelLog[], address: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = []
  for (const { address: logger, topics, data } of logs) {
    if (!equalBytes(logger, address) || topics[0] === undefined || !equalBytes(topics[0], depositTopic))
      continue
    if (data.length !== depositLogBytes) throw new InvalidBlockError(malformedDeposit)
    const word = (at: number) => bytesToBigInt(data.subarray(at, at + 32))
    for (const [index, [offset, bytes]] of depositParts.entries()) {
      const isLaidOut = word(index * 32) === BigInt(offset) && word(offset) === BigInt(bytes)
      if (!isLaidOut) throw new InvalidBlockError(malformedDeposit)
      parts.push(data.subarray(offset + 32, offset + 32 + bytes))
    }
  }
  return concatBytes(...parts)
}
