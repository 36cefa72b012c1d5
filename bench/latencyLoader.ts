/**
 * Load at a fixed rate by autocannon, in a process of its own. Told a {@link LatencyJob} by its parent, says the
 * latencies in ms, or in words what failed, and ends.
 *
 * autocannon alone paces by the second: a connection sends its share of each second at once, one question after the
 * other's answer. So many connections ask once a second each, and begin one group after the other, which spreads them
 * over the second. No question then waits for the answer to another, and a stall meets all that are due in it: there is
 * no coordinated omission. autocannon's own correction of it assumes an interval of 1 ms whatever the rate, and its
 * histogram holds whole ms, so latencies are taken from its events.
 */
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import autocannon from 'autocannon'

export interface LatencyJob {
  readonly url: string
  /** Asked one after the other, and again from the first. */
  readonly bodies: readonly string[]
  /** Questions a second; connections too. */
  readonly rate: number
  /** Whole. */
  readonly seconds: number
}

/** Each takes 4 MB for autocannon's histograms; with a hundred, 500 questions a second come by five. */
const groupsMax = 100
/** How long the last answers may take. One that takes longer counts with this. */
const lastAnswerMs = 800
/** autocannon looks at the clock so often, and by default a thousand times a second in each group. */
const clockMs = 50

type Heard = Map<autocannon.Client, number[]>

/** Latencies of `seconds` answers on each connection; first ones, which contain connecting, do not count. */
async function load({ url, bodies, rate, seconds }: LatencyJob): Promise<number[]> {
  const groups = Math.min(groupsMax, rate)
  const startedAtMs = performance.now()
  let asked = 0
  const nextBody = () => bodies[asked++ % bodies.length] as string
  const runs: Promise<Heard | string>[] = []
  for (let group = 0; group < groups; group++) {
    await setTimeout(Math.max(0, startedAtMs + (group * 1000) / groups - performance.now()))
    // What division leaves over goes to the first groups.
    const connections = Math.floor(rate / groups) + (group < rate % groups ? 1 : 0)
    runs.push(runGroup(url, connections, seconds, nextBody))
  }
  const latencies: number[] = []
  for (const run of runs) {
    const heard = await run
    if (typeof heard === 'string') throw new Error(heard)
    for (const known of heard.values()) {
      latencies.push(...known, ...Array<number>(seconds - known.length).fill(lastAnswerMs))
    }
  }
  return latencies
}

/** Connections that begin together and ask once a second each. Resolves to what they heard, or what failed. */
function runGroup(
  url: string,
  connections: number,
  seconds: number,
  nextBody: () => string,
): Promise<Heard | string> {
  return new Promise((resolve) => {
    const heard: Heard = new Map()
    const options: autocannon.Options = {
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      requests: [{ setupRequest: (request) => ({ ...request, body: nextBody() }) }],
      connections,
      overallRate: connections,
      duration: seconds + lastAnswerMs / 1000,
      sampleInt: clockMs,
      skipAggregateResult: true,
    }
    const run = autocannon(options, (error: Error | null, result) => {
      const failed = error === null ? failureOf(result) : error.message
      resolve(
        failed ?? (heard.size < connections ? `a connection had no answer in ${options.duration} s` : heard),
      )
    })
    let outstanding = connections * seconds
    run.on('response', (client, _status, _bytes, ms) => {
      const known = heard.get(client)
      if (known === undefined) heard.set(client, [])
      else if (known.length < seconds) {
        known.push(ms)
        outstanding--
      }
      if (outstanding === 0) run.stop()
    })
  })
}

function failureOf({ errors, non2xx }: autocannon.Result): string | undefined {
  if (errors + non2xx === 0) return undefined
  return `${errors} connections failed, ${non2xx} answers were not 200`
}

// A run that is ended, by whatever, leaves no load behind.
process.on('disconnect', () => process.exit(1))
const [job] = (await once(process, 'message')) as [LatencyJob]
const said = await load(job).catch((error: Error) => `${job.url}: ${error.message}`)
process.send?.(said, () => process.exit(0))
