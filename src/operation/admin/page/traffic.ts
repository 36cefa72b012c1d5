/**
 * Traffic: calls, times and errors over an hour or a day, of all networks and methods or of one. Also keys, the calls
 * of one key, refused requests and failed calls.
 */
import type { CallHistory, LiveState, Usage } from '../shapes.js'
import { ask } from './api.js'
import { Chart, colorOfKey, lineColor } from './charts.js'
import { choice, labelled, make, offer, opener, type View } from './dom.js'
import { formatCount, formatMs, formatRate, formatSeconds, formatShare, keyLabel } from './format.js'
import { historyMs, type LiveSource } from './live.js'
import { notedTable } from './notedCalls.js'
import { type Column, failures, figures, LiveTable, spentColumns } from './table.js'

export function traffic(live: LiveSource): View {
  const filter = new Filter(() => void read())
  const calls = new Chart('Calls a minute', formatRate, 'No call came in this time.')
  const times = new Chart('Time of calls', formatMs, 'No call was timed in this time.')
  const errors = new Chart('Errors a minute by code', formatRate, 'No call failed in this time.')
  const units = new Chart('Units a minute by key', formatCount, 'No key spent units in this time.')
  const charts = [calls, times, errors, units]
  const networks = networkTable()
  const methods = methodTable()
  const failed = failureTable()
  const refusals = refusalTable()
  const called = calledTable()
  const keys = keyTable((id) => filter.chooseKey(id))
  const failedCalls = notedTable('Failed calls', 'No call failed since the start.')
  let askedMs = Number.NEGATIVE_INFINITY
  let isClosed = false

  const read = async () => {
    askedMs = performance.now()
    const { query, ofKey } = filter
    // Calls and times are not counted by minute and key; for a key there is hourly usage.
    for (const { element } of [calls, times, errors, methods, failed]) element.hidden = ofKey !== undefined
    called.element.hidden = ofKey === undefined
    try {
      const [history, used] = await Promise.all([
        ask<CallHistory>(`api/history?${query}`),
        ofKey === undefined ? undefined : ask<Usage>(`api/usage?${ofKey}`),
      ])
      // Another choice may have been made meanwhile, or another view opened.
      if (isClosed || query !== filter.query) return
      for (const chart of charts) chart.setSpan(filter.spanSeconds)
      drawCalls(calls, times, filter.isOfAll, history)
      drawErrors(errors, history)
      drawUnits(units, history)
      methods.show(history.methods)
      networks.show(history.networks)
      networks.element.hidden = ofKey !== undefined || history.networks.length < 2
      failed.show(history.failures)
      refusals.show(history.refusals)
      called.show(used?.rows ?? [])
      filter.offer(history)
    } catch {
      // The live stream reports the reason.
    }
  }
  const stop = live.listen(({ state }) => {
    if (state === undefined) return
    filter.offer({ methods: [], networks: state.networks, keys: state.topKeys })
    keys.show(state.topKeys)
    failedCalls.show(state.failedCalls)
    if (performance.now() - askedMs > historyMs) void read()
  })
  return {
    element: make(
      'div',
      { class: 'stack' },
      filter.element,
      make('div', { class: 'pair' }, ...charts.map(({ element }) => element)),
      networks.element,
      methods.element,
      called.element,
      make('div', { class: 'pair' }, failed.element, refusals.element),
      failedCalls.element,
      keys.element,
    ),
    close() {
      isClosed = true
      stop()
      for (const chart of charts) chart.close()
    },
  }
}

const hourMs = 3_600_000

/** The methods and keys that the view can be limited to. */
interface Offered {
  readonly methods: readonly { readonly method: string }[]
  readonly networks: readonly ({ readonly network: string } | { readonly name: string })[]
  readonly keys: readonly Pick<CallHistory['keys'][number], 'id' | 'name'>[]
}

/** The selection: a time, a network, a method, a key. */
class Filter {
  readonly #span = choice(['hour', 'day'])
  readonly #network = choice([''])
  readonly #method = choice([''])
  readonly #key = choice([''])
  readonly #methods = new Set<string>()
  readonly #networks = new Set<string>()
  /** Key id → its label. */
  readonly #keys = new Map<string, string>()
  readonly #changed: () => void
  readonly element = make(
    'div',
    { class: 'row card' },
    labelled('Time', this.#span),
    labelled('Network', this.#network),
    labelled('Method', this.#method),
    labelled('Key', this.#key),
  )

  constructor(changed: () => void) {
    this.#changed = changed
    for (const input of [this.#span, this.#network, this.#method, this.#key])
      input.addEventListener('change', changed)
  }

  get isOfAll(): boolean {
    return this.#method.value === '' && this.#network.value === ''
  }

  get spanSeconds(): number {
    return (this.#span.value === 'day' ? 24 * hourMs : hourMs) / 1_000
  }

  /** Query for the history. */
  get query(): string {
    return new URLSearchParams({ span: this.#span.value, ...this.#named }).toString()
  }

  /** Query for the usage of the chosen key, in the hours that the time touches. */
  get ofKey(): string | undefined {
    if (this.#key.value === '') return undefined
    const from = new Date(Date.now() - this.spanSeconds * 1_000).toISOString()
    return new URLSearchParams({ ...this.#named, by: 'method', from }).toString()
  }

  get #named(): Readonly<Record<string, string>> {
    const network = this.#network.value
    const method = this.#method.value
    const key = this.#key.value
    return { ...(network && { network }), ...(method && { method }), ...(key && { key }) }
  }

  chooseKey(id: string): void {
    this.#key.value = id
    this.#changed()
    this.#key.focus()
  }

  offer({ methods, networks, keys }: Offered): void {
    for (const { method } of methods) this.#methods.add(method)
    for (const name of networks) this.#networks.add('name' in name ? name.name : name.network)
    for (const { id, name } of keys) {
      if (id !== null) this.#keys.set(id, keyLabel(id, name))
    }
    offer(this.#network, ['', ...Array.from(this.#networks).sort()])
    offer(this.#method, ['', ...Array.from(this.#methods).sort()])
    offer(this.#key, ['', ...this.#keys.keys()], (id) => this.#keys.get(id) ?? (id || 'all'))
  }
}

/** Per minute: a call or two an hour are no figure per second. */
function perMinute(perSecond: readonly number[]): readonly number[] {
  return perSecond.map((value) => value * 60)
}

function drawCalls(calls: Chart, times: Chart, isOfAll: boolean, history: CallHistory): void {
  const at = history.at.map(secondsOf)
  const inMs = (values: readonly (number | null)[]) => values.map((value) => value && value * 1_000)
  calls.show(at, [
    { label: 'calls', color: '--accent', values: perMinute(history.callsPerSecond) },
    { label: 'errors', color: '--bad', values: perMinute(history.errorsPerSecond) },
    ...(isOfAll
      ? [{ label: 'refused requests', color: '--second', values: perMinute(history.rejectionsPerSecond) }]
      : []),
  ])
  times.show(at, [
    { label: 'p50', color: '--accent', values: inMs(history.p50Seconds) },
    { label: 'p99', color: '--second', values: inMs(history.p99Seconds) },
  ])
}

function drawErrors(chart: Chart, history: CallHistory): void {
  const lines = history.errors.map(({ code, perSecond }, at) => [code, lineColor(at), perSecond] as const)
  drawLines(chart, history, lines)
}

function drawUnits(chart: Chart, history: CallHistory): void {
  const lines = history.keys.map(({ id, name, unitsPerSecond }) => {
    const label = name ?? id ?? 'all others'
    return [label, id === null ? '--faint' : colorOfKey(id), unitsPerSecond] as const
  })
  drawLines(chart, history, lines)
}

function drawLines(
  chart: Chart,
  { at }: CallHistory,
  lines: readonly (readonly [label: string, color: string, perSecond: readonly number[]])[],
): void {
  chart.show(
    at.map(secondsOf),
    lines.map(([label, color, perSecond]) => ({ label, color, values: perMinute(perSecond) })),
  )
}

function secondsOf(time: string): number {
  return Date.parse(time) / 1_000
}

interface Figures {
  readonly calls: number
  readonly errors: number
  readonly p50Seconds: number | null
  readonly p99Seconds: number | null
}

const figureColumns: readonly Column<Figures>[] = [
  figures('Calls', ({ calls }) => formatCount(calls)),
  figures('Succeeded', ({ calls, errors }) => formatShare(calls - errors, calls)),
  failures('Errors', ({ errors }) => errors),
  figures('p50', ({ p50Seconds }) => formatSeconds(p50Seconds)),
  figures('p99', ({ p99Seconds }) => formatSeconds(p99Seconds)),
]

function networkTable() {
  return new LiveTable<CallHistory['networks'][number]>(
    'Networks',
    [{ title: 'Network', of: ({ network }) => network }, ...figureColumns],
    'No network was called in this time.',
  )
}

function methodTable() {
  return new LiveTable<CallHistory['methods'][number]>(
    'Methods',
    [
      { title: 'Method', of: ({ method }) => method },
      { title: 'Network', of: ({ network }) => network ?? '–' },
      ...figureColumns,
    ],
    'No method was called in this time.',
  )
}

function failureTable() {
  return new LiveTable<CallHistory['failures'][number]>(
    'Errors by method and code',
    [
      { title: 'Code', of: ({ code }) => code },
      { title: 'Method', of: ({ method }) => method ?? '–' },
      { title: 'Network', of: ({ network }) => network ?? '–' },
      failures('Errors', ({ count }) => count),
    ],
    'No call failed in this time.',
  )
}

function refusalTable() {
  return new LiveTable<CallHistory['refusals'][number]>(
    'Refused requests by reason',
    [
      { title: 'Reason', of: ({ reason, text }) => `${reason}: ${text}`, cellClass: () => 'long' },
      failures('Requests', ({ count }) => count),
    ],
    'None in this time.',
  )
}

function calledTable() {
  return new LiveTable<Usage['rows'][number]>(
    'What this key called, in the whole hours of this time',
    [{ title: 'Method', of: ({ method }) => method ?? '' }, ...spentColumns],
    'It called nothing in this time.',
  )
}

function keyTable(choose: (id: string) => void) {
  return new LiveTable<LiveState['topKeys'][number]>(
    'Keys that spent most in the last minute',
    [{ title: 'Key', of: ({ id, name }) => opener(keyLabel(id, name), () => choose(id)) }, ...spentColumns],
    'None.',
  )
}
