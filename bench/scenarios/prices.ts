/**
 * Compares the server's CPU time for each kind of call, over all threads, with its charge. The charge comes from the
 * headers of answers: the units left before and after the load. Caches are off, as prices assume.
 */
import { saturate, targetOf, withConnections } from '../load/httpLoader.js'
import { inColumns } from '../report/statistics.js'
import { withCpu } from '../servers/serverProcess.js'
import { type TidegateProcess, withoutCaches } from '../servers/tidegateServer.js'
import { type PricedKind, pricedKinds } from './pricedKinds.js'
import { type Found, onDemo, type SpecialScenario } from './specialScenario.js'

/** Time for each kind of call in a short run. */
const secondsQuick = 0.06

/** A kind of call, its charge and its CPU time. */
export interface PricedCall {
  readonly name: string
  readonly answers: number
  /** Charge for one call. */
  readonly units: number
  /** CPU time of the server, over all threads, for one call; undefined if the system does not report it. */
  readonly cpuMicros: number | undefined
}

/** Limits of the server: a bucket that no kind of call empties, at the lowest rate, and no caches. */
export const priceLimits = { ...withoutCaches, keyUnitsPerSecond: 1, keyUnitsBurst: 1_000_000_000 } as const

/** Units left, in the answers to a key: `"units";r=91;t=9`. */
const leftPattern = /"units";r=(\d+)/

/**
 * Connections: enough for two threads, and few enough that none is refused as busy; for calls that take seconds, one
 * per thread.
 */
const connectionsUsual = 8
const connectionsOfLong = 2

export const prices: SpecialScenario = {
  name: 'prices',
  title: 'CPU time for a unit, by what is asked',
  seconds: ({ isQuick, seconds }) => 5 + pricedKinds.length * 2 * (isQuick ? secondsQuick : seconds),
  run: (context) =>
    onDemo(
      context,
      async (server) => {
        const { isQuick, seconds } = context.settings
        const calls: PricedCall[] = []
        for (const [at, kind] of pricedKinds.entries()) {
          const url = server.keyedUrls[at] as string
          calls.push(await measurePrice(server, url, kind, isQuick ? secondsQuick : seconds))
        }
        const outcome = pricesOutcome(calls)
        return { ...outcome, own: { ...outcome.own, ...server.memory() } }
      },
      { limits: priceLimits, keyNames: pricedKinds.map(({ name }) => name) },
    ),
}

/** Charge and CPU time of a kind of call, with its own key, on a server with {@link priceLimits}. */
export async function measurePrice(
  server: TidegateProcess,
  url: string,
  { name, question, isLong }: PricedKind,
  seconds: number,
): Promise<PricedCall> {
  let n = 0
  const next = () => question(n++)
  const connections = isLong === true ? connectionsOfLong : connectionsUsual
  const ask = () => withConnections(targetOf(url), connections, (open) => saturate(open, seconds, next))
  const before = await unitsLeft(url)
  const sinceMs = performance.now()
  const warmUp = await ask()
  const [{ answers }, cpuSeconds] = await withCpu(server, ask)
  const after = await unitsLeft(url)
  const filled = (priceLimits.keyUnitsPerSecond * (performance.now() - sinceMs)) / 1_000
  const charged = before - after - unitsToAsk + filled
  const cpuMicros = cpuSeconds && (cpuSeconds * 1e6) / answers
  return { name, answers, units: charged / (answers + warmUp.answers), cpuMicros }
}

/** Price of an invalid call. */
const unitsToAsk = 1

/** Units left to a key after {@link unitsToAsk} are taken. Throws if the answer lacks the header. */
async function unitsLeft(url: string): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: '{}' })
  const left = leftPattern.exec(response.headers.get('ratelimit') ?? '')?.[1]
  if (left === undefined) throw new Error(`${url} does not say what is left: ${await response.text()}`)
  return Number(left)
}

/** The first call is the one that defines the unit. */
export function pricesOutcome(calls: readonly PricedCall[]): Found {
  const [first, ...others] = calls as readonly [PricedCall, ...PricedCall[]]
  const most = others.reduce((a, b) => ((microsOfUnit(b) ?? 0) > (microsOfUnit(a) ?? 0) ? b : a))
  const unit = microsOfUnit(first)
  const worst = microsOfUnit(most)
  const isKnown = unit !== undefined && worst !== undefined
  return {
    unit: 'units for a second of CPU',
    own: { rate: worst === undefined ? 0 : 1e6 / worst, rateSpread: 0, cpuMicros: worst },
    ratios: isKnown ? { unit: { value: unit / worst, by: 'cpu' } } : {},
    note: `the most for a unit: ${most.name}`,
    details: pricesTable(calls, unit),
  }
}

/** CPU time of the server for one unit, µs. */
function microsOfUnit({ units, cpuMicros }: PricedCall): number | undefined {
  return cpuMicros === undefined ? undefined : cpuMicros / units
}

function pricesTable(calls: readonly PricedCall[], unit: number | undefined): string[] {
  const rounded = (value?: number) => (value === undefined ? '–' : value.toFixed(value < 100 ? 1 : 0))
  return inColumns([
    ['', 'answers', 'units each', 'CPU µs each', 'CPU µs a unit', '× first'],
    ...calls.map((call) => {
      const micros = microsOfUnit(call)
      const times = micros === undefined || unit === undefined ? undefined : micros / unit
      const { name, answers, units, cpuMicros } = call
      return [name, String(answers), ...[units, cpuMicros, micros, times].map(rounded)]
    }),
  ])
}
