/** Who asks what? Rates, times and errors over an hour or a day, of all methods or of one; keys; what was refused. */
import type { CallHistory, LiveState } from '../shapes.js'
import { ask } from './api.js'
import { Chart, type Line, lineColors } from './charts.js'
import { labelled, make, offer } from './dom.js'
import { formatBytes, formatCount, formatMs, formatRate, formatSeconds } from './format.js'
import { historyMs, type LiveSource } from './live.js'
import { type Column, figures, LiveTable } from './table.js'
import type { View } from './view.js'

export function traffic(live: LiveSource): View {
  const span = choice(['hour', 'day'])
  const method = choice([''])
  const calls = new Chart('Calls a second', formatRate, 'No call came in this time.')
  const times = new Chart('Time of calls', formatMs, 'No call was timed in this time.')
  const errors = new Chart(
    'Errors a second by code, of all methods',
    formatRate,
    'No call failed in this time.',
  )
  const units = new Chart('Units a second by key', formatCount, 'No key spent units in this time.')
  const methods = methodTable()
  const keys = keyTable()
  const refusals = tallies<LiveState['rejections'][number]>('Refused requests by reason', {
    title: 'Reason',
    of: ({ reason }) => reason,
  })
  let askedMs = Number.NEGATIVE_INFINITY
  let isClosed = false

  const read = async () => {
    askedMs = performance.now()
    const asked = [span.value, method.value].join()
    const query = new URLSearchParams({ span: span.value, ...(method.value && { method: method.value }) })
    try {
      const history = await ask<CallHistory>(`api/history?${query}`)
      // Meanwhile something else may have been chosen, or another view.
      if (isClosed || asked !== [span.value, method.value].join()) return
      drawCalls(calls, times, method.value, history)
      drawLines(
        errors,
        history,
        history.errors.map(({ code, perSecond }) => [code, perSecond]),
      )
      drawLines(
        units,
        history,
        history.keys.map((key) => [key.name ?? key.id ?? 'all others', key.unitsPerSecond]),
      )
      methods.show(history.methods)
      offer(method, ['', ...history.methods.map((row) => row.method).sort()])
    } catch {
      // The live stream tells why nothing can be read.
    }
  }
  for (const input of [span, method]) input.addEventListener('change', () => void read())
  const stop = live.listen(({ state }) => {
    if (state === undefined) return
    keys.show(state.topKeys)
    refusals.show(state.rejections)
    if (performance.now() - askedMs > historyMs) void read()
  })
  return {
    element: make(
      'div',
      { class: 'stack' },
      make('div', { class: 'row card' }, labelled('Time', span), labelled('Method', method)),
      make('div', { class: 'pair' }, calls.element, times.element, errors.element, units.element),
      methods.element,
      make('div', { class: 'pair' }, keys.element, refusals.element),
    ),
    close() {
      isClosed = true
      stop()
      for (const chart of [calls, times, errors, units]) chart.close()
    },
  }
}

function choice(values: readonly string[]): HTMLSelectElement {
  const select = make('select')
  offer(select, values)
  return select
}

function drawCalls(calls: Chart, times: Chart, method: string, history: CallHistory): void {
  const at = history.at.map(secondsOf)
  const line = (label: string, color: string, values: readonly (number | null)[]): Line => ({
    label,
    color,
    values,
  })
  const inMs = (values: readonly (number | null)[]) => values.map((value) => value && value * 1_000)
  calls.show(at, [
    line('calls', '--accent', history.callsPerSecond),
    line('errors', '--bad', history.errorsPerSecond),
    ...(method === '' ? [line('refused requests', '--second', history.rejectionsPerSecond)] : []),
  ])
  times.show(at, [
    line('p50', '--accent', inMs(history.p50Seconds)),
    line('p99', '--second', inMs(history.p99Seconds)),
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
      figures(
        'Errors/s',
        ({ errorsPerSecond }) => formatRate(errorsPerSecond),
        ({ errorsPerSecond }) => (errorsPerSecond > 0 ? 'bad' : undefined),
      ),
      figures('p50', ({ p50Seconds }) => formatSeconds(p50Seconds)),
      figures('p99', ({ p99Seconds }) => formatSeconds(p99Seconds)),
    ],
    'No method was called in this time.',
  )
}

function keyTable() {
  return new LiveTable<LiveState['topKeys'][number]>(
    'Keys that spent most in the last minute',
    [
      { title: 'Key', of: ({ id }) => id },
      { title: 'Name', of: ({ name }) => name ?? '–' },
      figures('Units', ({ units }) => formatCount(units)),
      figures('Calls', ({ calls }) => formatCount(calls)),
      figures(
        'Errors',
        ({ errors }) => formatCount(errors),
        ({ errors }) => (errors > 0 ? 'bad' : undefined),
      ),
      figures('Results', ({ bytes }) => formatBytes(bytes)),
    ],
    'None.',
  )
}

/** How often what `name` names happened. */
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
