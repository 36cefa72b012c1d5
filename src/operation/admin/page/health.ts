/** Is it well? Failing checks first; then each network in a row, with its head and source; the machine last. */
import type { CallHistory, LiveState } from '../shapes.js'
import { sparkline } from './charts.js'
import { type Child, make, setText } from './dom.js'
import { formatAge, formatBytes, formatCount, formatRate, formatSeconds, formatShare } from './format.js'
import type { LiveSource } from './live.js'
import { failures, figures, LiveTable } from './table.js'
import type { View } from './view.js'

type Network = LiveState['networks'][number]
type Row = Network & { readonly ages: readonly (number | null)[] }

export function health(live: LiveSource): View {
  const verdict = make('p', { role: 'status', class: 'verdict' })
  const failing = make('ul', { class: 'failing', 'aria-label': 'Failing checks' })
  const summary = make('p', { class: 'note' })
  const networks = networkTable()
  const queues = queueTable()
  const caches = cacheTable()
  const edges = edgeTable()
  const close = live.listen(({ state, history }) => {
    if (state === undefined) return
    const wrong = state.networks.filter((network) => !stateOf(network).startsWith('ok'))
    const isWell = state.failing.length === 0 && wrong.length === 0
    setText(verdict, isWell ? 'All is well.' : sentenceOf(state, wrong))
    verdict.className = `verdict ${isWell ? 'good' : 'bad'}`
    failing.replaceChildren(
      ...state.failing.map(({ check, network, why }) =>
        make('li', {}, `${check}${network === null ? '' : ` of ${network}`}: ${why}`),
      ),
    )
    failing.hidden = state.failing.length === 0
    setText(summary, summaryOf(state))
    networks.show(state.networks.map((network) => ({ ...network, ages: agesOf(history, network.name) })))
    queues.show(state.queues)
    caches.show(state.caches)
    edges.show(state.edges)
  })
  return {
    element: make(
      'div',
      { class: 'stack' },
      make('section', { class: 'card' }, verdict, failing, summary),
      networks.element,
      make(
        'details',
        { class: 'card' },
        make('summary', {}, 'The machine: threads, queues, caches'),
        make('div', { class: 'pair' }, edges.element, caches.element),
        queues.element,
      ),
    ),
    close,
  }
}

function sentenceOf({ failing }: LiveState, wrong: readonly Network[]): string {
  const names = wrong.map((network) => `${network.name}: ${stateOf(network)}`)
  return failing.length > 0 ? 'Not ready.' : `Look at ${names.join('; ')}.`
}

function summaryOf(state: LiveState): string {
  const { connections, queues, sharedKeys } = state
  const waiting = queues.reduce((sum, row) => sum + row.waiting, 0)
  return [
    `${formatRate(state.callsPerSecond)} calls a second, ${formatRate(state.errorsPerSecond)} errors`,
    `p50 ${formatSeconds(state.p50Seconds)}, p99 ${formatSeconds(state.p99Seconds)}`,
    `${formatCount(waiting)} jobs waiting`,
    `${formatCount(connections.http)} HTTP connections, ${formatCount(connections.webSockets)} WebSockets, ${formatCount(connections.subscriptions)} subscriptions`,
    ...(connections.skippedEvents > 0 ? [`${formatCount(connections.skippedEvents)} events skipped`] : []),
    ...(sharedKeys === null ? [] : [`shared keys ${keysStateOf(sharedKeys)}`]),
    `${formatBytes(state.diskFreeBytes)} of disk left`,
    `up for ${formatAge(state.uptimeSeconds * 1_000)}`,
  ].join(' · ')
}

function keysStateOf({ isAnswering, isAccepting, ageSeconds }: NonNullable<LiveState['sharedKeys']>): string {
  if (isAnswering) return 'current'
  return isAccepting ? `${formatAge(ageSeconds * 1_000)} old` : 'none accepted'
}

function agesOf(history: CallHistory | undefined, name: string): readonly (number | null)[] {
  return history?.ages.find(({ network }) => network === name)?.seconds ?? []
}

function networkTable() {
  return new LiveTable<Row>(
    'Networks',
    [
      { title: 'Network', of: ({ name, isDefault }) => (isDefault ? `${name} (default)` : name) },
      {
        title: 'State',
        of: (network) => stateOf(network),
        mark: (network) => (stateOf(network).startsWith('ok') ? 'good' : 'bad'),
      },
      figures('Head', ({ chain }) => formatCount(chain?.head.number)),
      figures('Its age', ({ chain }) => (chain === null ? '–' : formatAge(chain.head.ageSeconds * 1_000))),
      {
        title: 'Age over the hour',
        of: ({ chain, ages }) => (chain === null ? '–' : sparkline([...ages, chain.head.ageSeconds])),
      },
      { title: 'Source', of: (network) => sourceOf(network) },
      { title: 'Known by', of: ({ chain }) => basisText(chain?.basis ?? {}) },
      { title: 'Upstreams', of: ({ chain }) => dotsOf(chain?.upstreams ?? []) },
      { title: 'Held state', of: ({ chain }) => heldOf(chain?.workingSet ?? null) },
      { title: 'Signed by validators', of: ({ chain }) => signedOf(chain?.signed ?? null) },
      figures('On disk', ({ storeBytes }) => (storeBytes === 0 ? '–' : formatBytes(storeBytes))),
    ],
    'None is served.',
  )
}

const sources = {
  file: 'a file',
  replay: 'a replay',
  follow: 'nodes',
  feed: 'a feed',
  develop: 'makes its own blocks',
  consensus: 'takes the blocks of a consensus client',
  gateway: 'a gateway to nodes',
  none: 'no new blocks',
} as const

function sourceOf({ kind, source, chain }: Network): string {
  if (kind === 'rollup') return 'submissions'
  return chain?.purpose === 'demo' ? 'demo, makes its own blocks' : sources[source]
}

/** For example `headers, state proved; calls reported`. */
function basisText(basis: NonNullable<Network['chain']>['basis']): string {
  const parts = Object.entries(basis)
  const ways = [...new Set(parts.map(([, way]) => way))]
  if (ways.length < 2) return ways[0] ?? '–'
  const partsOf = (way: string) => parts.flatMap(([part, each]) => (each === way ? [part] : [])).join(', ')
  return ways.map((way) => `${partsOf(way)} ${way}`).join('; ')
}

/** A dot for each node, with its mean answer time. */
function dotsOf(nodes: NonNullable<Network['chain']>['upstreams']): Child {
  if (nodes.length === 0) return '–'
  return make(
    'ul',
    { class: 'dots' },
    ...nodes.map(({ name, head, trouble, meanSeconds, answered, failed }) =>
      make(
        'li',
        {
          class: trouble === null ? 'good' : 'bad',
          title: `${name}: head ${formatCount(head ?? undefined)}`,
        },
        `${name} ${trouble ?? formatSeconds(meanSeconds)}`,
        failed > 0 && `, ${formatShare(failed, answered + failed)} failed`,
      ),
    ),
  )
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
  if (queue !== null) return queue.isStoring ? 'ok' : 'submissions cannot be stored'
  if (chain?.isReadable === false) return 'the newest block cannot be read'
  if (chain?.isCutOff === true) return 'cut off from its source'
  if (chain?.isSyncing === true) return 'taking in blocks'
  const logs = chain?.logs?.missing ?? 0
  return logs === 0 ? 'ok' : `ok, logs of ${formatCount(logs)} blocks to come`
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
      failures('Refused', ({ refused }) => refused),
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
      figures('Loop delay (p99)', ({ loopDelayP99Seconds }) => formatSeconds(loopDelayP99Seconds)),
    ],
    'There are none.',
  )
}
