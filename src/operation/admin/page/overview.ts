/** The view of what happens at the moment: networks, rates, queues, caches, threads. */
import type { CallHistory, LiveState } from '../shapes.js'
import { Chart, type Line } from './charts.js'
import { make, setText } from './dom.js'
import { formatAge, formatBytes, formatCount, formatMs, formatRate, formatShare } from './format.js'
import { lastBlocks } from './lastBlocks.js'
import type { LiveSource } from './live.js'
import { figures, LiveTable } from './table.js'
import type { View } from './view.js'

type Network = LiveState['networks'][number]

export function overview(live: LiveSource): View {
  const tiles = new Tiles()
  const failing = make('ul', { class: 'failing', 'aria-label': 'Failing checks' })
  const calls = new Chart('Calls a second', formatRate, 'No call came in this hour.')
  const times = new Chart('Time of calls', formatMs, 'No call was timed in this hour.')
  const blocks = lastBlocks()
  const networks = networkTable()
  const upstreams = upstreamTable()
  const queues = queueTable()
  const caches = cacheTable()
  const edges = edgeTable()
  const stop = live.listen(({ state, history }) => {
    if (state === undefined) return
    drawCalls(calls, times, state, history)
    blocks.show(state)
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
  return {
    element: make(
      'div',
      { class: 'stack' },
      failing,
      tiles.element,
      make('div', { class: 'pair' }, calls.element, times.element),
      networks.element,
      upstreams.element,
      blocks.element,
      make('div', { class: 'pair' }, queues.element, caches.element),
      edges.element,
    ),
    close() {
      stop()
      calls.close()
      times.close()
    },
  }
}

/** The last hour, and what is now at its end. */
function drawCalls(calls: Chart, times: Chart, state: LiveState, history: CallHistory | undefined): void {
  type Series = Exclude<keyof CallHistory, 'at' | 'keys'>
  const at = [...(history?.at ?? []), state.at].map((time) => Date.parse(time) / 1_000)
  const line = (label: string, color: string, past: Series, now: number | null, factor = 1): Line => {
    const values = [...(history?.[past] ?? []), now]
    return { label, color, values: values.map((value) => value && value * factor) }
  }
  calls.show(at, [
    line('calls', '--accent', 'callsPerSecond', state.callsPerSecond),
    line('errors', '--bad', 'errorsPerSecond', state.errorsPerSecond),
    line('refused requests', '--second', 'rejectionsPerSecond', state.rejectionsPerSecond),
  ])
  times.show(at, [
    line('p50', '--accent', 'p50Seconds', state.p50Seconds, 1_000),
    line('p99', '--second', 'p99Seconds', state.p99Seconds, 1_000),
  ])
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
      { title: 'Kind', of: kindOf },
      figures('Head', ({ chain }) => formatCount(chain?.head.number)),
      figures('Age of the head', ({ chain }) =>
        chain === null ? '–' : formatAge(chain.head.ageSeconds * 1_000),
      ),
      { title: 'Held state', of: ({ chain }) => heldOf(chain?.workingSet ?? null) },
      { title: 'Signed by validators', of: ({ chain }) => signedOf(chain?.signed ?? null) },
      {
        title: 'State',
        of: stateOf,
        mark: (network) => (stateOf(network).startsWith('ok') ? 'good' : 'bad'),
      },
    ],
    'None is served.',
  )
}

function kindOf({ kind, chain }: Network): string {
  if (chain === null || chain.purpose === null) return kind
  return chain.purpose === 'demo' ? 'demo, makes its own blocks' : 'developer chain'
}

const wayNames = { accessList: 'by access lists', witness: 'by witnesses', proofs: 'by proofs' } as const

function heldOf(set: NonNullable<Network['chain']>['workingSet']): string {
  if (set === null) return '–'
  const way = set.way === null ? 'no head yet' : `current ${wayNames[set.way]}`
  return `${way}, ${formatBytes(set.bytes)}`
}

function signedOf(signed: NonNullable<Network['chain']>['signed']): string {
  if (signed === null) return '–'
  const age = formatAge(signed.ageSeconds * 1_000)
  return `slot ${formatCount(signed.slot)} by ${Math.round(signed.participation * 100)} %, ${age} ago`
}

function stateOf({ opening, chain, queue }: Network): string {
  if (opening !== null) return `no block yet: ${opening}`
  if (queue !== null) {
    if (!queue.isStoring) return 'submissions cannot be stored'
    return queue.waiting === 0
      ? 'ok'
      : `ok, ${formatCount(queue.waiting)} waiting, the oldest ${formatAge(queue.oldestSeconds * 1_000)}`
  }
  if (chain?.isReadable === false) return 'the newest block cannot be read'
  if (chain?.isCutOff === true) return 'cut off from its source'
  if (chain?.isSyncing === true) return 'taking in blocks'
  const logs = chain?.logs?.missing ?? 0
  return logs === 0 ? 'ok' : `ok, logs of ${formatCount(logs)} blocks to come`
}

function upstreamTable() {
  type Node = NonNullable<Network['chain']>['upstreams'][number]
  return new LiveTable<{ readonly network: string; readonly node: Node }>(
    'Upstream nodes',
    [
      { title: 'Network', of: ({ network }) => network },
      { title: 'Node', of: ({ node }) => node.name },
      figures('Its head', ({ node }) => formatCount(node.head ?? undefined)),
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
      figures('Waiting', ({ waiting }) => formatCount(waiting)),
      figures('Running', ({ running }) => formatCount(running)),
      figures('Finished', ({ finished }) => formatCount(finished)),
      figures('Failed', ({ failed }) => formatCount(failed)),
      figures(
        'Refused',
        ({ refused }) => formatCount(refused),
        ({ refused }) => (refused > 0 ? 'bad' : undefined),
      ),
    ],
    'There is no pool.',
  )
}

function cacheTable() {
  return new LiveTable<LiveState['caches'][number]>(
    'Caches',
    [
      { title: 'Cache', of: ({ cache }) => cache },
      figures('In use', ({ bytes }) => formatBytes(bytes)),
      figures('Hits', ({ hits }) => formatCount(hits)),
      figures('Misses', ({ misses }) => formatCount(misses)),
      figures('Hit share', ({ hits, misses }) => formatShare(hits, hits + misses)),
    ],
    'There are none.',
  )
}

function edgeTable() {
  return new LiveTable<LiveState['edges'][number]>(
    'Threads that listen',
    [
      { title: 'Edge', of: ({ edge }) => String(edge) },
      figures('CPU', ({ cpuShare }) => formatShare(cpuShare, 1)),
      figures('Heap', ({ heapBytes }) => formatBytes(heapBytes)),
      figures('Delay of its loop (p99)', ({ loopDelayP99Seconds }) => formatMs(inMs(loopDelayP99Seconds))),
    ],
    'There are none.',
  )
}

function inMs(seconds: number | null): number | undefined {
  return seconds === null ? undefined : seconds * 1_000
}
