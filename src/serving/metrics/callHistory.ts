/**
 * The calls of the last day, a point per minute. A point has calls and times by network and method, errors by code,
 * refusals, units of keys, and ages of heads. Owns the two files that keep them across restarts: lines of JSON, a point
 * each. Once the first file has the points of a day, it replaces the second. A process that dies loses a minute.
 */
import { readFileSync, renameSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { errorNames } from './edgeCounts.js'
import { type CountSample, quantile } from './recentCalls.js'
import { minus, sumLists, sumMaps, sumOf } from './sumCounts.js'

const minuteMs = 60_000
/** A day: with ten methods called 0.9 KB a point, 1.3 MB in memory; the files have two days at most. */
const pointsMax = 24 * 60
/** Least seconds of the current minute before it is reported: a rate over less time is too uncertain. */
const runningSecondsMin = 5
/** Points of one answer: as many as a chart can show. If there are more, neighbours are merged. */
const shownMax = 180
/**
 * Methods of networks, errors and keys that a point lists separately; all others are one sum, so that a point has some
 * KB at most.
 */
const methodsPerPoint = 40
const errorsPerPoint = 40
const keysPerPoint = 10
/** Errors by network, method and code in one answer: as many rows as a reader looks through. */
const failuresMax = 100
/** Series by code and by key in one answer: as many lines as a reader can distinguish in a chart. */
const linesMax = 4
/** Name of the sum of all other methods, codes or keys. */
export const others = 'other'

type Numbers = Readonly<Record<string, number>>

interface Point {
  /** End of the point, in milliseconds since 1970. */
  readonly at: number
  /** Time since the end of the previous point, or since the start. */
  readonly seconds: number
  /** Network and method, with a space between them → calls, errors, and timed calls by bucket. */
  readonly methods: Readonly<Record<string, readonly number[]>>
  /** Network, method and code, with spaces between them → errors; in older files only the code. */
  readonly errors: Numbers
  readonly rejections: Numbers
  /** Key id → units. */
  readonly units: Numbers
  /** Network → age of its head in seconds, at the end of the point. */
  readonly ages: Numbers
}

/** Figures of a method, a network, or of all. */
interface CallFigures {
  readonly calls: number
  readonly failed: number
  readonly callsPerSecond: number
  readonly errorsPerSecond: number
  /** Quantiles of timed calls; undefined if there are none. */
  readonly p50Seconds: number | undefined
  readonly p99Seconds: number | undefined
}

interface Series {
  readonly name: string
  /** Per second, for each time. */
  readonly values: readonly number[]
}

export interface HistoryAnswer {
  /** Ends of the times of the other series, oldest first, in milliseconds since 1970. */
  readonly atMs: readonly number[]
  readonly calls: readonly CallFigures[]
  readonly rejectionsPerSecond: readonly number[]
  /** Errors by code, of the chosen network and method. Most first, as in the other lists. */
  readonly errors: readonly Series[]
  readonly keys: readonly Series[]
  /** Figures over the whole time; an unknown network has none. */
  readonly methods: readonly (CallFigures & Cell)[]
  readonly networks: readonly (CallFigures & { readonly network: string })[]
  /** Errors over the whole time, of the chosen network and method. */
  readonly failures: readonly (Cell & { readonly code: string; readonly count: number })[]
  /** Refused requests over the whole time, by reason. */
  readonly refusals: readonly { readonly reason: string; readonly count: number }[]
  readonly ages: readonly { readonly network: string; readonly seconds: readonly (number | undefined)[] }[]
}

/** `network` is '' if it is unknown: in the sum of all other methods, and in files of older versions. */
interface Cell {
  readonly network: string
  readonly method: string
}

/** Limits a history to a network, a method or a key; if absent, all. */
export interface HistoryChoice {
  readonly network?: string | undefined
  readonly method?: string | undefined
  /** The answer has the units of this key. */
  readonly keyId?: string | undefined
}

interface CallHistoryOptions {
  /** Path of the first file; the second has `.old` at its end. If undefined, the history stays in memory. */
  readonly path: string | undefined
  /** Counts since the start. */
  readonly counts: () => CountSample
  /** Network → age of its head in seconds. */
  readonly ages: () => Numbers
  /** Milliseconds since 1970; `Date.now` if absent. */
  readonly nowMs?: () => number
  readonly onFailure?: (error: Error) => void
}

export class CallHistory {
  readonly #options: CallHistoryOptions
  readonly #nowMs: () => number
  #points: Point[]
  /** Lines of the first file. */
  #lines: number
  #since: CountSample
  #sinceMs: number
  #units = new Map<string, number>()
  #writing: Promise<void> = Promise.resolve()

  constructor(options: CallHistoryOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? Date.now
    const { path } = options
    const stored = path === undefined ? [] : readPoints(path)
    this.#lines = stored.length
    const older = path === undefined ? [] : readPoints(`${path}.old`)
    this.#points = [...older, ...stored].slice(-pointsMax)
    this.#since = options.counts()
    this.#sinceMs = this.#nowMs()
  }

  take(used: readonly { readonly keyId: string; readonly units: number }[]): void {
    for (const { keyId, units } of used) this.#units.set(keyId, (this.#units.get(keyId) ?? 0) + units)
  }

  /** Must be called each second. */
  tick(): void {
    if (this.#nowMs() - this.#sinceMs >= minuteMs) this.#end()
  }

  /**
   * The last `seconds` up to now, a day at most: the calls of the chosen network and method, and the units of the chosen
   * key.
   */
  read(seconds: number, choice: HistoryChoice = {}): HistoryAnswer {
    const { keyId } = choice
    const isChosen = (cell: Cell) =>
      (choice.network === undefined || cell.network === choice.network) &&
      (choice.method === undefined || cell.method === choice.method)
    const from = this.#nowMs() - seconds * 1_000
    const running = this.#point()
    const isReported =
      running.seconds >= runningSecondsMin || (this.#points.length === 0 && running.seconds > 0)
    const points = [...this.#points, ...(isReported ? [running] : [])].filter((point) => point.at > from)
    const perBin = Math.ceil(points.length / shownMax)
    const bins = Array.from({ length: Math.ceil(points.length / perBin) }, (_, at) =>
      merge(points.slice(at * perBin, (at + 1) * perBin)),
    )
    const whole = merge(points)
    const perSecond = (of: (point: Point) => number) =>
      bins.map((point) => of(point) / Math.max(point.seconds, 1))
    const series = (of: (point: Point) => Numbers): Series[] => {
      const reported = ranked(of(whole))
        .filter(([name]) => name !== others)
        .slice(0, linesMax)
      const names = new Set(reported.map(([name]) => name))
      const lines = reported.map(([name]) => ({ name, values: perSecond((point) => of(point)[name] ?? 0) }))
      const rest = perSecond((point) =>
        sumOf(Object.entries(of(point)).map(([name, value]) => (names.has(name) ? 0 : value))),
      )
      return rest.some((value) => value > 0) ? [...lines, { name: others, values: rest }] : lines
    }
    return {
      atMs: bins.map(({ at }) => at),
      calls: bins.map((point) => figuresOf(countsOf(point, isChosen), point.seconds)),
      rejectionsPerSecond: perSecond(({ rejections }) => sumOf(Object.values(rejections))),
      errors: series((point) => errorsByCode(point, isChosen)),
      keys: series(({ units }) => (keyId === undefined ? units : { [keyId]: units[keyId] ?? 0 })),
      methods: Object.entries(whole.methods)
        .map(([name, counts]) => ({ ...cellOf(name), ...figuresOf(counts, whole.seconds) }))
        .filter(({ network }) => choice.network === undefined || network === choice.network)
        .sort((a, b) => b.calls - a.calls),
      networks: networksOf(whole).map((network) => {
        const counts = countsOf(whole, (cell) => cell.network === network)
        return { network, ...figuresOf(counts, whole.seconds) }
      }),
      failures: ranked(whole.errors)
        .map(([name, count]) => ({ ...failureOf(name), count }))
        .filter(isChosen)
        .slice(0, failuresMax),
      refusals: ranked(whole.rejections).map(([reason, count]) => ({ reason, count })),
      ages: Object.keys(whole.ages).map((network) => ({
        network,
        seconds: bins.map(({ ages }) => ages[network]),
      })),
    }
  }

  /** Writes the time since the last point. */
  async close(): Promise<void> {
    if (this.#nowMs() > this.#sinceMs) this.#end()
    await this.#writing
  }

  #end(): void {
    const point = this.#point()
    this.#since = this.#options.counts()
    this.#sinceMs = point.at
    this.#units = new Map()
    this.#points.push(point)
    if (this.#points.length > pointsMax) this.#points.shift()
    const { path, onFailure } = this.#options
    if (path === undefined) return
    this.#writing = this.#writing
      .then(() => this.#write(path, point))
      .catch((error: Error) => onFailure?.(error))
  }

  async #write(path: string, point: Point): Promise<void> {
    if (this.#lines >= pointsMax) {
      renameSync(path, `${path}.old`)
      this.#lines = 0
    }
    await appendFile(path, `${JSON.stringify(point)}\n`, { mode: 0o600 })
    this.#lines++
  }

  /** A point for the time since the last one. */
  #point(): Point {
    const now = this.#options.counts()
    const { methods, rejections } = this.#since
    const counted = [...now.methods].map(([name, { calls, failed, durations }]) => {
      const then = methods.get(name)
      const timed = minus(durations, then?.durations)
      return [name, [calls - (then?.calls ?? 0), failed - (then?.failed ?? 0), ...timed]] as const
    })
    const called = counted.filter(([, [calls = 0]]) => calls > 0).sort(([, [a = 0]], [, [b = 0]]) => b - a)
    const rest = called.slice(methodsPerPoint).map(([, counts]) => counts)
    return {
      at: this.#nowMs(),
      seconds: (this.#nowMs() - this.#sinceMs) / 1_000,
      methods: {
        ...Object.fromEntries(called.slice(0, methodsPerPoint)),
        ...(rest.length > 0 && { [others]: sumLists(rest) }),
      },
      errors: firstOf(grown(failuresOf(now), failuresOf(this.#since)), errorsPerPoint),
      rejections: grown(now.rejections, rejections),
      units: firstOf(Object.fromEntries(this.#units), keysPerPoint),
      ages: this.#options.ages(),
    }
  }
}

/** The last points of a file; none if it cannot be read. Skips a line that a dying process left incomplete. */
function readPoints(path: string): Point[] {
  try {
    const lines = readFileSync(path, 'utf8')
      .split('\n')
      .slice(-pointsMax - 1)
    return lines.flatMap((line) => {
      try {
        const point = JSON.parse(line) as Point
        return typeof point?.at === 'number' && typeof point.methods === 'object' ? [point] : []
      } catch {
        return []
      }
    })
  } catch {
    return []
  }
}

/** One point for the whole time of these points. */
function merge(points: readonly Point[]): Point {
  const sum = (of: (point: Point) => Numbers): Numbers =>
    Object.fromEntries(sumMaps(points.map((point) => new Map(Object.entries(of(point))))))
  const methods = new Map<string, readonly number[]>()
  for (const point of points) {
    for (const [name, counts] of Object.entries(point.methods)) {
      methods.set(name, sumLists([methods.get(name) ?? [], counts]))
    }
  }
  return {
    at: points.at(-1)?.at ?? 0,
    seconds: sumOf(points.map(({ seconds }) => seconds)),
    methods: Object.fromEntries(methods),
    errors: sum(({ errors }) => errors),
    rejections: sum(({ rejections }) => rejections),
    units: sum(({ units }) => units),
    ages: Object.assign({}, ...points.map(({ ages }) => ages)),
  }
}

function countsOf({ methods }: Point, isChosen: (cell: Cell) => boolean): readonly number[] {
  return sumLists(
    Object.entries(methods).flatMap(([name, counts]) => (isChosen(cellOf(name)) ? [counts] : [])),
  )
}

function cellOf(name: string): Cell {
  const [network = '', method] = name.split(' ')
  return method === undefined ? { network: '', method: name } : { network, method }
}

function networksOf({ methods }: Point): string[] {
  const names = new Set(Object.keys(methods).map((name) => cellOf(name).network))
  return [...names].filter((name) => name !== '').sort()
}

/** Errors since the start by network, method and code. */
function failuresOf({ methods }: CountSample): Map<string, number> {
  return new Map(
    [...methods].flatMap(([name, { errors }]) =>
      errors.flatMap((count, at) => (count === 0 ? [] : [[`${name} ${errorNames[at]}`, count] as const])),
    ),
  )
}

function failureOf(name: string): Cell & { readonly code: string } {
  const [network = '', method = '', code] = name.split(' ')
  return code === undefined ? { network: '', method: '', code: name } : { network, method, code }
}

function errorsByCode({ errors }: Point, isChosen: (cell: Cell) => boolean): Numbers {
  const sums = new Map<string, number>()
  for (const [name, count] of Object.entries(errors)) {
    const failure = failureOf(name)
    if (isChosen(failure)) sums.set(failure.code, (sums.get(failure.code) ?? 0) + count)
  }
  return Object.fromEntries(sums)
}

function figuresOf([calls = 0, failed = 0, ...timed]: readonly number[], seconds: number): CallFigures {
  return {
    calls,
    failed,
    callsPerSecond: calls / Math.max(seconds, 1),
    errorsPerSecond: failed / Math.max(seconds, 1),
    p50Seconds: quantile(timed, 0.5),
    p99Seconds: quantile(timed, 0.99),
  }
}

/** The increase of each count, without zeros. */
function grown(now: ReadonlyMap<string, number>, then: ReadonlyMap<string, number>): Numbers {
  const grown = [...now].map(([name, count]) => [name, count - (then.get(name) ?? 0)] as const)
  return Object.fromEntries(grown.filter(([, count]) => count > 0))
}

function ranked(numbers: Numbers): [name: string, value: number][] {
  return Object.entries(numbers).sort(([, a], [, b]) => b - a)
}

/** The largest numbers, and one sum of all others. */
function firstOf(numbers: Numbers, max: number): Numbers {
  const all = ranked(numbers)
  const rest = sumOf(all.slice(max).map(([, value]) => value))
  return { ...Object.fromEntries(all.slice(0, max)), ...(rest > 0 && { [others]: rest }) }
}
