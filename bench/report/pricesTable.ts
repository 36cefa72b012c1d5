/** CPU time per unit of each kind of call: the outcome of the scenario `prices`, and its table. */
import type { Outcome, PricedCall } from './outcome.js'

/** The first call is the one that defines the unit. */
export function pricesOutcome(calls: readonly PricedCall[]): Omit<Outcome, 'name' | 'title'> {
  const [first, ...others] = calls as readonly [PricedCall, ...PricedCall[]]
  const most = others.reduce((a, b) => ((microsOfUnit(b) ?? 0) > (microsOfUnit(a) ?? 0) ? b : a))
  const [unit, worst] = [microsOfUnit(first), microsOfUnit(most)]
  const isKnown = unit !== undefined && worst !== undefined
  return {
    unit: 'units for a second of CPU',
    own: { rate: worst === undefined ? 0 : 1e6 / worst, rateSpread: 0, cpuMicros: worst },
    rivals: {},
    ratios: isKnown ? { unit: { value: unit / worst, by: 'cpu' } } : {},
    note: `the most for a unit: ${most.name}`,
    calls,
  }
}

/** CPU time of the server for one unit, µs. */
function microsOfUnit({ units, cpuMicros }: PricedCall): number | undefined {
  return cpuMicros === undefined ? undefined : cpuMicros / units
}

const nameWidth = 52

export function pricesTable(calls: readonly PricedCall[]): string[] {
  const unit = calls[0] && microsOfUnit(calls[0])
  const line = (name: string, cells: readonly string[]) =>
    name.padEnd(nameWidth) + cells.map((cell) => cell.padStart(14)).join('')
  return [
    line('', ['answers', 'units each', 'CPU µs each', 'CPU µs a unit', '× first']),
    ...calls.map((call) => {
      const micros = microsOfUnit(call)
      const times = micros === undefined || unit === undefined ? undefined : micros / unit
      const { name, answers, units, cpuMicros } = call
      return line(name, [String(answers), ...[units, cpuMicros, micros, times].map(rounded)])
    }),
  ]
}

function rounded(value: number | undefined): string {
  return value === undefined ? '–' : value.toFixed(value < 100 ? 1 : 0)
}
