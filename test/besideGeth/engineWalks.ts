/** A walk of a seed, on two engines at any addresses. */
import { Dice } from '../library/property.js'
import { type EngineFork, engineForks, type Json } from './enginePayloads.js'
import { type EnginePair, EngineWalk } from './engineWalk.js'
import { firstTime, inventGenesis, named } from './inventedChain.js'
import { Programs } from './programs.js'
import { Report } from './report.js'

/**
 * Seconds of each fork: about twenty blocks, so that a walk of 500 steps meets all forks, and branches split before
 * one.
 */
const forkSeconds = 240
const progressMs = 5_000

/** The genesis of a seed, and the data of its walk. */
export function inventEngineChain(seed: number) {
  const dice = new Dice(seed)
  const programs = new Programs(dice, named)
  const [, ...later] = engineForks
  const times = Object.fromEntries(later.map((fork, at) => [fork, firstTime + forkSeconds * (at + 1)]))
  const forkTimes = Object.fromEntries(Object.entries(times).map(([fork, time]) => [`${fork}Time`, time]))
  const genesis = inventGenesis(programs, forkTimes) as Json
  const { amsterdamTime: _, ...config } = genesis.config as Json
  const forkAt = (timestamp: number): EngineFork =>
    engineForks.findLast((fork) => timestamp >= (times[fork] ?? 0)) as EngineFork
  return { genesis: { ...genesis, config }, dice, programs, forkAt }
}

/**
 * Walks this number of steps, and returns the number of unknown differences. `shown` is how many differences of one
 * method are printed.
 */
export async function walk(
  pair: EnginePair,
  { seed, steps, shown }: { readonly seed: number; readonly steps: number; readonly shown: number },
  say: (line: string) => void,
): Promise<number> {
  const { dice, programs, forkAt } = inventEngineChain(seed)
  const report = new Report(shown, false)
  const [own, theirs] = await Promise.all(
    [pair.ours, pair.geth].map(async (each) => {
      const { result } = await each.call('eth_getBlockByNumber', ['0x0', false])
      return (result as { readonly hash: string }).hash
    }),
  )
  if (own === undefined || own !== theirs) throw new Error(`geth's genesis is ${theirs}, Tidegate's ${own}`)
  const genesis = { hash: own, timestamp: firstTime }
  const took = report.add.bind(report)
  const walking = new EngineWalk(pair, { genesis, dice, programs, forkAt, took })
  let saidMs = performance.now()
  try {
    for (let step = 1; step <= steps; step++) {
      await walking.step()
      if (performance.now() - saidMs < progressMs) continue
      say(`${step} of ${steps} steps, ${walking.blocks} blocks, ${report.unknown} different`)
      saidMs = performance.now()
    }
  } finally {
    report.print(say)
  }
  say(`seed ${seed}: ${steps} steps, ${walking.blocks} blocks, ${report.unknown} different`)
  return report.unknown
}
