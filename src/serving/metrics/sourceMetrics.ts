import { bucketSeconds } from '../../primitives/durationBuckets.js'
import type { Register } from './register.js'
import type { MetricSources } from './sources.js'

/** Metrics of networks' sources: their threads, their stores' commits, the phases of imports, their upstreams. */
export function defineSources(register: Register, { sources }: MetricSources): void {
  register.section = 'Sources'
  const each = register.of(['network'], () => sources().map((of) => [{ network: of.network }, of]))
  each.gauge('tidegate_source_heap_bytes', "JavaScript heap in use of a source's thread.", 'heapBytes')
  each.counter(
    'tidegate_chain_commits_total',
    "Transactions of a network's store that are on disk.",
    ({ commits }) => commits.count,
  )
  each.counter(
    'tidegate_chain_commit_seconds_total',
    'Time of these transactions: writing their rows and pages, and the flush.',
    ({ commits }) => commits.seconds,
  )
  const entries = (label: string, of: 'phases' | 'kept' | 'heads') =>
    register.of(['network', label], () =>
      sources().flatMap((figures) =>
        Object.entries<number>(figures[of] ?? {}).map(
          ([name, value]) => [{ network: figures.network, [label]: name }, value] as const,
        ),
      ),
    )
  entries('phase', 'phases').counter(
    'tidegate_import_seconds_total',
    'Time that the source spent on blocks: check of their rules, execute with all roots, write of rows.',
  )
  entries('kind', 'kept').counter(
    'tidegate_gateway_kept_total',
    'Accounts, slots and other data that a gateway fetched, proved and stored, by kind.',
  )
  entries('way', 'heads').counter(
    'tidegate_gateway_heads_total',
    'Heads of a gateway by how its stored state stayed current: accessList, witness or proofs.',
  )
  const sets = register.of(['network'], () =>
    sources().flatMap(({ network, workingSet }) => (workingSet ? [[{ network }, workingSet] as const] : [])),
  )
  sets.gauge(
    'tidegate_gateway_state_bytes',
    'Bytes on disk of the values, trie nodes and code that a gateway stores.',
    'bytes',
  )
  sets.gauge(
    'tidegate_gateway_current_from',
    'Block from which on a gateway stores the changes of each block.',
    'currentFrom',
  )
  defineUpstreams(register, sources)
  defineSigned(register, sources)
  defineFeeds(register, sources)
  defineEngines(register, sources)
}

function defineUpstreams(register: Register, sources: MetricSources['sources']): void {
  register.section = 'Upstreams'
  const rows = () =>
    sources().flatMap(({ network, upstreams }) =>
      upstreams.map((counts) => [{ network, upstream: counts.name }, counts] as const),
    )
  const labels = ['network', 'upstream']
  register
    .of([...labels, 'outcome'], () =>
      rows().flatMap(([labels, { answered, failed }]) => [
        [{ ...labels, outcome: 'answered' }, answered] as const,
        [{ ...labels, outcome: 'failed' }, failed] as const,
      ]),
    )
    .counter(
      'tidegate_upstream_exchanges_total',
      'Exchanges with an upstream by outcome, answered or failed; a batch is one.',
    )
  const each = register.of(labels, rows)
  each.counter(
    'tidegate_upstream_answer_seconds_total',
    'Time of the answered exchanges with an upstream.',
    'seconds',
  )
  each.counter(
    'tidegate_upstream_hedges_total',
    'Requests to an upstream because another one was slow.',
    'hedges',
  )
  each.counter('tidegate_upstream_lies_total', 'Answers of an upstream that were proved wrong.', 'lies')
  each.state('tidegate_upstream_answering', 'Whether an upstream is in service.', 'isAnswering')
  each.state(
    'tidegate_upstream_quarantined',
    'Whether an upstream is not asked because it lied.',
    'isQuarantined',
  )
  each.gauge('tidegate_upstream_head_number', 'Number of the newest block that an upstream claims.', 'head')
}

function defineSigned(register: Register, sources: MetricSources['sources']): void {
  register.section = 'Signed head'
  const each = register.of(['network'], () =>
    sources().flatMap(({ network, signed }) => (signed ? [[{ network }, signed] as const] : [])),
  )
  each.gauge(
    'tidegate_signed_slot',
    'Slot of the newest head that validators signed, as far as beacon nodes reported.',
    'slot',
  )
  each.gauge(
    'tidegate_signed_slot_timestamp_seconds',
    'Time of the newest signed slot, in seconds since 1970.',
    'time',
  )
  each.gauge(
    'tidegate_signed_participants',
    'Members of the sync committee, of 512, that signed the newest head.',
    'participants',
  )
  each.gauge('tidegate_signed_finalized_slot', 'Slot of the newest final block.', 'finalizedSlot')
}

function defineFeeds(register: Register, sources: MetricSources['sources']): void {
  register.section = 'Feeds'
  const each = register.of(['network'], () =>
    sources().flatMap(({ network, feed }) => (feed ? [[{ network }, feed] as const] : [])),
  )
  each.state('tidegate_feed_answering', 'Whether the database of a feed answers.', 'isAnswering')
  each.gauge('tidegate_feed_epoch', 'Epoch of the newest writer of a feed.', 'epoch')
  each.state('tidegate_feed_lease', 'Whether this process is the writer of a feed.', 'hasLease')
  each.gauge(
    'tidegate_feed_sequence',
    'Number of the newest entry of a feed that the store has, or that this writer published.',
    'sequence',
  )
  each.gauge(
    'tidegate_feed_lag_entries',
    'Entries of a feed that the store has not taken in, or that this writer has not published.',
    'entriesBehind',
  )
  each.gauge(
    'tidegate_feed_lag_blocks',
    'Blocks that the store is behind the feed, or the feed behind the store of its writer.',
    'blocksBehind',
  )
}

function defineEngines(register: Register, sources: MetricSources['sources']): void {
  register.section = 'Consensus clients'
  const rows = () =>
    sources().flatMap(({ network, engine }) => (engine ? [[{ network }, engine] as const] : []))
  register
    .of(['network', 'method', 'outcome'], () =>
      rows().flatMap(([{ network }, { calls }]) =>
        calls.map(({ method, outcome, count }) => [{ network, method, outcome }, count] as const),
      ),
    )
    .counter(
      'tidegate_engine_calls_total',
      'Calls of a consensus client by method and outcome: the status of a payload, ok, or the code of an error.',
    )
  register
    .of(['network'], rows)
    .gauge(
      'tidegate_engine_call_age_seconds',
      'Time since the last call of a consensus client; absent before the first one.',
      ({ calledAtMs }) => (calledAtMs === undefined ? undefined : (Date.now() - calledAtMs) / 1_000),
    )
  register.histogram(
    'tidegate_engine_payload_seconds',
    'Time from the arrival of engine_newPayload to its answer.',
    ['network'],
    bucketSeconds,
    () =>
      rows().map(([labels, { payloads }]) => ({ labels, buckets: payloads.buckets, sum: payloads.seconds })),
  )
  register
    .of(['network', 'state'], () =>
      rows().flatMap(([{ network }, { gap }]) =>
        (['fetched', 'executed', 'left'] as const).map(
          (state) => [{ network, state }, gap?.[state] ?? 0] as const,
        ),
      ),
    )
    .gauge(
      'tidegate_engine_gap_blocks',
      'Blocks between the store and the head that a consensus client chose, by state: fetched, executed or left.',
    )
}
