/** The chains that tests of faults play, each made by `make` from the same options. */
import type { Test } from 'tap'
import type { SubjectsAt } from '../feed/replicaAnswers.js'
import { killsAll, someOf } from '../library/property.js'
import { withoutAmsterdam } from './amsterdam.js'
import { makeAmsterdamReplay, subjectsAt } from './amsterdamReplay.js'
import { makeOptimismReplay, optimismSubjects, skipsOptimism } from './optimismChain.js'
import { makeReplayedChain, type PlayedBlock, type PlayOptions, type ReplayedChain } from './replayedChain.js'

export interface PlayedChain {
  readonly name: string
  /** Why tests with it are skipped. */
  readonly skip: string | false
  /** How often a process is killed, of `kills` times: what a chain has of its own shows in few. */
  killsOf(kills: number): number
  make(t: Test, options: PlayOptions): Promise<ReplayedChain<PlayedBlock>>
  /** What to ask about a block, where it is not what is asked about blocks of the first. */
  readonly subjectsAt?: SubjectsAt
}

/** With block numbers that are so much higher, so that block 9 of the options is the first under another fork. */
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
    // Longer ones cross Fjord and Granite, too.
    name: 'a chain of the OP Stack that crosses to Ecotone',
    skip: skipsOptimism,
    killsOf: halfOf,
    make: (t, options) => makeOptimismReplay(t, shifted(options, 39)),
    subjectsAt: optimismSubjects,
  },
]

/** One of Ethereum, which crosses all forks where its blocks are at hand, and the one of the OP Stack. */
const crossing = chains
  .slice(withoutAmsterdam === false ? 1 : 0)
  .filter(({ skip }, index) => index === 0 || skip === false)

/**
 * For each of the `tests` of a file the chains that it plays: all where `KILLS` or `RUNS` ask for more; else one, in another
 * test the next one, and in each run others.
 */
export function playedChains(tests: number): readonly (readonly PlayedChain[])[] {
  const [first = 0] = someOf([...crossing.keys()], 1)
  return Array.from({ length: tests }, (_, test) =>
    killsAll ? chains : [crossing[(first + test) % crossing.length] as PlayedChain],
  )
}
