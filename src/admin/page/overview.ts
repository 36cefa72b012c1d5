/** The view of what happens at the moment: networks, rates, queues, caches, threads. */
import type { LiveState } from '../shapes.js'
import { Chart } from './charts.js'
import { make, setText } from './dom.js'
import { formatAge, formatBytes, formatCount, formatMs, formatRate, formatShare } from './format.js'
import type { LiveSource } from './live.js'
import { LiveTable } from './table.js'
import type { View } from './view.js'

type Network = LiveState['networks'][number]

export function overview(live: LiveSource): View {
  const tiles = new Tiles()
  const failing = make('ul', { class: 'failing', 'aria-label': 'Failing checks' })
  const charts = [
    new Chart(
      'Calls a second',
      [
        { label: 'calls', color: '--accent', of: ({ calls }) => calls },
        { label: 'errors', color: '--bad', of: ({ errors }) => errors },
        { label: 'refused requests', color: '--second', of: ({ rejections }) => rejections },
      ],
      formatRate,
    ),
    new Chart(
      'Time of timed calls',
      [
        { label: 'p50', color: '--accent', of: ({ p50 }) => p50 },
        { label: 'p99', color: '--second', of: ({ p99 }) => p99 },
      ],
      formatMs,
    ),
  ]
  const networks = networkTable()
  const upstreams = upstreamTable()
  const queues = queueTable()
  const caches = cacheTable()
  const edges = edgeTable()
  const stop = live.listen(({ state, moments }) => {
    for (const chart of charts) chart.show(moments)
    if (state === undefined) return
    tiles.show(state)
    failing.replaceChildren(
      ...state.failing.map(({ check, network, why }) =>
        make('li', {}, `${check}${network === null ? '' : ` of ${network}`}: ${why}`),
      ),
    )
    failing.hidden = state.failing.length === 0
    networks.show(state.networks)
    const nodes = state.networks.flatMap(({ name, chain }) =>
      (chain?.upstreams ?? []).map((node) => ({ network: name, node })),
    )
    upstreams.show(nodes)
    upstreams.element.hidden = nodes.length === 0
    queues.show(state.queues)
    caches.show(state.caches)
    edges.show(state.edges)
  })
  const [calls, times] = charts as [Chart, Chart]
  return {
    element: make(
      'div',
      { class: 'stack' },
      failing,
      tiles.element,
      networks.element,
      upstreams.element,
      make('div', { class: 'pair' }, calls.element, times.element),
      make('div', { class: 'pair' }, queues.element, caches.element),
      edges.element,
    ),
    close() {
      stop()
      for (const chart of charts) chart.close()
    },
  }
}

/** Single figures, the first things to look at. */
class Tiles {
  readonly element = make('dl', { class: 'tiles' })
  readonly #values = new Map<string, HTMLElement>()

  show(state: LiveState): void {
    const { connections, queues } = state
    this.#set('Calls a second', formatRate(state.callsPerSecond))
    this.#set('Errors a second', formatRate(state.errorsPerSecond))
    this.#set('p50', formatMs(inMs(state.p50Seconds)))
    this.#set('p99', formatMs(inMs(state.p99Seconds)))
    this.#set('Jobs waiting', formatCount(queues.reduce((sum, { waiting }) => sum + waiting, 0)))
    this.#set('HTTP connections', formatCount(connections.http))
    this.#set('WebSockets', formatCount(connections.webSockets))
    this.#set('Subscriptions', formatCount(connections.subscriptions))
    this.#set('Skipped events', formatCount(connections.skippedEvents))
    if (state.sharedKeys !== null) this.#set('Shared keys', keysStateOf(state.sharedKeys))
    this.#set('Up for', formatAge(state.uptimeSeconds * 1_000))
  }

  #set(name: string, value: string): void {
    let shown = this.#values.get(name)
    if (shown === undefined) {
      shown = make('dd')
      this.#values.set(name, shown)
      this.element.append(make('div', {}, make('dt', {}, name), shown))
    }
    setText(shown, value)
  }
}

function keysStateOf({ isAnswering, isAccepting, ageSeconds }: NonNullable<LiveState['sharedKeys']>): string {
  if (isAnswering) return 'current'
  return isAccepting ? `${formatAge(ageSeconds * 1_000)} old` : 'none accepted'
}

function networkTable() {
  return new LiveTable<Network>(
    'Networks',
    [
      { title: 'Network', of: ({ name, isDefault }) => (isDefault ? `${name} (default)` : name) },
      { title: 'Kind', of: ({ kind }) => kind },
      { title: 'Head', of: ({ chain }) => formatCount(chain?.head.number), isFigure: true },
      {
        title: 'Age of the head',
        of: ({ chain }) => (chain === null ? '–' : formatAge(chain.head.ageSeconds * 1_000)),
        isFigure: true,
      },
      {
        title: 'State',
        of: stateOf,
        mark: (network) => (stateOf(network).startsWith('ok') ? 'good' : 'bad'),
      },
    ],
    'None is served.',
  )
}

function stateOf({ chain, queue }: Network): string {
  if (queue !== null) {
    if (!queue.isStoring) return 'submissions cannot be stored'
    return queue.waiting === 0
      ? 'ok'
      : `ok, ${formatCount(queue.waiting)} waiting, the oldest ${formatAge(queue.oldestSeconds * 1_000)}`
  }
  if (chain?.isReadable === false) return 'the newest block cannot be read'
  if (chain?.isCutOff === true) return 'cut off from its source'
  return chain?.isSyncing === true ? 'taking in blocks' : 'ok'
}

function upstreamTable() {
  type Node = NonNullable<Network['chain']>['upstreams'][number]
  return new LiveTable<{ readonly network: string; readonly node: Node }>(
    'Upstream nodes',
    [
      { title: 'Network', of: ({ network }) => network },
      { title: 'Node', of: ({ node }) => node.name },
      { title: 'Its head', of: ({ node }) => formatCount(node.head ?? undefined), isFigure: true },
      {
        title: 'State',
        of: ({ node }) => node.trouble ?? 'ok',
        mark: ({ node }) => (node.trouble ? 'bad' : 'good'),
      },
    ],
    'None is asked.',
  )
}

function queueTable() {
  return new LiveTable<LiveState['queues'][number]>(
    'Queues of the pool',
    [
      { title: 'Class', of: (row) => row.class },
      { title: 'Waiting', of: ({ waiting }) => formatCount(waiting), isFigure: true },
      { title: 'Running', of: ({ running }) => formatCount(running), isFigure: true },
      { title: 'Finished', of: ({ finished }) => formatCount(finished), isFigure: true },
      { title: 'Failed', of: ({ failed }) => formatCount(failed), isFigure: true },
      {
        title: 'Refused',
        of: ({ refused }) => formatCount(refused),
        isFigure: true,
        mark: ({ refused }) => (refused > 0 ? 'bad' : undefined),
      },
    ],
    'There is no pool.',
  )
}

function cacheTable() {
  return new LiveTable<LiveState['caches'][number]>(
    'Caches',
    [
      { title: 'Cache', of: ({ cache }) => cache },
      { title: 'In use', of: ({ bytes }) => formatBytes(bytes), isFigure: true },
      { title: 'Hits', of: ({ hits }) => formatCount(hits), isFigure: true },
      { title: 'Misses', of: ({ misses }) => formatCount(misses), isFigure: true },
      { title: 'Hit share', of: ({ hits, misses }) => formatShare(hits, hits + misses), isFigure: true },
    ],
    'There are none.',
  )
}

function edgeTable() {
  return new LiveTable<LiveState['edges'][number]>(
    'Threads that listen',
    [
      { title: 'Edge', of: ({ edge }) => String(edge) },
      { title: 'CPU', of: ({ cpuShare }) => formatShare(cpuShare, 1), isFigure: true },
      { title: 'Heap', of: ({ heapBytes }) => formatBytes(heapBytes), isFigure: true },
      {
        title: 'Delay of its loop (p99)',
        of: ({ loopDelayP99Seconds }) => formatMs(inMs(loopDelayP99Seconds)),
        isFigure: true,
      },
    ],
    'There are none.',
  )
}

function inMs(seconds: number | null): number | undefined {
  return seconds === null ? undefined : seconds * 1_000
}
