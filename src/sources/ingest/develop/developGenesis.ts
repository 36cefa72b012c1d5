/** The genesis of a developer chain without a genesis file: all forks from the first block, and funded accounts. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bytesToHex, toQuantity } from '../../../primitives/bytes.js'
import { packageRoot } from '../../../primitives/packageRoot.js'

/** Contracts that the rules of later forks need: beacon roots, past hashes, withdrawals, consolidations, deposits. */
const ruleContracts = [
  '0x000f3df6d732807ef1319fb7b8bb8522d0beac02',
  '0x0000f90827f1c53a10cb7a02335b175320002935',
  '0x00000961ef480eb55e80d19ad83579a64c007002',
  '0x0000bbddc7ce488642fb579f8b00f3a590007251',
  '0x00000000219ab540356cbb839cbe05303d7705fa',
]

/** The limit of anvil and Hardhat; test suites send transactions with this much gas. */
const gasLimit = 30_000_000
const weiPerEther = 10n ** 18n

type Json = Record<string, unknown>

export interface DevelopAccounts {
  readonly chainId: number
  /** 20 bytes each. */
  readonly addresses: readonly Uint8Array[]
  /** Ether of each. */
  readonly balance: number
}

/**
 * The text of a genesis in geth's format. It has no time, so the chain begins when its store is made. Forks and
 * contracts are those of the demo network.
 */
export function developGenesis({ chainId, addresses, balance }: DevelopAccounts): string {
  const demo = JSON.parse(readFileSync(join(packageRoot(), 'data/devnet/genesis.json'), 'utf8')) as {
    readonly config: Json
    readonly alloc: Json
  }
  const fromStart = Object.entries(demo.config).map(([name, value]) => [
    name,
    /(?:Block|Time)$/.test(name) ? 0 : value,
  ])
  const wei = toQuantity(BigInt(balance) * weiPerEther)
  const genesis = {
    config: { ...Object.fromEntries(fromStart), chainId, terminalTotalDifficulty: 0 },
    gasLimit: toQuantity(gasLimit),
    difficulty: '0x0',
    alloc: {
      ...Object.fromEntries(ruleContracts.map((address) => [address, demo.alloc[address]])),
      ...Object.fromEntries(addresses.map((address) => [bytesToHex(address), { balance: wei }])),
    },
  }
  return `${JSON.stringify(genesis, undefined, 1)}\n`
}
