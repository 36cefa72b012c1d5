/** The chains that tests of faults play, each made by `make` from the same options. */
import type { Test } from 'tap'
import type { SubjectsAt } from '../feed/replicaAnswers.js'
import { runsFactor } from '../library/property.js'
import { withoutAmsterdam } from './amsterdam.js'
import { makeAmsterdamReplay, subjectsAt } from './amsterdamReplay.js'
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

/** By so much block numbers are higher, so that block 9 of the options is the first under Amsterdam. */
const shift = 31

const chains: readonly PlayedChain[] = [
  { name: 'a chain of Prague', skip: false, killsOf: (kills) => kills, make: makeReplayedChain },
  {
    name: 'a chain that crosses to Amsterdam',
    skip: withoutAmsterdam,
    killsOf: (kills) => Math.ceil(kills / 2),
    make: (t, { length, from, reorganisations = [], ...options }) =>
      makeAmsterdamReplay(t, {
        ...options,
        length: length + shift,
        from: from + shift,
        reorganisations: reorganisations.map((each) => ({ ...each, after: each.after + shift })),
      }),
    subjectsAt,
  },
]

/** Both chains where `KILLS` or `RUNS` ask for more; else one, which crosses all forks where its blocks are at hand. */
export const playedChains =
  process.env.KILLS !== undefined || runsFactor > 1
    ? chains
    : [chains[withoutAmsterdam === false ? 1 : 0] as PlayedChain]
