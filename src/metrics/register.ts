import { Counter, Gauge, Histogram, Registry } from 'prom-client'

export type Labels = Readonly<Record<string, string | number>>
export type Emit = (labels: Labels, value: number) => void
type Read = (emit: Emit) => void

/** One histogram's counts under one set of labels; `buckets` are not added up. */
export interface Distribution {
  readonly labels: Labels
  readonly buckets: readonly number[]
  readonly sum: number
}

/** A histogram whose counts are kept elsewhere. */
class ReadHistogram extends Histogram {
  readonly #name: string
  readonly #help: string
  readonly #read: () => readonly Distribution[]
  readonly #bound: (bucket: number) => number | undefined

  constructor(
    register: Registry,
    name: string,
    help: string,
    bound: (bucket: number) => number | undefined,
    read: () => readonly Distribution[],
  ) {
    super({ name, help, registers: [register] })
    this.#name = name
    this.#help = help
    this.#read = read
    this.#bound = bound
  }

  /** The registry prefers this to `get`. */
  getForPromString(): ReturnType<Histogram['get']> {
    return this.get()
  }

  override async get(): ReturnType<Histogram['get']> {
    const values = this.#read().flatMap(({ labels, buckets, sum }) => {
      let count = 0
      const lines = buckets.map((found, bucket) => {
        count += found
        const le = this.#bound(bucket) ?? '+Inf'
        return { metricName: `${this.#name}_bucket`, labels: { ...labels, le }, value: count }
      })
      return [
        ...lines,
        { metricName: `${this.#name}_sum`, labels, value: sum },
        { metricName: `${this.#name}_count`, labels, value: count },
      ]
    })
    const all = { name: this.#name, help: this.#help, type: 'histogram', values, aggregator: 'sum' }
    return all as unknown as Awaited<ReturnType<Histogram['get']>>
  }
}

/** Content type and text of all metrics, in the format of Prometheus. */
export interface MetricsText {
  readonly contentType: string
  readonly text: string
}

/** A metric as documents name it. */
export interface DeclaredMetric {
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
}

/** Metrics of prom-client whose figures are kept elsewhere and asked for when the metrics are. */
export class Register {
  readonly #register = new Registry()

  /** In the order in which they were declared. */
  readonly declared: DeclaredMetric[] = []

  async read(): Promise<MetricsText> {
    return { contentType: this.#register.contentType, text: await this.#register.metrics() }
  }

  gauge(name: string, help: string, labelNames: string[], read: Read): void {
    const register = this.#register
    this.declared.push({ name, type: 'gauge', help, labels: labelNames })
    new Gauge({
      name,
      help,
      labelNames,
      registers: [register],
      collect() {
        this.reset()
        read((labels, value) => this.set({ ...labels }, value))
      },
    })
  }

  counter(name: string, help: string, labelNames: string[], read: Read): void {
    const register = this.#register
    this.declared.push({ name, type: 'counter', help, labels: labelNames })
    new Counter({
      name,
      help,
      labelNames,
      registers: [register],
      collect() {
        this.reset()
        read((labels, value) => this.inc({ ...labels }, value))
      },
    })
  }

  histogram(
    name: string,
    help: string,
    labels: string[],
    bound: (bucket: number) => number | undefined,
    read: () => readonly Distribution[],
  ): void {
    this.declared.push({ name, type: 'histogram', help, labels })
    new ReadHistogram(this.#register, name, help, bound, read)
  }
}
