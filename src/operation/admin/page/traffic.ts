/**
 * Who asks what? Rates, times and errors over an hour or a day, for all methods or for one; keys, and the calls of one
 * of them; refused requests.
 */
import type { CallHistory, LiveState, Usage } from '../shapes.js'
import { ask } from './api.js'
import { Chart, lineColors } from './charts.js'
import { choice, labelled, make, offer, opener } from './dom.js'
import { formatCount, formatMs, formatRate, formatSeconds } from './format.js'
import { historyMs, type LiveSource } from './live.js'
import { type Column, failures, figures, LiveTable, spentColumns } from './table.js'
import type { View } from './view.js'

export function traffic(live: LiveSource): View {
  const filter = new Filter(() => void read())
  const calls = new Chart('Calls a second', formatRate, 'No call came in this time.')
  const times = new Chart('Time of calls', formatMs, 'No call was timed in this time.')
  const errors = new Chart(
    'Errors a second by code, of all methods',
    formatRate,
    'No call failed in this time.',
  )
  const units = new Chart('Units a second by key', formatCount, 'No key spent units in this time.')
  const methods = methodTable()
  const called = calledTable()
  const keys = keyTable((id) => filter.chooseKey(id))
  const refusals = tallies<LiveState['rejections'][number]>('Refused requests by reason', {
    title: 'Reason',
    of: ({ reason, text }) => `${reason}: ${text}`,
    mark: () => 'long',
  })
  let askedMs = Number.NEGATIVE_INFINITY
  let isClosed = false

  const read = async () => {
    askedMs = performance.now()
    const { query, ofKey } = filter
    // Rates and times are only counted by method; for a key there is hourly usage.
    for (const { element } of [calls, times, errors, methods]) element.hidden = ofKey !== undefined
    called.element.hidden = ofKey === undefined
    try {
      const [history, used] = await Promise.all([
        ask<CallHistory>(`api/history?${query}`),
        ofKey === undefined ? undefined : ask<Usage>(`api/usage?${ofKey}`),
      ])
      // Another choice may have been made meanwhile, or another view opened.
      if (isClosed || query !== filter.query) return
      drawCalls(calls, times, filter.isOfAll, history)
      const byCode = history.errors.map(({ code, perSecond }) => [code, perSecond] as const)
      drawLines(errors, history, byCode)
      const byKey = history.keys.map(
        (key) => [key.name ?? key.id ?? 'all others', key.unitsPerSecond] as const,
      )
      drawLines(units, history, byKey)
      methods.show(history.methods)
      called.show(used?.rows ?? [])
      filter.offer(
        history.methods.map((row) => row.method),
        history.keys,
      )
    } catch {
      // The live stream reports the reason.
    }
  }
  const stop = live.listen(({ state }) => {
    if (state === undefined) return
    filter.offer([], state.topKeys)
    keys.show(state.topKeys)
    refusals.show(state.rejections)
    if (performance.now() - askedMs > historyMs) void read()
  })
  return {
    element: make(
      'div',
      { class: 'stack' },
      filter.element,
      make('div', { class: 'pair' }, calls.element, times.element, errors.element, units.element),
      methods.element,
      called.element,
      make('div', { class: 'pair' }, keys.element, refusals.element),
    ),
    close() {
      isClosed = true
      stop()
      for (const chart of [calls, times, errors, units]) chart.close()
    },
  }
}

const hourMs = 3_600_000

/** The selection: a time, a method, a key. */
class Filter {
  readonly #span = choice(['hour', 'day'])
  readonly #method = choice([''])
  readonly #key = choice([''])
  readonly #methods = new Set<string>()
  /** Key id → its label. */
  readonly #keys = new Map<string, string>()
  readonly #changed: () => void
  readonly element = make(
    'div',
    { class: 'row card' },
    labelled('Time', this.#span),
    labelled('Method', this.#method),
    labelled('Key', this.#key),
  )

  constructor(changed: () => void) {
    this.#changed = changed
    for (const input of [this.#span, this.#method, this.#key]) input.addEventListener('change', changed)
  }

  get isOfAll(): boolean {
    return this.#method.value === ''
  }

  /** Query for the history. */
  get query(): string {
    return new URLSearchParams({ span: this.#span.value, ...this.#named }).toString()
  }

  /** Query for the usage of the chosen key, in the hours that the time touches. */
  get ofKey(): string | undefined {
    if (this.#key.value === '') return undefined
    const from = new Date(Date.now() - (this.#span.value === 'day' ? 24 : 1) * hourMs).toISOString()
    return new URLSearchParams({ ...this.#named, by: 'method', from }).toString()
  }

  get #named(): Readonly<Record<string, string>> {
    const method = this.#method.value
    const key = this.#key.value
    return { ...(method && { method }), ...(key && { key }) }
  }

  chooseKey(id: string): void {
    this.#key.value = id
    this.#changed()
    this.#key.focus()
  }

  offer(methods: readonly string[], keys: readonly Pick<CallHistory['keys'][number], 'id' | 'name'>[]): void {
    for (const method of methods) this.#methods.add(method)
    for (const { id, name } of keys) {
      if (id !== null) this.#keys.set(id, name === null ? id : `${name} (${id})`)
    }
    offer(this.#method, ['', ...[...this.#methods].sort()])
    offer(this.#key, ['', ...this.#keys.keys()], (id) => this.#keys.get(id) ?? (id || 'all'))
  }
}

function drawCalls(calls: Chart, times: Chart, isOfAll: boolean, history: CallHistory): void {
  const at = history.at.map(secondsOf)
  const inMs = (values: readonly (number | null)[]) => values.map((value) => value && value * 1_000)
  calls.show(at, [
    { label: 'calls', color: '--accent', values: history.callsPerSecond },
    { label: 'errors', color: '--bad', values: history.errorsPerSecond },
    ...(isOfAll
      ? [{ label: 'refused requests', color: '--second', values: history.rejectionsPerSecond }]
      : []),
  ])
  times.show(at, [
    { label: 'p50', color: '--accent', values: inMs(history.p50Seconds) },
    { label: 'p99', color: '--second', values: inMs(history.p99Seconds) },
  ])
}

function drawLines(
  chart: Chart,
  { at }: CallHistory,
  lines: readonly (readonly [label: string, values: readonly number[]])[],
): void {
  chart.show(
    at.map(secondsOf),
    lines.map(([label, values], index) => ({ label, color: lineColors[index] ?? '--faint', values })),
  )
}

function secondsOf(time: string): number {
  return Date.parse(time) / 1_000
}

function methodTable() {
  return new LiveTable<CallHistory['methods'][number]>(
    'Methods',
    [
      { title: 'Method', of: ({ method }) => method },
      figures('Calls/s', ({ callsPerSecond }) => formatRate(callsPerSecond)),
      failures('Errors/s', ({ errorsPerSecond }) => errorsPerSecond, formatRate),
      figures('p50', ({ p50Seconds }) => formatSeconds(p50Seconds)),
      figures('p99', ({ p99Seconds }) => formatSeconds(p99Seconds)),
    ],
    'No method was called in this time.',
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
    [
      { title: 'Key', of: ({ id }) => opener(id, () => choose(id)) },
      { title: 'Name', of: ({ name }) => name ?? '–' },
      ...spentColumns,
    ],
    'None.',
  )
}

/** Counts of events, named by the column `name`. */
function tallies<R extends { readonly perSecond: number; readonly total: number }>(
  title: string,
  name: Column<R>,
): LiveTable<R> {
  const counts = [
    figures<R>('A second', ({ perSecond }) => formatRate(perSecond)),
    figures<R>('Since the start', ({ total }) => total.toLocaleString('en')),
  ]
  return new LiveTable(title, [name, ...counts], 'None since the start.')
}
