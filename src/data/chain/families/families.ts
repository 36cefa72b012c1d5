/** The list of families, and the one of a chain, a `config` or a fork. */
import type { ChainIdentity } from '../../store/chainRows.js'
import { type ForkName, isRecord } from '../forkNames.js'
import { ethereum } from './ethereum.js'
import type { ChainFamily } from './family.js'
import { optimism } from './optimism/optimism.js'
import { provedFamilies } from './provedFamilies.js'

/** Executed families that are recognized by their `config`; any other chain is of Ethereum's family. */
const others: readonly ChainFamily[] = [optimism]

/** The family whose rules a genesis `config` sets. */
export function familyOfConfig(config: Readonly<Record<string, unknown>>): ChainFamily {
  return others.find((family) => family.config.isOf(config)) ?? ethereum
}

/** The family that a store names, or the one of its chain's `config`. Throws for an unknown name. */
export function familyOfIdentity({ family: name, config }: Pick<ChainIdentity, 'config' | 'family'>) {
  if (name !== undefined) return familyNamed(name)
  const members: unknown = JSON.parse(config)
  return isRecord(members) ? familyOfConfig(members) : ethereum
}

/** A family that is only proved. Throws for an unknown name. */
export function familyNamed(name: string): ChainFamily {
  const found = provedFamilies.get(name)
  if (found === undefined) throw new Error(`the store has an unknown family of chains: ${name}`)
  return found
}

/** Executed families. */
export const families: readonly ChainFamily[] = [...others, ethereum]

/** Whether its rules differ from Ethereum's. */
export function hasOwnRules(family: ChainFamily): boolean {
  return others.includes(family)
}

const byFork = new Map(families.flatMap((family) => family.forks.map((fork) => [fork, family] as const)))

/** The executed family of a block with this fork. */
export function familyOf(fork: ForkName): ChainFamily {
  return byFork.get(fork) as ChainFamily
}

/** The proved family of a chain with this genesis `config`; undefined if no member names one. */
export function provedNameOf(config: object): string | undefined {
  return configMembers.find(([member]) => member in config)?.[1]
}

/** Members found only in one family's `config`. Celo and Mantle are OP Stack, too. */
const configMembers: readonly (readonly [member: string, family: string])[] = [
  ['arbitrum', 'arbitrum'],
  ['bor', 'polygon'],
  ['parlia', 'bsc'],
  ['scroll', 'scroll'],
  ['cel2Time', 'celo'],
  ['mantleSkadiTime', 'mantle'],
  ['apricotPhase1BlockTimestamp', 'avalanche'],
  ['optimism', 'optimism'],
  ['aura', 'gnosis'],
]
