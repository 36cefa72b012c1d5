/**
 * Every metric of the server, named once. Owns names, help texts, labels and the Prometheus text. Owns no figures: it
 * reads them from their owners through {@link MetricSources}.
 *
 * Labels are bounded: served methods, listed error codes and reasons, configured networks, classes of jobs, numbers of
 * edges, ids and names of some API keys. None is made from a request, so none can contain a key's secret.
 */
import { bucketSeconds } from '../../primitives/durationBuckets.js'
import { bucketBytes, type EdgeFigures, errorNames } from './edgeCounts.js'
import { type DeclaredMetric, type MetricsText, Register } from './register.js'
import { defineSources } from './sourceMetrics.js'
import type { MetricSources } from './sources.js'
import { sumCells, sumMaps, sumMethods } from './sumCounts.js'

/** Code of defects. It is reported as zero, too, so that a rate sees the first one. */
const defectCode = '-32603'

export class Metrics {
  readonly #register = new Register()
  readonly #sources: MetricSources

  constructor(sources: MetricSources) {
    this.#sources = sources
    this.#defineRequests()
    this.#defineKeys()
    this.#defineEdges()
    this.#defineJobs()
    this.#defineNetworks()
    this.#defineRollups()
    this.#defineStores()
    defineSources(this.#register, sources)
    this.#defineProcess()
  }

  get declared(): readonly DeclaredMetric[] {
    return this.#register.declared
  }

  read(): MetricsText {
    this.#sources.refresh()
    return this.#register.read()
  }

  /** Metrics without labels. */
  get #process() {
    return this.#register.of([], () => [[{}, this.#sources]])
  }

  #defineRequests(): void {
    this.#register.section = 'Requests'
    const { edges } = this.#sources
    const register = this.#register
    const read = () => edges.flatMap((edge) => edge.readMethods())
    const cells = () => sumCells(read())
    const labels = ['network', 'method']
    const methods = register.of(labels, () =>
      cells().map((counts) => [{ network: counts.network, method: counts.method }, counts]),
    )
    methods.counter('tidegate_rpc_calls_total', 'Calls by network and method, of batches too.', 'calls')
    methods.counter(
      'tidegate_rpc_repeated_answers_total',
      'Calls answered by a stored answer, without running the method.',
      'repeated',
    )
    register.histogram(
      'tidegate_rpc_duration_seconds',
      'Time from the beginning of a call to its result, or to the first part of a streamed one. Of calls that need no job one in 16 is timed, and counts 16 times; of stored answers to single calls one in 64, which counts 64 times; those in batches are not timed.',
      labels,
      bucketSeconds,
      () =>
        cells().map(({ network, method, durations, durationSeconds }) => ({
          labels: { network, method },
          buckets: durations,
          sum: durationSeconds,
        })),
    )
    register.histogram(
      'tidegate_rpc_result_bytes',
      'Bytes of results, without streamed ones.',
      ['method'],
      bucketBytes,
      () =>
        sumMethods(read()).map(({ method, sizes, answerBytes }) => ({
          labels: { method },
          buckets: sizes,
          sum: answerBytes,
        })),
    )
    register
      .of([...labels, 'code'], () =>
        cells().flatMap(({ network, method, errors }) =>
          errors.flatMap((count, at) =>
            count === 0 && errorNames[at] !== defectCode
              ? []
              : [[{ network, method, code: errorNames[at] ?? '' }, count] as const],
          ),
        ),
      )
      .counter('tidegate_rpc_errors_total', 'Calls that ended with an error, by network, method and code.')
    const rejections = () => sumMaps(edges.map((edge) => edge.readRejections()))
    register
      .of(['reason'], () => [...rejections()].map(([reason, count]) => [{ reason }, count]))
      .counter(
        'tidegate_rejections_total',
        'Requests and WebSockets refused before any method was called, by reason.',
      )
  }

  #defineKeys(): void {
    this.#register.section = 'Keys'
    const { keys } = this.#sources
    const each = this.#register.of(['key', 'name'], () =>
      keys().map((of) => [{ key: of.key, name: of.name }, of]),
    )
    const which = 'by API key: of the 50 that spend most, and of all others as "other"'
    each.counter('tidegate_key_calls_total', `Calls ${which}.`, 'calls')
    each.counter('tidegate_key_units_total', `Compute units spent ${which}.`, 'units')
    each.counter('tidegate_key_errors_total', `Calls that ended with an error ${which}.`, 'errors')
    each.counter(
      'tidegate_key_refusals_total',
      `Calls and requests that were refused because of their key ${which}.`,
      'refusals',
    )
  }

  #defineEdges(): void {
    this.#register.section = 'Edges'
    const { edges } = this.#sources
    const register = this.#register
    const sum = (name: keyof EdgeFigures) => edges.reduce((total, { figures }) => total + figures[name], 0)
    register.histogram(
      'tidegate_event_loop_delay_seconds',
      'How late a timer of an edge came: the time that its event loop was busy.',
      ['edge'],
      bucketSeconds,
      () =>
        edges.map((counts, edge) => {
          const { buckets, seconds } = counts.readDelays()
          return { labels: { edge }, buckets, sum: seconds }
        }),
    )
    const each = register.of(['edge'], () => edges.map(({ figures }, edge) => [{ edge }, figures]))
    each.counter('tidegate_edge_cpu_seconds_total', "CPU time of an edge's thread.", 'cpuSeconds')
    each.gauge('tidegate_edge_heap_bytes', "JavaScript heap in use of an edge's thread.", 'heapBytes')
    each.gauge(
      'tidegate_http_connections',
      'Open HTTP connections of an edge, without WebSockets.',
      'connections',
    )
    each.gauge('tidegate_subscriptions', 'Open subscriptions of an edge.', 'subscriptions')
    const process = this.#process
    process.counter(
      'tidegate_skipped_events_total',
      'Events of subscriptions that were skipped because their readers were too slow.',
      () => sum('skippedEvents'),
    )
    const ofCaches = (figures: Readonly<Record<string, keyof EdgeFigures>>) =>
      register.of(['cache'], () => Object.entries(figures).map(([cache, name]) => [{ cache }, sum(name)]))
    ofCaches({ blocks: 'blockHits', proofs: 'proofHits' }).counter(
      'tidegate_cache_hits_total',
      'Answers found in a cache.',
    )
    ofCaches({ blocks: 'blockMisses', proofs: 'proofMisses' }).counter(
      'tidegate_cache_misses_total',
      'Answers that a cache did not have.',
    )
    ofCaches({ blocks: 'blockBytes', proofs: 'proofBytes', compressed: 'copyBytes' }).gauge(
      'tidegate_cache_bytes',
      'Bytes of the answers in a cache.',
    )
    process.gauge('tidegate_websockets', 'Open WebSockets.', ({ totals }) => totals.sockets.value)
    process.gauge(
      'tidegate_body_buffer_bytes',
      'Bytes of unfinished request bodies, and of answers over HTTP that were not read yet.',
      ({ totals }) => totals.bodyBytes.value,
    )
    process.gauge(
      'tidegate_websocket_buffer_bytes',
      'Bytes of unsent answers and waiting messages of WebSockets.',
      ({ totals }) => totals.socketBytes.value,
    )
    process.gauge(
      'tidegate_subscription_bytes',
      'Memory of subscriptions.',
      ({ totals }) => totals.subscriptionBytes.value,
    )
  }

  #defineJobs(): void {
    this.#register.section = 'Pool'
    const { pool } = this.#sources
    const each = this.#register.of(['class'], () =>
      pool.counts.byClass.map((counts) => [{ class: counts.class }, counts]),
    )
    each.gauge('tidegate_pool_waiting_jobs', 'Jobs that wait for a thread.', 'waiting')
    each.gauge('tidegate_pool_running_jobs', 'Jobs that run.', 'running')
    each.counter(
      'tidegate_pool_finished_jobs_total',
      'Jobs with a result, or with the data that a gateway has to fetch first.',
      'finished',
    )
    each.counter('tidegate_pool_failed_jobs_total', 'Jobs that ended with an error.', 'failed')
    each.counter('tidegate_pool_refused_jobs_total', 'Jobs refused or dropped for lack of room.', 'refused')
    each.counter('tidegate_pool_cpu_seconds_total', 'CPU time of jobs.', ({ cpuMs }) => cpuMs / 1_000)
    this.#register
      .of(['thread'], () => pool.heaps.map((bytes, thread) => [{ thread }, bytes]))
      .gauge(
        'tidegate_pool_heap_bytes',
        'JavaScript heap in use of a thread of the pool, after its last jobs.',
      )
    this.#process.counter(
      'tidegate_pool_lost_threads_total',
      'Threads that died or had to be ended.',
      ({ pool }) => pool.counts.threadsLost,
    )
  }

  #defineNetworks(): void {
    this.#register.section = 'Networks'
    const { networks } = this.#sources
    const each = this.#register.of(['network'], () => networks().map((of) => [{ network: of.network }, of]))
    each.gauge('tidegate_head_number', 'Number of the newest block.', 'head')
    each.gauge('tidegate_head_timestamp_seconds', 'Timestamp of the newest block.', 'headTimestamp')
    each.gauge(
      'tidegate_head_age_seconds',
      'Time since the timestamp of the newest block.',
      ({ headTimestamp }) =>
        headTimestamp === undefined ? undefined : Math.max(Date.now() / 1_000 - headTimestamp, 0),
    )
    each.state('tidegate_syncing', 'Whether the source has blocks that are not stored here yet.', 'isSyncing')
    each.state('tidegate_readable', 'Whether the newest block could be read from the store.', 'isReadable')
    each.state(
      'tidegate_source_failed',
      'Whether the source ended with an error, or no upstream answers or has a chain that can be followed.',
      'hasSourceFailed',
    )
  }

  /** Transactions that wait for the sequencer, and whether this process sends those of a shared queue. */
  #defineRollups(): void {
    this.#register.section = 'Rollups'
    const { rollups } = this.#sources
    const each = this.#register.of(['network'], () => rollups().map((of) => [{ network: of.network }, of]))
    each.gauge('tidegate_submissions_waiting', 'Transactions that wait for the sequencer.', 'waiting')
    each.gauge(
      'tidegate_submissions_waiting_bytes',
      'Bytes of the transactions that wait for the sequencer.',
      'waitingBytes',
    )
    each.gauge(
      'tidegate_submissions_oldest_seconds',
      'Time that the oldest waiting transaction has waited.',
      ({ oldestWaitingMs }) => oldestWaitingMs / 1_000,
    )
    each.gauge('tidegate_submissions_settled', 'Stored transactions with a verdict.', 'settled')
    each.state(
      'tidegate_submissions_answering',
      'Whether the database of a shared queue answers.',
      ({ shared }) => shared?.isAnswering,
    )
    each.state(
      'tidegate_submissions_lease',
      'Whether this process sends the transactions of a shared queue.',
      ({ shared }) => shared?.hasLease,
    )
    each.gauge(
      'tidegate_submissions_epoch',
      'Epoch of the newest process that sends.',
      ({ shared }) => shared?.epoch,
    )
  }

  #defineStores(): void {
    this.#register.section = 'Stores'
    const each = this.#register.of(['store'], () =>
      this.#sources.stores().map((of) => [{ store: of.store }, of]),
    )
    each.gauge('tidegate_store_bytes', 'Length of a store on disk.', 'bytes')
    each.gauge(
      'tidegate_store_free_bytes',
      'Free bytes on the disk of a store; below 64 MiB nothing is written.',
      'freeBytes',
    )
    each.gauge(
      'tidegate_store_readers',
      'Threads, of all processes, that have a store open for reading.',
      'readers',
    )
    const process = this.#process
    process.state(
      'tidegate_shared_keys_answering',
      'Whether the database of shared keys answers.',
      ({ sharedKeysAnswer }) => sharedKeysAnswer(),
    )
    process.counter(
      'tidegate_submission_commits_total',
      'Transactions of the node store with submissions or usage.',
      ({ commits }) => commits().count,
    )
    process.counter(
      'tidegate_submission_commit_seconds_total',
      'Time of these transactions, until they were on disk.',
      ({ commits }) => commits().seconds,
    )
  }

  #defineProcess(): void {
    this.#register.section = 'Process'
    const { version, transport } = this.#sources
    const nodejs = process.version
    this.#register
      .of(['version', 'nodejs', 'transport'], () => [[{ version, nodejs, transport }, 1]])
      .gauge('tidegate_build_info', 'What runs; the value is 1.')
    const own = this.#process
    own.counter('process_cpu_seconds_total', 'CPU time of the process, all threads.', () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    })
    own.gauge('process_resident_memory_bytes', 'Resident memory of the process.', () =>
      process.memoryUsage.rss(),
    )
    own.gauge(
      'process_start_time_seconds',
      'When the process started, since 1970.',
      () => performance.timeOrigin / 1_000,
    )
  }
}
