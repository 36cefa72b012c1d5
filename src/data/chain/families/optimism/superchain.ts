/**
 * Fork times of public OP Stack chains, for nodes that do not report their `config`. Source: `superchain/configs` of
 * the superchain registry (up to Holocene also op.toml, unichain.toml, … of 0ed9bb3; later forks ac4e485, as in op-geth
 * v1.101702.3 of 31 August 2026). Chains that are not in that list, such as Fraxtal, are not here, nor those whose later
 * forks it lacks, such as Boba.
 */
import { forksUpToLondon } from '../../forkNames.js'
import type { optimismForks } from './forks.js'

/** Forks that begin by time; Regolith always begins at 0. */
type TimedFork = Exclude<keyof typeof optimismForks, 'bedrock' | 'regolith'>
/** Seconds. */
type ForkTimes = Readonly<Partial<Record<TimedFork, number>>>

interface KnownChain {
  readonly times: ForkTimes
  readonly elasticity?: number
  readonly denominator?: number
  readonly denominatorCanyon?: number
  /** First block of the OP Stack, and its time; 0 if the chain began with it. */
  readonly bedrock?: { readonly number: number; readonly time: number }
}

const mainnet: ForkTimes = {
  canyon: 1_704_992_401,
  ecotone: 1_710_374_401,
  fjord: 1_720_627_201,
  granite: 1_726_070_401,
  holocene: 1_736_445_601,
  isthmus: 1_746_806_401,
  jovian: 1_764_691_201,
  karst: 1_783_526_401,
}
const sepolia: ForkTimes = {
  canyon: 1_699_981_200,
  ecotone: 1_708_534_800,
  fjord: 1_716_998_400,
  granite: 1_723_478_400,
  holocene: 1_732_633_200,
  isthmus: 1_744_905_600,
  jovian: 1_763_568_001,
  karst: 1_781_712_001,
}
/** Fork times of a chain whose genesis has Granite. */
const fromGranite: ForkTimes = { ...mainnet, canyon: 0, ecotone: 0, fjord: 0, granite: 0 }

/** OP Mainnet, Unichain, World Chain, Lisk, Soneium, Mode, Ink, Zora, OP Sepolia. */
const knownChains: ReadonlyMap<number, KnownChain> = new Map<number, KnownChain>([
  [10, { times: mainnet, bedrock: { number: 105_235_063, time: 1_686_068_903 } }],
  [130, { times: fromGranite }],
  [
    480,
    {
      times: {
        canyon: 0,
        ecotone: 0,
        fjord: 1_721_826_000,
        granite: 1_727_780_400,
        holocene: 1_738_238_400,
        isthmus: 1_764_072_000,
        jovian: 1_777_593_600,
      },
      elasticity: 10,
    },
  ],
  [1_135, { times: mainnet, elasticity: 20, denominator: 1_000, denominatorCanyon: 1_000 }],
  [1_868, { times: { ...fromGranite, holocene: 1_738_573_200 } }],
  [34_443, { times: mainnet }],
  [57_073, { times: { ...fromGranite, holocene: 1_742_396_400 }, denominator: 250 }],
  [7_777_777, { times: mainnet }],
  [11_155_420, { times: sepolia }],
])

/** Forks of Ethereum that begin with one of these. */
const together = { canyon: 'shanghai', ecotone: 'cancun', isthmus: 'prague', karst: 'osaka' } as const

export interface SuperchainRules {
  /** The `config` member of a geth-format genesis. */
  readonly config: Readonly<Record<string, unknown>>
  /** Time of the first block with rules of the OP Stack, seconds. */
  readonly from: number
}

/** The rules of a public chain; undefined if its fork times are not known. */
export function superchainRules(chainId: bigint): SuperchainRules | undefined {
  const known = knownChains.get(Number(chainId))
  if (known === undefined) return undefined
  const { times, elasticity = 6, denominator = 50, denominatorCanyon = 250 } = known
  const bedrock = known.bedrock ?? { number: 0, time: 0 }
  const members = Object.entries(times).flatMap(([fork, time]) => {
    const theirs = together[fork as keyof typeof together]
    return [fork, ...(theirs === undefined ? [] : [theirs])].map((name) => [`${name}Time`, time] as const)
  })
  const config = {
    chainId: Number(chainId),
    ...forksUpToLondon,
    muirGlacierBlock: 0,
    berlinBlock: bedrock.number === 0 ? 0 : 3_950_000,
    londonBlock: bedrock.number,
    arrowGlacierBlock: bedrock.number,
    grayGlacierBlock: bedrock.number,
    mergeNetsplitBlock: bedrock.number,
    bedrockBlock: bedrock.number,
    terminalTotalDifficulty: 0,
    regolithTime: 0,
    ...Object.fromEntries(members),
    optimism: {
      eip1559Elasticity: elasticity,
      eip1559Denominator: denominator,
      eip1559DenominatorCanyon: denominatorCanyon,
    },
  }
  return { config, from: bedrock.time }
}
