/** Lines over time, drawn by uPlot in the colours of the style sheet. */
import uPlot from 'uplot'
import { make } from './dom.js'
import type { Moment } from './live.js'

interface Line {
  readonly label: string
  /** A custom property of the style sheet. */
  readonly color: string
  readonly of: (moment: Moment) => number | null
}

/** Seconds that a chart shows. */
const shownSeconds = 300
const heightPx = 180

export class Chart {
  readonly element: HTMLElement
  readonly #lines: readonly Line[]
  readonly #format: (value: number) => string
  #plot: uPlot | undefined
  #moments: readonly Moment[] = []
  readonly #size: ResizeObserver
  readonly #scheme = matchMedia('(prefers-color-scheme: dark)')
  readonly #redraw = () => this.#make()

  constructor(title: string, lines: readonly Line[], format: (value: number) => string) {
    this.#lines = lines
    this.#format = format
    const figure = make('div', { role: 'img', 'aria-label': title })
    this.element = make('section', { class: 'card chart' }, make('h3', {}, title), figure)
    this.#size = new ResizeObserver(() => {
      const width = figure.clientWidth
      if (this.#plot === undefined) this.#make()
      else if (width > 0 && width !== this.#plot.width) this.#plot.setSize({ width, height: heightPx })
    })
    this.#size.observe(figure)
    this.#scheme.addEventListener('change', this.#redraw)
  }

  show(moments: readonly Moment[]): void {
    this.#moments = moments
    const now = moments.at(-1)?.at ?? Date.now() / 1_000
    this.#plot?.batch(() => {
      this.#plot?.setData(this.#data(), true)
      this.#plot?.setScale('x', { min: now - shownSeconds, max: now })
    })
  }

  close(): void {
    this.#size.disconnect()
    this.#scheme.removeEventListener('change', this.#redraw)
    this.#plot?.destroy()
  }

  #data(): uPlot.AlignedData {
    const moments = this.#moments
    return [moments.map(({ at }) => at), ...this.#lines.map(({ of }) => moments.map(of))]
  }

  #make(): void {
    const figure = this.element.lastElementChild as HTMLElement
    this.#plot?.destroy()
    const style = getComputedStyle(document.documentElement)
    const probe = make('span')
    figure.append(probe)
    // The computed colour, since a canvas knows neither custom properties nor light-dark().
    const colorOf = (property: string) => {
      probe.style.color = `var(${property})`
      return getComputedStyle(probe).color
    }
    const axis = {
      stroke: colorOf('--faint'),
      grid: { stroke: colorOf('--line'), width: 1 },
      ticks: { show: false },
    }
    const options: uPlot.Options = {
      width: Math.max(figure.clientWidth, 100),
      height: heightPx,
      cursor: { show: false },
      legend: { show: true, live: false },
      scales: { x: { time: true }, y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 0.001)] } },
      axes: [
        { ...axis, font: `11px ${style.fontFamily}` },
        {
          ...axis,
          font: `11px ${style.fontFamily}`,
          size: 60,
          values: (_plot, ticks) => ticks.map(this.#format),
        },
      ],
      series: [
        {},
        ...this.#lines.map(({ label, color }) => ({
          label,
          stroke: colorOf(color),
          width: 2,
          points: { show: false },
        })),
      ],
    }
    probe.remove()
    this.#plot = new uPlot(options, this.#data(), figure)
    this.show(this.#moments)
  }
}
