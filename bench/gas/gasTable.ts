/** The table of the scenario `gas`. */
import { type GasFigures, medianShare, mgas, shareOf, shortfalls } from './gasSpeed.js'

const nameWidth = 72

/** Slowest first. */
export function gasTable(figures: GasFigures): string[] {
  const { speeds, scale } = figures
  const number = (value: number | undefined) =>
    (value === undefined ? '–' : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)).padStart(14)
  const rows = [...speeds].sort((a, b) => mgas(a) - mgas(b))
  return [
    'Mgas a second of CPU'.padEnd(nameWidth) +
      ['here', 'go-ethereum', '×'].map((head) => head.padStart(14)).join(''),
    ...rows.map((speed) => {
      const geth = speed.gethMicros && speed.gas / speed.gethMicros
      return (
        speed.name.slice(0, nameWidth - 2).padEnd(nameWidth) +
        number(mgas(speed)) +
        number(geth) +
        number(shareOf(speed))
      )
    }),
    '',
    `Median of the precompiled contracts: ${medianShare(speeds)?.toFixed(2) ?? '–'} × go-ethereum, whose times were recorded on`,
    `a machine ${(1 / scale).toFixed(2)} × as fast as this one, by a reference loop.`,
    ...shortfalls(figures).map((line) => `FAILED ${line}`),
  ]
}
