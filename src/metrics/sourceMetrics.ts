import type { Emit, Labels, Register } from './register.js'
import type { FeedCounts, MetricSources, SourceFigures, UpstreamCounts } from './sources.js'

type Each = (read: (figures: SourceFigures) => number) => (emit: Emit) => void

/** Metrics of networks' sources: their threads, their stores' commits, the phases of imports, the nodes they ask. */
export function defineSources(register: Register, { sources }: MetricSources): void {
  const each: Each = (read) => (emit) => {
    for (const figures of sources()) emit({ network: figures.network }, read(figures))
  }
  register.gauge(
    'tidegate_source_heap_bytes',
    "JavaScript heap in use of a source's thread.",
    ['network'],
    each(({ heapBytes }) => heapBytes),
  )
  register.counter(
    'tidegate_chain_commits_total',
    "Transactions of a network's store that are on disk.",
    ['network'],
    each(({ commits }) => commits.count),
  )
  register.counter(
    'tidegate_chain_commit_seconds_total',
    'Time that they took: writing their rows and pages, and the flush.',
    ['network'],
    each(({ commits }) => commits.seconds),
  )
  register.counter(
    'tidegate_import_seconds_total',
    'Time that the source spent on blocks: check of their rules, execute with all roots, write of rows.',
    ['network', 'phase'],
    (emit) => {
      for (const { network, phases } of sources()) {
        for (const [phase, seconds] of Object.entries(phases)) emit({ network, phase }, seconds)
      }
    },
  )
  register.counter(
    'tidegate_gateway_kept_total',
    'Things that a gateway fetched, proved and keeps, by kind.',
    ['network', 'kind'],
    (emit) => {
      for (const { network, kept } of sources()) {
        for (const [kind, count] of Object.entries(kept)) emit({ network, kind }, count)
      }
    },
  )
  defineUpstreams(register, sources)
  defineFeeds(register, sources)
}

function defineFeeds(register: Register, sources: MetricSources['sources']): void {
  const gauge = (name: string, help: string, read: (feed: FeedCounts) => number) =>
    register.gauge(`tidegate_feed_${name}`, help, ['network'], (emit) => {
      for (const { network, feed } of sources()) if (feed !== undefined) emit({ network }, read(feed))
    })
  gauge('answering', 'Whether the database of a feed answers.', ({ isAnswering }) => Number(isAnswering))
  gauge('epoch', 'Epoch of the newest writer of a feed.', ({ epoch }) => epoch)
  gauge('lease', 'Whether this process is the writer of a feed.', ({ hasLease }) => Number(hasLease))
  gauge(
    'sequence',
    'Number of the newest entry of a feed that the store has, or that this writer published.',
    ({ sequence }) => sequence,
  )
  gauge(
    'lag_entries',
    'Entries of a feed that the store has not taken in, or that this writer has not published.',
    ({ entriesBehind }) => entriesBehind,
  )
  gauge(
    'lag_blocks',
    'Blocks that the store is behind the feed, or the feed behind the store of its writer.',
    ({ blocksBehind }) => blocksBehind,
  )
}

function defineUpstreams(register: Register, sources: MetricSources['sources']): void {
  const labels = ['network', 'upstream']
  const each = (tell: (counts: UpstreamCounts, labels: Labels, emit: Emit) => void) => (emit: Emit) => {
    for (const { network, upstreams } of sources()) {
      for (const counts of upstreams) tell(counts, { network, upstream: counts.name }, emit)
    }
  }
  register.counter(
    'tidegate_upstream_exchanges_total',
    'Exchanges with an upstream by outcome, answered or failed; a batch is one.',
    [...labels, 'outcome'],
    each(({ answered, failed }, labels, emit) => {
      emit({ ...labels, outcome: 'answered' }, answered)
      emit({ ...labels, outcome: 'failed' }, failed)
    }),
  )
  register.counter(
    'tidegate_upstream_answer_seconds_total',
    'Time of the answered ones.',
    labels,
    each(({ seconds }, labels, emit) => emit(labels, seconds)),
  )
  register.counter(
    'tidegate_upstream_hedges_total',
    'Questions put to an upstream because another one was slow.',
    labels,
    each(({ hedges }, labels, emit) => emit(labels, hedges)),
  )
  register.counter(
    'tidegate_upstream_lies_total',
    'Answers of an upstream that were proved wrong.',
    labels,
    each(({ lies }, labels, emit) => emit(labels, lies)),
  )
  register.gauge(
    'tidegate_upstream_answering',
    'Whether the last question was answered.',
    labels,
    each(({ isAnswering }, labels, emit) => emit(labels, Number(isAnswering))),
  )
  register.gauge(
    'tidegate_upstream_quarantined',
    'Whether an upstream is not asked because it lied.',
    labels,
    each(({ isQuarantined }, labels, emit) => emit(labels, Number(isQuarantined))),
  )
  register.gauge(
    'tidegate_upstream_head_number',
    'Number of the newest block that an upstream claims.',
    labels,
    each(({ head }, labels, emit) => {
      if (head !== undefined) emit(labels, head)
    }),
  )
}
