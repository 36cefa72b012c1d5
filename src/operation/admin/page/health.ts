/** The health of each network, with the time since when it is not well. Failing checks first; then each network with its nodes; the machine last. */
import type { CallHistory, LiveState } from '../shapes.js'
import { sparkline } from './charts.js'
import { type Child, make, setText, type View } from './dom.js'
import {
  formatAge,
  formatBytes,
  formatCount,
  formatQuantity,
  formatRate,
  formatSeconds,
  formatShare,
  formatTime,
} from './format.js'
import type { LiveSource } from './live.js'
import { failures, figures, LiveTable } from './table.js'

type Network = LiveState['networks'][number]
type Upstream = NonNullable<Network['chain']>['upstreams'][number]
type Consensus = NonNullable<Network['chain']>['consensus']

/** Class of each level, for its colour. */
export const levelClasses = { ok: 'good', degraded: 'warning', failing: 'bad' } as const

export function health(live: LiveSource): View {
  const verdict = make('p', { role: 'status', class: 'verdict' })
  const failing = make('ul', { class: 'failing', 'aria-label': 'Failing checks' })
  const summary = make('p', { class: 'note' })
  const networks = make('div', { class: 'stack' })
  const cards = new Map<string, NetworkCard>()
  const queues = queueTable()
  const caches = cacheTable()
  const edges = edgeTable()
  const close = live.listen(({ state, history }) => {
    if (state === undefined) return
    const nowMs = Date.parse(state.at)
    const level = levelOf(state)
    setText(verdict, verdictOf(state, level))
    verdict.className = `verdict ${levelClasses[level]}`
    failing.replaceChildren(...state.failing.map((check) => make('li', {}, checkText(check, nowMs))))
    failing.hidden = state.failing.length === 0
    setText(summary, summaryOf(state))
    for (const network of state.networks) {
      const card = cards.get(network.name) ?? new NetworkCard()
      if (!cards.has(network.name)) networks.append(card.element)
      cards.set(network.name, card)
      card.show(network, agesOf(history, network.name), nowMs)
    }
    queues.show(state.queues)
    caches.show(state.caches)
    edges.show(state.edges)
  })
  return {
    element: make(
      'div',
      { class: 'stack' },
      make('section', { class: 'card' }, verdict, failing, summary),
      networks,
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

/** The level of the whole server: the worst of its networks, or failing if a check fails. */
export function levelOf({ failing, networks }: LiveState): Network['condition']['level'] {
  const levels = networks.map(({ condition }) => condition.level)
  if (failing.length > 0 || levels.includes('failing')) return 'failing'
  return levels.includes('degraded') ? 'degraded' : 'ok'
}

function verdictOf({ failing, networks }: LiveState, level: Network['condition']['level']): string {
  if (level === 'ok') return 'Everything works.'
  const names = networks.filter(({ condition }) => condition.level === level).map(({ name }) => name)
  if (names.length === 0) return `Not ready: ${failing.map(({ check }) => check).join(', ')}.`
  return level === 'degraded'
    ? `Everything is answered, but ${names.join(', ')} is degraded.`
    : `${names.join(', ')} is failing.`
}

function checkText({ check, network, why, since }: LiveState['failing'][number], nowMs: number): string {
  const of = network === null ? '' : ` of ${network}`
  return `${check}${of}: ${why}, for ${formatAge(nowMs - Date.parse(since))}`
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

/** A network: its condition, facts about it, and its upstreams. */
class NetworkCard {
  readonly #name = make('h3')
  readonly #condition = make('p', { class: 'condition' })
  readonly #facts = make('dl', { class: 'facts' })
  readonly #upstreams = upstreamTable()
  #nowMs = 0
  readonly element = make('section', { class: 'card network' }, this.#name, this.#condition, this.#facts)

  show(network: Network, ages: readonly (number | null)[], nowMs: number): void {
    const { name, isDefault, chain, condition, storeBytes } = network
    const { level, why, since } = condition
    this.#nowMs = nowMs
    this.element.setAttribute('aria-label', `Network ${name}`)
    setText(this.#name, isDefault ? `${name} (default)` : name)
    setText(
      this.#condition,
      `${level}${why === null ? '' : `: ${why}`}, for ${formatAge(nowMs - Date.parse(since))}`,
    )
    this.#condition.className = `condition ${levelClasses[level]}`
    const facts: readonly (readonly [title: string, text: Child])[] = [
      ['Head', formatCount(chain?.head.number)],
      ['Age of the head', chain === null ? '–' : formatAge(chain.head.ageSeconds * 1_000)],
      ['Its age over the hour', chain === null ? '–' : sparkline([...ages, chain.head.ageSeconds])],
      ['Source', sourceOf(network)],
      ['Verification', basisText(chain?.basis ?? {})],
      ['Logs to come', logsText(chain?.logs ?? null)],
      ['Stored state', storedText(chain?.workingSet ?? null)],
      ['Signed by validators', signedOf(chain?.signed ?? null)],
      ['Consensus client', consensusText(chain?.consensus ?? null, nowMs)],
      ['Gap to its head', gapText(chain?.consensus ?? null)],
      ['On disk', storeBytes === 0 ? '–' : formatBytes(storeBytes)],
    ]
    const shown = facts.filter(([, text]) => text !== '–')
    const lines = shown.map(([title, text]) => make('div', {}, make('dt', {}, title), make('dd', {}, text)))
    const next = make('dl', { class: 'facts' }, ...lines)
    if (!this.#facts.isEqualNode(next)) this.#facts.replaceChildren(...next.childNodes)
    this.#showUpstreams(chain?.upstreams ?? [])
  }

  #showUpstreams(upstreams: readonly Upstream[]): void {
    const { element } = this.#upstreams
    if (upstreams.length === 0) element.remove()
    else if (!element.isConnected) this.element.append(element)
    this.#upstreams.show(upstreams.map((upstream) => ({ ...upstream, nowMs: this.#nowMs })))
  }
}

function upstreamTable() {
  const age = (time: string, nowMs: number) => formatAge(nowMs - Date.parse(time))
  return new LiveTable<Upstream & { readonly nowMs: number }>(
    'Upstreams',
    [
      {
        title: 'Name',
        of: ({ kind, name }) => (kind === 'upstream' ? name : `${kind} ${name}`),
        cellClass: () => 'long',
      },
      {
        title: 'State',
        of: ({ trouble }) => trouble ?? 'answers',
        cellClass: ({ trouble }) => (trouble === null ? 'good' : 'bad'),
      },
      figures('For', ({ since, nowMs }) => age(since, nowMs)),
      figures('Head', ({ kind, head }) => {
        const number = formatCount(head ?? undefined)
        return kind === 'upstream' || head === null ? number : `slot ${number}`
      }),
      figures('Behind', ({ kind, blocksBehind }) =>
        blocksBehind === null ? '–' : formatQuantity(blocksBehind, kind === 'upstream' ? 'block' : 'slot'),
      ),
      figures('Answered', ({ answered, failed }) => formatShare(answered, answered + failed)),
      figures('Mean time', ({ meanSeconds }) => formatSeconds(meanSeconds)),
      {
        title: 'Last error',
        of: ({ lastError, nowMs }) =>
          lastError === null ? '–' : `${lastError.why}, ${age(lastError.at, nowMs)} ago`,
        cellClass: () => 'long',
      },
    ],
    'None.',
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
  const kinds = [...new Set(parts.map(([, kind]) => kind))]
  if (kinds.length < 2) return kinds[0] ?? '–'
  const partsOf = (kind: string) => parts.flatMap(([part, each]) => (each === kind ? [part] : [])).join(', ')
  return kinds.map((kind) => `${partsOf(kind)} ${kind}`).join('; ')
}

const keptBy = { accessList: 'by access lists', witness: 'by witnesses', proofs: 'by proofs' } as const

function storedText(set: NonNullable<Network['chain']>['workingSet']): string {
  if (set === null) return '–'
  const kept = set.way === null ? 'no head yet' : `current ${keptBy[set.way]}`
  return `${kept}, ${formatBytes(set.bytes)}`
}

function signedOf(signed: NonNullable<Network['chain']>['signed']): string {
  if (signed === null) return '–'
  const age = formatAge(signed.ageSeconds * 1_000)
  return `slot ${formatCount(signed.slot)} by ${Math.round(signed.participation * 100)} %, ${age} ago`
}

/** For example `called 4 s ago`, or `has not called for 40 s, since 2026-01-01 12:00:00`. */
function consensusText(consensus: Consensus, nowMs: number): string {
  if (consensus === null) return '–'
  const { calledAt, silentSince } = consensus
  if (silentSince !== null) {
    const sinceMs = Date.parse(silentSince)
    return `has not called for ${formatAge(nowMs - sinceMs)}, since ${formatTime(sinceMs)}`
  }
  return calledAt === null ? 'has not called yet' : `called ${formatAge(nowMs - Date.parse(calledAt))} ago`
}

function gapText(consensus: Consensus): string {
  if (consensus === null || consensus.gap === null) return '–'
  const { head, fetched, executed, left } = consensus.gap
  return `up to ${formatCount(head)}: ${formatCount(fetched)} fetched, ${formatCount(executed)} executed, ${formatCount(left)} left`
}

function logsText(logs: NonNullable<Network['chain']>['logs']): string {
  return logs === null || logs.missing === 0 ? '–' : `of ${formatCount(logs.missing)} blocks`
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
