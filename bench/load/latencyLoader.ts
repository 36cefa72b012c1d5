/**
 * Load at a fixed rate by autocannon, in a process of its own. Gets a {@link LatencyJob} from its parent, sends the
 * latencies in ms, or an error message, and ends.
 *
 * autocannon alone sends all requests of a connection for a second at once, at the start of the second. So here many
 * connections send one request per second each, and begin in groups that are spread over the second. No request then
 * waits for another's answer, and a stall counts for all requests due in it (no coordinated omission). autocannon's own
 * correction assumes an interval of 1 ms at any rate, and its histogram has whole ms, so latencies are taken from its
 * events.
 */
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import autocannon from 'autocannon'
import { endProcess } from '../../src/primitives/endProcess.js'

export interface LatencyJob {
  readonly url: string
  /** Sent in rotation. */
  readonly bodies: readonly string[]
  /** Requests per second; also the number of connections. */
  readonly rate: number
  /** Seconds of the measurement, an integer. */
  readonly seconds: number
  /** Sent as `Accept-Encoding`. */
  readonly acceptEncoding?: string | undefined
}

/**
 * Limit of groups. Each takes 4 MB for autocannon's histograms; with a hundred, 500 requests per second arrive five at
 * a time.
 */
const groupsMax = 100
/** Longest wait for the last answers; answers that take longer count as this time. */
const lastAnswerMs = 800
/** Interval of autocannon's clock; by default each group would read it a thousand times per second. */
const clockMs = 50

type Heard = Map<autocannon.Client, number[]>

/** Latencies of `seconds` answers on each connection. The first ones, which include connecting, do not count. */
async function load({ url, bodies, rate, seconds, acceptEncoding }: LatencyJob): Promise<number[]> {
  const groups = Math.min(groupsMax, rate)
  const startedAtMs = performance.now()
  let asked = 0
  const headers = {
    'content-type': 'application/json',
    ...(acceptEncoding !== undefined && { 'accept-encoding': acceptEncoding }),
  }
  const nextBody = () => bodies[asked++ % bodies.length] as string
  const runs: Promise<Heard | string>[] = []
  for (let group = 0; group < groups; group++) {
    await setTimeout(Math.max(0, startedAtMs + (group * 1000) / groups - performance.now()))
    // The first groups get the remainder of the division.
    const connections = Math.floor(rate / groups) + (group < rate % groups ? 1 : 0)
    runs.push(runGroup(url, headers, connections, seconds, nextBody))
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

/**
 * Connections that begin together and send one request per second each. Resolves to their latencies, or the error.
 */
function runGroup(
  url: string,
  headers: Record<string, string>,
  connections: number,
  seconds: number,
  nextBody: () => string,
): Promise<Heard | string> {
  return new Promise((resolve) => {
    const heard: Heard = new Map()
    const options: autocannon.Options = {
      url,
      method: 'POST',
      headers,
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

// Ends with its parent, so that no load remains.
process.on('disconnect', () => endProcess(1))
const [job] = (await once(process, 'message')) as [LatencyJob]
const said = await load(job).catch((error: Error) => `${job.url}: ${error.message}`)
process.send?.(said, () => endProcess(0))
