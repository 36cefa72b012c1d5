/** Calls that took long or failed, each with its key, network, block, error and parameters. */
import type { LiveState } from '../shapes.js'
import { opener } from './dom.js'
import { formatMs, formatTime, keyLabel } from './format.js'
import { figures, LiveTable } from './table.js'

type NotedCall = LiveState['slowCalls'][number]

/** `open` is called with a call whose method is clicked; if absent, methods are only text. */
export function notedTable(
  title: string,
  none: string,
  open?: (call: NotedCall) => void,
): LiveTable<NotedCall> {
  return new LiveTable<NotedCall>(
    title,
    [
      { title: 'When (UTC)', of: ({ at }) => formatTime(Date.parse(at)) },
      {
        title: 'Method',
        of: (call) => (open === undefined ? call.method : opener(call.method, () => open(call))),
      },
      { title: 'Network', of: ({ network }) => network },
      { title: 'Block', of: ({ block }) => cut(block ?? '–', 30) },
      { title: 'Key', of: ({ keyId, keyName }) => keyLabel(keyId, keyName) },
      figures('Time', ({ seconds }) => (seconds === 0 ? '–' : formatMs(seconds * 1_000))),
      {
        title: 'Ended',
        of: ({ error }) => (error === null ? 'result' : cut(error, 120)),
        cellClass: ({ error }) => (error === null ? undefined : 'bad long'),
      },
      { title: 'Request', of: ({ params }) => cut(params, 60), cellClass: () => 'long' },
    ],
    none,
  )
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text
}
