/** The view of calls: by method, by error, the slow ones. */
import type { LiveState } from '../shapes.js'
import { make } from './dom.js'
import { formatBytes, formatMs, formatRate, formatShare, formatTime } from './format.js'
import type { LiveSource } from './live.js'
import { type Column, figures, LiveTable } from './table.js'
import type { View } from './view.js'

export function calls(live: LiveSource): View {
  const methods = new LiveTable<LiveState['methods'][number]>(
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
      figures('From stored answers', ({ repeatedPerSecond, callsPerSecond }) =>
        formatShare(repeatedPerSecond, callsPerSecond),
      ),
      figures('Results/s', ({ resultBytesPerSecond }) => formatBytes(resultBytesPerSecond)),
    ],
    'No method was called in the last seconds.',
  )
  const errors = tallies<LiveState['errors'][number]>('Errors by code', {
    title: 'Code',
    of: ({ code }) => code,
  })
  const rejections = tallies<LiveState['rejections'][number]>('Refused requests by reason', {
    title: 'Reason',
    of: ({ reason }) => reason,
  })
  const slow = new LiveTable<LiveState['slowCalls'][number]>(
    'Slow calls',
    [
      { title: 'When (UTC)', of: ({ at }) => formatTime(Date.parse(at)) },
      { title: 'Method', of: ({ method }) => method },
      { title: 'Network', of: ({ network }) => network },
      { title: 'Key', of: ({ keyId }) => keyId },
      figures('Time', ({ seconds }) => formatMs(seconds * 1_000)),
      {
        title: 'Ended',
        of: ({ isError }) => (isError ? 'error' : 'result'),
        mark: ({ isError }) => (isError ? 'bad' : undefined),
      },
    ],
    'None of late.',
  )
  const window = make('p', { class: 'note' })
  const close = live.listen(({ state }) => {
    if (state === undefined) return
    window.textContent = `Rates and times of methods are of the last ${Math.round(state.windowSeconds)} s.`
    methods.show(state.methods)
    errors.show(state.errors)
    rejections.show(state.rejections)
    slow.show(state.slowCalls)
  })
  return {
    element: make(
      'div',
      { class: 'stack' },
      window,
      methods.element,
      make('div', { class: 'pair' }, errors.element, rejections.element),
      slow.element,
    ),
    close,
  }
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

function formatSeconds(seconds: number | null): string {
  return formatMs(seconds === null ? undefined : seconds * 1_000)
}
