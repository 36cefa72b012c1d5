/**
 * Compares the server's CPU time for each kind of call, over all threads, with its charge. The charge is measured
 * from outside: after the load the rest of the key's bucket is spent, and the difference was charged. Caches are off,
 * as prices assume.
 */
import { bodyUnits } from '../../src/serving/rpc/contexts/price.js'
import { saturate, targetOf, withConnections } from '../load/httpLoader.js'
import { batch } from '../load/rpc.js'
import { inColumns } from '../report/statistics.js'
import { withCpu } from '../servers/serverProcess.js'
import { type TidegateProcess, withoutCaches } from '../servers/tidegateServer.js'
import { type PricedKind, pricedKinds } from './pricedKinds.js'
import { type Found, onDemo, type SpecialScenario } from './specialScenario.js'

/** Time for each kind of call in a short run: the system counts CPU time in hundredths of a second. */
const secondsQuick = 0.15

/** A kind of call, its charge and its CPU time. */
export interface PricedCall {
  readonly name: string
  readonly answers: number
  /** Charged for one. */
  readonly units: number
  /** Of the server, all threads together, for one; undefined where the system does not tell. */
  readonly cpuMicros: number | undefined
}

/** Limits of the server: a bucket that no kind of call empties in its time, at the lowest rate, and no caches. */
export const priceLimits = { ...withoutCaches, keyUnitsPerSecond: 1, keyUnitsBurst: 1_000_000 } as const

/** A call that is charged, and refused for its arguments before it does any work. */
const refused = ['eth_getProof', [`0x${'0'.repeat(40)}`, ['none']]] as const
/** A thousand charged calls that take almost no work: first expensive ones, then invalid ones for the rest. */
const spending = [
  { body: batch(Array.from({ length: 1_000 }, () => refused)), units: 21 },
  { body: `[${'{},'.repeat(999)}{}]`, units: 1 },
] as const
const spendingCalls = 1_000
const limitExceeded = /"error":\{"code":-32005,/g

/**
 * Connections: enough for two threads, and few enough that none is refused as busy; for calls that take seconds, one
 * per thread.
 */
const [connectionsUsual, connectionsOfLong] = [8, 2]

export const prices: SpecialScenario = {
  name: 'prices',
  title: 'CPU time for a unit, by what is asked',
  seconds: ({ isQuick, seconds }) => 5 + pricedKinds.length * (isQuick ? 0.6 : 2 * seconds + 0.7),
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
  // Begin below a full bucket, which would not refill measurably.
  const first = await spend(url, spending[0])
  const sinceMs = performance.now()
  const warmUp = await ask()
  const [{ answers }, cpuSeconds] = await withCpu(server, ask)
  const rest = await spendAll(url)
  const filled = (priceLimits.keyUnitsPerSecond * (performance.now() - sinceMs)) / 1_000
  const charged = priceLimits.keyUnitsBurst - first.spent + filled - rest
  const cpuMicros = cpuSeconds && (cpuSeconds * 1e6) / answers
  return { name, answers, units: charged / (answers + warmUp.answers), cpuMicros }
}

/** Spends the rest of a key's units; resolves to their number. */
async function spendAll(url: string): Promise<number> {
  let total = 0
  for (const means of spending) {
    for (let isAll = true; isAll; ) {
      const { spent, isPaid } = await spend(url, means)
      total += spent
      isAll = isPaid
    }
  }
  return total
}

/** Spends units on one batch, which is only read if that can be paid. */
async function spend(
  url: string,
  { body, units }: (typeof spending)[number],
): Promise<{ spent: number; isPaid: boolean }> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body })
  const answer = await response.text()
  // Too little is left to read it.
  if (response.status === 429) return { spent: 0, isPaid: false }
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${answer.slice(0, 200)}`)
  const unpaid = answer.match(limitExceeded)?.length ?? 0
  return { spent: bodyUnits(body.length) + (spendingCalls - unpaid) * units, isPaid: unpaid === 0 }
}

/** The first call is the one that defines the unit. */
export function pricesOutcome(calls: readonly PricedCall[]): Found {
  const [first, ...others] = calls as readonly [PricedCall, ...PricedCall[]]
  const most = others.reduce((a, b) => ((microsOfUnit(b) ?? 0) > (microsOfUnit(a) ?? 0) ? b : a))
  const [unit, worst] = [microsOfUnit(first), microsOfUnit(most)]
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
