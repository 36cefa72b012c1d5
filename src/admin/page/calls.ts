/** The view of calls: by method, by error, the slow ones. */
import type { LiveState } from '../shapes.js'
import { make } from './dom.js'
import { formatBytes, formatMs, formatRate, formatShare, formatTime } from './format.js'
import type { LiveSource } from './live.js'
import { LiveTable } from './table.js'
import type { View } from './view.js'

export function calls(live: LiveSource): View {
  const methods = new LiveTable<LiveState['methods'][number]>(
    'Methods',
    [
      { title: 'Method', of: ({ method }) => method },
      { title: 'Calls/s', of: ({ callsPerSecond }) => formatRate(callsPerSecond), isFigure: true },
      {
        title: 'Errors/s',
        of: ({ errorsPerSecond }) => formatRate(errorsPerSecond),
        isFigure: true,
        mark: ({ errorsPerSecond }) => (errorsPerSecond > 0 ? 'bad' : undefined),
      },
      { title: 'p50', of: ({ p50Seconds }) => formatSeconds(p50Seconds), isFigure: true },
      { title: 'p99', of: ({ p99Seconds }) => formatSeconds(p99Seconds), isFigure: true },
      {
        title: 'From stored answers',
        of: ({ repeatedPerSecond, callsPerSecond }) => formatShare(repeatedPerSecond, callsPerSecond),
        isFigure: true,
      },
      {
        title: 'Results/s',
        of: ({ resultBytesPerSecond }) => formatBytes(resultBytesPerSecond),
        isFigure: true,
      },
    ],
    'No method was called in the last seconds.',
  )
  const errors = new LiveTable<LiveState['errors'][number]>(
    'Errors by code',
    [
      { title: 'Code', of: ({ code }) => code },
      { title: 'A second', of: ({ perSecond }) => formatRate(perSecond), isFigure: true },
      { title: 'Since the start', of: ({ total }) => total.toLocaleString('en'), isFigure: true },
    ],
    'None since the start.',
  )
  const rejections = new LiveTable<LiveState['rejections'][number]>(
    'Refused requests by reason',
    [
      { title: 'Reason', of: ({ reason }) => reason },
      { title: 'A second', of: ({ perSecond }) => formatRate(perSecond), isFigure: true },
      { title: 'Since the start', of: ({ total }) => total.toLocaleString('en'), isFigure: true },
    ],
    'None since the start.',
  )
  const slow = new LiveTable<LiveState['slowCalls'][number]>(
    'Slow calls',
    [
      { title: 'When (UTC)', of: ({ at }) => formatTime(Date.parse(at)) },
      { title: 'Method', of: ({ method }) => method },
      { title: 'Network', of: ({ network }) => network },
      { title: 'Key', of: ({ keyId }) => keyId },
      { title: 'Time', of: ({ seconds }) => formatMs(seconds * 1_000), isFigure: true },
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

function formatSeconds(seconds: number | null): string {
  return formatMs(seconds === null ? undefined : seconds * 1_000)
}
