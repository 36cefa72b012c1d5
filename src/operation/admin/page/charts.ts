/** Lines over an hour or a day, drawn by uPlot in the colours of the style sheet, and small ones in tables. */
import uPlot from 'uplot'
import { make } from './dom.js'

export interface Line {
  readonly label: string
  /** A custom property of the style sheet. */
  readonly color: string
  /** One value for each time; null if there is none. */
  readonly values: readonly (number | null)[]
}

/** Seconds of the time axis until another time is chosen. */
const shownSecondsDefault = 3_600
const heightPx = 180
const sparkWidth = 120
const sparkHeight = 20
/** Least height, so that a head only a second older than the last does not look like a fault. */
const sparkMaxMin = 10

/** Colours of lines that differ only by name. */
const lineColors = ['--accent', '--second', '--good', '--third'] as const

/** The colour of the line with index `at`; lines beyond the list of colours are grey. */
export function lineColor(at: number): string {
  return lineColors[at] ?? '--faint'
}

/** Colours of keys, in the order in which the keys were seen. */
const keyColors = new Map<string, string>()

/** The colour of a key, which stays while the page is open. */
export function colorOfKey(id: string): string {
  const color = keyColors.get(id) ?? (lineColors[keyColors.size % lineColors.length] as string)
  keyColors.set(id, color)
  return color
}

export class Chart {
  readonly element: HTMLElement
  readonly #figure: HTMLElement
  readonly #none: HTMLElement
  readonly #format: (value: number) => string
  #plot: uPlot | undefined
  /** Seconds since 1970. */
  #at: readonly number[] = []
  #lines: readonly Line[] = []
  #spanSeconds = shownSecondsDefault
  readonly #size: ResizeObserver
  readonly #scheme = matchMedia('(prefers-color-scheme: dark)')
  readonly #redraw = () => this.#make()

  /** `none` is shown if there is nothing to draw. */
  constructor(title: string, format: (value: number) => string, none: string) {
    this.#format = format
    this.#figure = make('div', { role: 'img', 'aria-label': title, hidden: true })
    this.#none = make('p', { class: 'note' }, none)
    this.element = make('section', { class: 'card chart' }, make('h3', {}, title), this.#none, this.#figure)
    this.#size = new ResizeObserver(() => {
      const width = this.#figure.clientWidth
      if (width === 0 || width === this.#plot?.width) return
      if (this.#plot === undefined) this.#make()
      else this.#plot.setSize({ width, height: heightPx })
    })
    this.#size.observe(this.#figure)
    this.#scheme.addEventListener('change', this.#redraw)
  }

  /** The time axis has the chosen length, even if only a part of it has points. */
  setSpan(seconds: number): void {
    this.#spanSeconds = seconds
  }

  /** Draws lines through points at these times, in seconds since 1970. */
  show(at: readonly number[], lines: readonly Line[]): void {
    const isSame = lines.map(({ label }) => label).join() === this.#lines.map(({ label }) => label).join()
    this.#at = at
    this.#lines = lines
    const isEmpty = !lines.some(({ values }) => values.some((value) => value))
    this.#none.hidden = !isEmpty
    this.#figure.hidden = isEmpty
    if (this.#plot === undefined) return
    if (isSame) this.#fill(this.#plot)
    else this.#make()
  }

  close(): void {
    this.#size.disconnect()
    this.#scheme.removeEventListener('change', this.#redraw)
    this.#plot?.destroy()
  }

  #fill(plot: uPlot): void {
    const last = this.#at.at(-1) ?? 0
    plot.batch(() => {
      plot.setData(this.#data(), true)
      plot.setScale('x', { min: last - this.#spanSeconds, max: last })
    })
  }

  #data(): uPlot.AlignedData {
    return [[...this.#at], ...this.#lines.map(({ values }) => [...values])]
  }

  #make(): void {
    const figure = this.#figure
    this.#plot?.destroy()
    this.#plot = undefined
    if (figure.clientWidth === 0) return
    const style = getComputedStyle(document.documentElement)
    const probe = make('span')
    figure.append(probe)
    // The computed colour, since a canvas supports neither custom properties nor light-dark().
    const colorOf = (property: string) => {
      probe.style.color = `var(${property})`
      return getComputedStyle(probe).color
    }
    const axis = {
      stroke: colorOf('--faint'),
      grid: { stroke: colorOf('--line'), width: 1 },
      ticks: { show: false },
      font: `11px ${style.fontFamily}`,
    }
    const options: uPlot.Options = {
      width: figure.clientWidth,
      height: heightPx,
      cursor: { show: false },
      legend: { show: true, live: false },
      scales: { x: { time: true }, y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 1e-9)] } },
      axes: [
        { ...axis, space: 75, values: (_plot, ticks) => ticks.map(clockTime) },
        { ...axis, size: 60, values: (_plot, ticks) => ticks.map(this.#format) },
      ],
      series: [
        {},
        ...this.#lines.map(({ label, color }) => ({
          label,
          stroke: colorOf(color),
          width: 2,
          spanGaps: true,
          // A single value is drawn as a point: a line needs two.
          points: { show: (plot: uPlot, series: number) => countOf(plot.data[series]) === 1, size: 6 },
        })),
      ],
    }
    probe.remove()
    this.#plot = new uPlot(options, this.#data(), figure)
    this.#fill(this.#plot)
  }
}

function countOf(values: ArrayLike<unknown> | undefined): number {
  return Array.from(values ?? []).filter((value) => value != null).length
}

/** Consecutive values, as small as a word; zero is at the bottom. */
export function sparkline(values: readonly (number | null)[]): SVGElement {
  const known = values.flatMap((value) => value ?? [])
  const max = known.reduce((max, value) => Math.max(max, value), sparkMaxMin)
  const step = sparkWidth / Math.max(known.length - 1, 1)
  // A single value becomes a line as well.
  const shown = known.length === 1 ? [...known, ...known] : known
  const points = shown.map(
    (value, at) => `${(at * step).toFixed(1)},${(sparkHeight * (1 - value / max)).toFixed(1)}`,
  )
  const makeSvg = (tag: string, attributes: Readonly<Record<string, string>>) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
    return element as SVGElement
  }
  const label = `at most ${Math.round(known.reduce((max, value) => Math.max(max, value), 0))} s, now ${Math.round(known.at(-1) ?? 0)} s`
  const viewBox = `0 -2 ${sparkWidth} ${sparkHeight + 4}`
  const svg = makeSvg('svg', { class: 'spark', role: 'img', 'aria-label': label, viewBox })
  svg.append(makeSvg('polyline', { points: points.join(' ') }))
  return svg
}

/** The time in the time zone of the reader. */
function clockTime(seconds: number): string {
  return new Date(seconds * 1_000).toLocaleTimeString('en', {
    hourCycle: 'h23',
    hour: '2-digit',
    minute: '2-digit',
  })
}
