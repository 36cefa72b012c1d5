/**
 * CPU time of the first hundred requests of a new process, for each of the main methods, beside the same of a warm
 * process. No request is answered by a cache.
 */
import { gethScenarios, readChainFacts, withoutAnswers } from '../load/gethScenarios.js'
import { targetOf, warmUp, withConnections } from '../load/httpLoader.js'
import { warmUpSecondsOf } from '../options.js'
import { compareSides, type Round, roundOf, sideOfRounds } from '../report/outcome.js'
import { withCpu } from '../servers/serverProcess.js'
import { startTidegate, type TidegateProcess } from '../servers/tidegateServer.js'
import type { Found, SpecialScenario } from './specialScenario.js'

const requests = 100
/** Starts of a process; each takes some seconds. */
const startsMax = 3
/** A start with its warm-up, two hundred requests and an end. */
const startSeconds = 3.5
/** Traces are rare, and no user's first request. */
const asked = gethScenarios.filter(({ name }) => !/trac|opcodes/.test(name))

export const cold: SpecialScenario = {
  name: 'cold',
  title: 'the first hundred requests of a new process',
  seconds: (options) => 4 + warmUpSecondsOf(options) + startSeconds * Math.min(startsMax, options.rounds),
  async run({ folder, settings, server, network }): Promise<Found> {
    const chain = await network('mixed')
    const limits = { ...server.limits, ...withoutAnswers }
    const start = () => startTidegate(folder, [chain], { ...server, limits })
    const warm = await start()
    try {
      const urlOf = ({ said }: TidegateProcess) => new URL(`/${chain.name}`, said).href
      const facts = await readChainFacts(urlOf(warm))
      const questions = asked.map(({ questionsOf }) => questionsOf(facts))
      let sent = 0
      const next = () => {
        const at = sent++
        return (questions[at % questions.length] as (n: number) => string)(Math.floor(at / questions.length))
      }
      await withConnections(targetOf(urlOf(warm)), settings.connections, (open) =>
        warmUp(open, settings.warmUpSecondsMax, next, warm.pageFaults),
      )
      const sides = { cold: [] as Round[], warm: [] as Round[] }
      for (let round = 0; round < Math.min(startsMax, settings.rounds); round++) {
        const fresh = await start()
        try {
          sides.cold.push(await askHundred(fresh, urlOf(fresh), next))
        } finally {
          await fresh.stop()
        }
        sides.warm.push(await askHundred(warm, urlOf(warm), next))
      }
      const [own, rival] = [sideOfRounds(sides.cold), sideOfRounds(sides.warm)]
      return {
        unit: 'requests',
        own,
        rivals: { warm: rival },
        ratios: { warm: compareSides(own, rival, true) },
      }
    } finally {
      await warm.stop()
    }
  },
}

/** On one connection, one after the other. */
async function askHundred(server: TidegateProcess, url: string, next: () => string): Promise<Round> {
  return await withConnections(targetOf(url), 1, async ([connection]) => {
    const startedAtMs = performance.now()
    const [, cpuSeconds] = await withCpu(server, async () => {
      for (let count = 0; count < requests; count++) {
        await new Promise<void>((resolve) => connection?.ask(next(), resolve))
      }
    })
    return roundOf(requests, (performance.now() - startedAtMs) / 1_000, cpuSeconds)
  })
}
