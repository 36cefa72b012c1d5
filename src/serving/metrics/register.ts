/**
 * Metrics and their text in the format of Prometheus, version 0.0.4. The figures have other owners, and are read
 * together with the metrics.
 */

type Labels = Readonly<Record<string, string | number>>

/** One histogram's counts under one set of labels; `buckets` are not cumulative. */
interface Distribution {
  readonly labels: Labels
  readonly buckets: readonly number[]
  readonly sum: number
}

export interface MetricsText {
  readonly contentType: string
  readonly text: string
}

export interface DeclaredMetric {
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** The row of the Grafana dashboard that shows it. */
  readonly section: string
  /** Whether its value is 1 for yes and 0 for no. */
  readonly isState: boolean
}

/** A figure of a row; undefined if it has none. A boolean counts as 0 or 1. */
type Value = number | boolean | undefined
/** Names of members that are figures. */
type Names<T> = { readonly [N in keyof T]-?: T[N] extends Value ? N : never }[keyof T]
/** The figure of a row: the name of a member, or a function. */
type Figure<T> = Names<T> | ((row: T) => Value)
/** Rows that are figures themselves need none. */
type Where<T> = T extends Value ? [figure?: Figure<T>] : [figure: Figure<T>]

interface Figures<T> {
  gauge(name: string, help: string, ...where: Where<T>): void
  counter(name: string, help: string, ...where: Where<T>): void
  /** A gauge of 1 for yes and 0 for no. */
  state(name: string, help: string, ...where: Where<T>): void
}

/** Series with its labels → its value. */
type Series = Map<string, number>

export class Register {
  /** Metrics in the order of their declaration. */
  readonly declared: DeclaredMetric[] = []
  readonly #reads: (() => Series)[] = []
  /** Section of the metrics that are declared next. */
  section = ''

  read(): MetricsText {
    const texts = this.declared.map(({ name, type, help }, at) => {
      const lines = [...(this.#reads[at] as () => Series)()].map(([series, value]) => `${series} ${value}`)
      return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n')
    })
    return { contentType: 'text/plain; version=0.0.4; charset=utf-8', text: `${texts.join('\n\n')}\n` }
  }

  /** Metrics with one figure per row, each row under its own labels. */
  of<T>(labels: readonly string[], rows: () => Iterable<readonly [Labels, T]>): Figures<T> {
    const declare =
      (kind: 'gauge' | 'counter' | 'state') => (name: string, help: string, figure?: Figure<T>) => {
        const type = kind === 'state' ? 'gauge' : kind
        const figureOf = (row: T) =>
          typeof figure === 'function' ? figure(row) : ((figure === undefined ? row : row[figure]) as Value)
        this.#declare({ name, type, help, labels, isState: kind === 'state' }, () => {
          const series: Series = new Map(labels.length === 0 ? [[name, 0]] : [])
          for (const [labels, row] of rows()) {
            const value = figureOf(row)
            const one = seriesOf(name, labels)
            // Two nodes of one host have one name.
            const before = type === 'counter' ? (series.get(one) ?? 0) : 0
            if (value !== undefined) series.set(one, before + Number(value))
          }
          return series
        })
      }
    return { gauge: declare('gauge'), counter: declare('counter'), state: declare('state') }
  }

  histogram(
    name: string,
    help: string,
    labels: readonly string[],
    bound: (bucket: number) => number | undefined,
    read: () => readonly Distribution[],
  ): void {
    this.#declare({ name, type: 'histogram', help, labels, isState: false }, () => {
      const series: Series = new Map()
      for (const { labels, buckets, sum } of read()) {
        let count = 0
        for (const [bucket, found] of buckets.entries()) {
          count += found
          series.set(seriesOf(`${name}_bucket`, { ...labels, le: bound(bucket) ?? '+Inf' }), count)
        }
        series.set(seriesOf(`${name}_sum`, labels), sum)
        series.set(seriesOf(`${name}_count`, labels), count)
      }
      return series
    })
  }

  #declare(metric: Omit<DeclaredMetric, 'section'>, read: () => Series): void {
    this.declared.push({ ...metric, section: this.section })
    this.#reads.push(read)
  }
}

function seriesOf(name: string, labels: Labels): string {
  const texts = Object.entries(labels).map(([label, value]) => `${label}="${escaped(String(value))}"`)
  return texts.length === 0 ? name : `${name}{${texts.join(',')}}`
}

function escaped(value: string): string {
  return value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')
}
