import type { ForkName } from '../forkNames.js'
import { ethereum } from './ethereum.js'
import type { ChainFamily } from './family.js'
import { optimism } from './optimism/optimism.js'

/** Families recognized by their `config`; any other chain is of Ethereum's family. */
const others: readonly ChainFamily[] = [optimism]

export function familyOfConfig(config: Readonly<Record<string, unknown>>): ChainFamily {
  return others.find((family) => family.config.isOf(config)) ?? ethereum
}

export const families: readonly ChainFamily[] = [...others, ethereum]

/** Whether its rules differ from Ethereum's. */
export function hasOwnRules(family: ChainFamily): boolean {
  return others.includes(family)
}

const byFork = new Map(families.flatMap((family) => family.forks.map((fork) => [fork, family] as const)))

/** The family of a block with this fork. */
export function familyOf(fork: ForkName): ChainFamily {
  return byFork.get(fork) as ChainFamily
}
