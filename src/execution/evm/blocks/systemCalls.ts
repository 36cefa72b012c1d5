/**
 * System calls: the protocol's own calls of contracts before and after a block's transactions. They begin with an empty
 * set of accessed addresses (EIP-2929), as in execution-specs; go-ethereum warms the called contract and the address 0.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import { type ForkName, type ForkSchedule, includesFork } from '../../../data/chain/forks.js'
import type { Header } from '../../../data/chain/header.js'
import { beaconRoots, parentHashes, systemContracts } from '../../../data/chain/protocolContracts.js'
import {
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  equalBytes,
  type Hash32,
  hexToBytes,
  joinBytes,
  noBytes,
  toHash32,
} from '../../../primitives/bytes.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import type { Kernel } from '../engine/kernel.js'
import type { KernelLog } from '../engine/kernelLogs.js'

/** EIP-4788. */
const systemAddress = hexToBytes('fffffffffffffffffffffffffffffffffffffffe')
const systemGas = 30_000_000n
/** EIP-8037: for sixteen new slots. */
const systemReservoir = 1_566_720n

/** System calls before the transactions. A failed one changes nothing. */
export function beginBlock(kernel: Kernel, header: Header, fork: ForkName, { config }: ForkSchedule): void {
  const begin = forkRules(fork).execution.beginBlock
  if (begin !== undefined) {
    kernel.begin(systemAddress, 0n, [])
    begin(kernel, header, config)
    kernel.end()
  }
  const { parentBeaconBlockRoot } = header
  if (includesFork(fork, beaconRoots.since) && parentBeaconBlockRoot !== undefined) {
    callSystem(kernel, beaconRoots.address, parentBeaconBlockRoot, fork)
  }
  if (includesFork(fork, parentHashes.since))
    callSystem(kernel, parentHashes.address, header.parentHash, fork)
}

/**
 * EIP-7685: a block's requests, each its type and its data, from the block's logs and the system calls after its
 * transactions. Throws {@link InvalidBlockError} if a contract has no code or fails (EIP-7002, EIP-7251, EIP-8282). On a
 * development chain, which anvil creates without these contracts, a contract without code has no requests.
 */
export function requestsOf(
  kernel: Kernel,
  logs: readonly KernelLog[],
  { config }: ForkSchedule,
  fork: ForkName,
  isDevelopment: boolean,
): readonly Uint8Array[] {
  if (forkRules(fork).execution.hasRequests !== true) return []
  // As in go-ethereum, a chain whose genesis names no deposit contract has no deposits.
  const { depositContractAddress } = config
  const deposits =
    depositContractAddress === undefined
      ? noBytes
      : depositsOf(logs, hexToBytes(depositContractAddress.slice(2)))
  const lists: (readonly [type: number, requests: Uint8Array])[] = [[0, deposits]]
  for (const { requests: type, since, address } of systemContracts) {
    if (type === undefined || !includesFork(fork, since)) continue
    const outcome = callSystem(kernel, address, noBytes, fork)
    const contract = `the system contract ${bytesToHex(address)} of requests ${type}`
    if (outcome === undefined && !isDevelopment) throw new InvalidBlockError(`${contract} has no code`)
    if (outcome?.isSuccess === false) throw new InvalidBlockError(`${contract} fails`)
    lists.push([type, outcome?.output ?? noBytes])
  }
  return lists
    .filter(([, requests]) => requests.length > 0)
    .map(([type, requests]) => concatBytes(Uint8Array.of(type), requests))
}

/** EIP-7685: the hash in the header of a block with these requests. */
export function requestsHash(requests: readonly Uint8Array[]): Hash32 {
  return toHash32(sha256(joinBytes(requests.map((request) => sha256(request)))))
}

function callSystem(
  kernel: Kernel,
  address: Uint8Array,
  data: Uint8Array,
  fork: ForkName,
): { readonly isSuccess: boolean; readonly output: Uint8Array } | undefined {
  kernel.begin(systemAddress, 0n, [], true)
  const account = kernel.account(address)
  kernel.see(account)
  if (!kernel.hasCode(account)) return undefined
  const caller = kernel.account(systemAddress)
  const reservoir = includesFork(fork, 'amsterdam') ? systemReservoir : 0n
  const { failure } = kernel.run(caller, account, 0n, 0n, data, systemGas, reservoir)
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
  return joinBytes(parts)
}
