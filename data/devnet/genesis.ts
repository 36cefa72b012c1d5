/** The genesis file, in geth's format: forks, rich accounts, protocol contracts and some state to begin with. */
import type { GethGenesis } from '@ethereumjs/common'
import { bytesToHex, type Hex, toQuantity } from '../../src/primitives/bytes.js'
import { people } from './accounts.js'
import type { Artifact } from './contracts.js'
import {
  blobSchedule,
  blockTimestamp,
  chainId,
  forkBlocks,
  genesisGasLimit,
  genesisTimestamp,
} from './forks.js'
import { mappingSlot, plainSlot } from './storageSlots.js'
import { depositContractAddress, systemContracts } from './systemContracts.js'

/** One account of the genesis file. */
export interface GenesisAccount {
  readonly balance: Hex
  readonly nonce?: Hex
  readonly code?: Hex
  readonly storage?: Record<Hex, Hex>
}

/** The genesis file. Geth reads `terminalTotalDifficulty` as a number. */
export type Genesis = Omit<GethGenesis, 'alloc' | 'config'> & {
  readonly config: Record<string, unknown>
  readonly alloc: Record<Hex, GenesisAccount>
}

/** Addresses of the contracts and accounts that genesis sets up beside people and protocol. */
export const genesisAddresses = {
  /** A CounterV1 that has counted before the chain began. */
  oldCounter: '0x00000000000000000000000000000000000c0de1',
  /** Ten storage slots and code that returns slot 0. */
  vault: '0x00000000000000000000000000000000000c0de2',
  /** No code and no balance, but storage: such an account cannot come about by transactions. */
  oddity: '0x00000000000000000000000000000000000c0de3',
  /** Balance and a nonce of 7. */
  retired: '0x00000000000000000000000000000000000c0de4',
  /** One wei and nothing else. */
  oneWei: '0x00000000000000000000000000000000000c0de5',
  deposits: depositContractAddress,
} as const satisfies Record<string, Hex>

/** Storage of the vault: slot i has the value (i + 1) × 0x1111, and the last of all slots the value one. */
export const vaultSlots: ReadonlyMap<Uint8Array, bigint> = new Map([
  ...Array.from({ length: 9 }, (_, i) => [plainSlot(i), BigInt(i + 1) * 0x1111n] as const),
  [plainSlot(2n ** 256n - 1n), 1n],
])

/** PUSH1 0 SLOAD PUSH1 0 MSTORE PUSH1 32 PUSH1 0 RETURN */
const vaultCode: Hex = '0x60005460005260206000f3'

const richBalance: Hex = toQuantity(1_000_000n * 10n ** 18n)

function storageOf(slots: Iterable<readonly [Uint8Array, bigint]>): Record<Hex, Hex> {
  return Object.fromEntries(
    [...slots].map(([slot, value]) => [bytesToHex(slot), bytesToHex(plainSlot(value))]),
  )
}

function runtimeCode(artifacts: ReadonlyMap<string, Artifact>, name: string): Hex {
  const artifact = artifacts.get(name)
  if (artifact === undefined) throw new Error(`no contract is called ${name}`)
  return bytesToHex(artifact.runtimeCode)
}

function buildAlloc(artifacts: ReadonlyMap<string, Artifact>): Record<Hex, GenesisAccount> {
  const alloc: Record<Hex, GenesisAccount> = {}
  for (const person of Object.values(people)) alloc[person.hex] = { balance: richBalance }
  for (const { address, code } of systemContracts) alloc[address] = { balance: '0x0', nonce: '0x1', code }
  alloc[genesisAddresses.deposits] = {
    balance: '0x0',
    nonce: '0x1',
    code: runtimeCode(artifacts, 'Depositor'),
  }
  alloc[genesisAddresses.oldCounter] = {
    balance: '0x0',
    nonce: '0x1',
    code: runtimeCode(artifacts, 'CounterV1'),
    storage: storageOf([
      [plainSlot(0), 1000n],
      [mappingSlot(people.ada.address, 1), 600n],
      [mappingSlot(people.bea.address, 1), 400n],
    ]),
  }
  alloc[genesisAddresses.vault] = { balance: '0x2a', code: vaultCode, storage: storageOf(vaultSlots) }
  alloc[genesisAddresses.oddity] = { balance: '0x1', storage: storageOf([[plainSlot(7), 7n]]) }
  alloc[genesisAddresses.retired] = { balance: toQuantity(10n ** 18n), nonce: '0x7' }
  alloc[genesisAddresses.oneWei] = { balance: '0x1' }
  return alloc
}

/**
 * The genesis file's content. The terminal total difficulty is known only once the chain is built; it changes neither
 * the genesis hash nor any execution.
 */
export function buildGenesis(
  artifacts: ReadonlyMap<string, Artifact>,
  terminalTotalDifficulty: bigint,
): Genesis {
  return {
    config: {
      chainId,
      homesteadBlock: forkBlocks.homestead,
      eip150Block: forkBlocks.eip150,
      eip155Block: forkBlocks.eip155,
      eip158Block: forkBlocks.eip155,
      byzantiumBlock: forkBlocks.byzantium,
      constantinopleBlock: forkBlocks.constantinople,
      petersburgBlock: forkBlocks.petersburg,
      istanbulBlock: forkBlocks.istanbul,
      muirGlacierBlock: forkBlocks.muirGlacier,
      berlinBlock: forkBlocks.berlin,
      londonBlock: forkBlocks.london,
      arrowGlacierBlock: forkBlocks.arrowGlacier,
      grayGlacierBlock: forkBlocks.grayGlacier,
      mergeNetsplitBlock: forkBlocks.merge,
      shanghaiTime: blockTimestamp(forkBlocks.shanghai),
      cancunTime: blockTimestamp(forkBlocks.cancun),
      pragueTime: blockTimestamp(forkBlocks.prague),
      osakaTime: blockTimestamp(forkBlocks.osaka),
      bpo1Time: blockTimestamp(forkBlocks.bpo1),
      bpo2Time: blockTimestamp(forkBlocks.bpo2),
      terminalTotalDifficulty: Number(terminalTotalDifficulty),
      depositContractAddress,
      ethash: {},
      blobSchedule,
    },
    nonce: '0x0',
    timestamp: toQuantity(genesisTimestamp),
    extraData: bytesToHex(new TextEncoder().encode('Tidegate demo network')),
    gasLimit: toQuantity(genesisGasLimit),
    difficulty: '0x40000',
    mixHash: bytesToHex(new Uint8Array(32)),
    coinbase: bytesToHex(new Uint8Array(20)),
    alloc: buildAlloc(artifacts),
    number: '0x0',
    gasUsed: '0x0',
    parentHash: bytesToHex(new Uint8Array(32)),
    baseFeePerGas: null,
  }
}
