/** The chains for tests of faults, each made by `make` from the same options. */
import type { Test } from 'tap'
import type { SubjectsAt } from '../feed/replicaAnswers.js'
import { killsAll, someOf } from '../library/property.js'
import { withoutAmsterdam } from './amsterdam.js'
import { makeAmsterdamReplay, subjectsAt } from './amsterdamReplay.js'
import { skipsOptimism } from './optimismChain.js'
import { makeOptimismReplay, optimismSubjects } from './optimismServed.js'
import { makeReplayedChain, type PlayedBlock, type PlayOptions, type ReplayedChain } from './replayedChain.js'

export interface PlayedChain {
  readonly name: string
  /** Reason to skip tests with it. */
  readonly skip: string | false
  /** Number of kills, out of `kills`: few are enough for the chain's own behaviour. */
  killsOf(kills: number): number
  make(t: Test, options: PlayOptions): Promise<ReplayedChain<PlayedBlock>>
  /** Subjects of questions about a block, if they differ from those of the first chain. */
  readonly subjectsAt?: SubjectsAt
}

/** With block numbers increased by `by`, so that block 9 of the options is the first under another fork. */
function shifted({ length, from, reorganisations = [], ...options }: PlayOptions, by: number): PlayOptions {
  return {
    ...options,
    length: length + by,
    from: from + by,
    reorganisations: reorganisations.map((each) => ({ ...each, after: each.after + by })),
  }
}

const halfOf = (kills: number) => Math.ceil(kills / 2)

const chains: readonly PlayedChain[] = [
  { name: 'a chain of Prague', skip: false, killsOf: (kills) => kills, make: makeReplayedChain },
  {
    name: 'a chain that crosses to Amsterdam',
    skip: withoutAmsterdam,
    killsOf: halfOf,
    make: (t, options) => makeAmsterdamReplay(t, shifted(options, 31)),
    subjectsAt,
  },
  {
    // Longer chains cross Fjord and Granite, too.
    name: 'a chain of the OP Stack that crosses to Ecotone',
    skip: skipsOptimism,
    killsOf: halfOf,
    make: (t, options) => makeOptimismReplay(t, shifted(options, 39)),
    subjectsAt: optimismSubjects,
  },
]

/** One Ethereum chain, which crosses all forks if its blocks are available, and the OP Stack chain. */
const crossing = chains
  .slice(withoutAmsterdam === false ? 1 : 0)
  .filter(({ skip }, index) => index === 0 || skip === false)

/**
 * The chains for each of the `tests` of a file: all if `KILLS` or `RUNS` require more. Otherwise one, a different one
 * for the next test, and different ones in each run.
 */
export function playedChains(tests: number): readonly (readonly PlayedChain[])[] {
  const [first = 0] = someOf([...crossing.keys()], 1)
  return Array.from({ length: tests }, (_, test) =>
    killsAll ? chains : [crossing[(first + test) % crossing.length] as PlayedChain],
  )
}
