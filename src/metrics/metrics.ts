/**
 * Every metric of the server, named once. Owns names, help texts, labels and the Prometheus text. Owns no figures:
 * they are asked of their owners when the metrics are, through {@link MetricSources}.
 *
 * Labels are bounded: methods that are served, error codes and reasons from lists, configured networks, classes of
 * jobs, numbers of edges. None is made from a request, so none can hold a key.
 */
import { bucketBytes, bucketSeconds, type EdgeCounts, type EdgeFigures } from './edgeCounts.js'
import { type DeclaredMetric, type Emit, type MetricsText, Register } from './register.js'
import { defineRollups } from './rollupMetrics.js'
import { defineSources } from './sourceMetrics.js'
import type { JobCounts, MetricSources, NetworkFigures } from './sources.js'
import { sumMaps, sumMethods } from './sumCounts.js'

export class Metrics {
  readonly #register = new Register()
  readonly #sources: MetricSources

  constructor(sources: MetricSources) {
    this.#sources = sources
    this.#defineRequests()
    this.#defineEdges()
    this.#defineJobs()
    this.#defineNetworks()
    defineRollups(this.#register, sources)
    this.#defineStores()
    defineSources(this.#register, sources)
    this.#defineProcess()
  }

  /** What there is, without figures. */
  get declared(): readonly DeclaredMetric[] {
    return this.#register.declared
  }

  read(): Promise<MetricsText> {
    this.#sources.refresh()
    return this.#register.read()
  }

  #defineRequests(): void {
    const { edges } = this.#sources
    const methods = () => sumMethods(edges.flatMap((edge) => edge.readMethods()))
    this.#register.counter(
      'tidegate_rpc_calls_total',
      'Calls by method, of batches too.',
      ['method'],
      (emit) => {
        for (const { method, calls } of methods()) emit({ method }, calls)
      },
    )
    this.#register.counter(
      'tidegate_rpc_repeated_answers_total',
      'Calls answered by a stored answer, without running the method.',
      ['method'],
      (emit) => {
        for (const { method, repeated } of methods()) emit({ method }, repeated)
      },
    )
    this.#register.histogram(
      'tidegate_rpc_duration_seconds',
      'Time from the beginning of a call to its result, or to the first part of a streamed one. Of calls that need no job one in 16 is timed, and counts 16 times; of stored answers to single calls one in 64, which counts 64 times; those in batches are not timed.',
      ['method'],
      bucketSeconds,
      () =>
        methods().map(({ method, durations, durationSeconds }) => ({
          labels: { method },
          buckets: durations,
          sum: durationSeconds,
        })),
    )
    this.#register.histogram(
      'tidegate_rpc_result_bytes',
      'Bytes of results, without streamed ones.',
      ['method'],
      bucketBytes,
      () =>
        methods().map(({ method, sizes, answerBytes }) => ({
          labels: { method },
          buckets: sizes,
          sum: answerBytes,
        })),
    )
    this.#register.counter(
      'tidegate_rpc_errors_total',
      'Calls that ended with an error, by its code.',
      ['code'],
      (emit) => {
        const sums = sumMaps(edges.map((edge) => edge.readErrors()))
        for (const [code, count] of sums) emit({ code }, count)
      },
    )
    this.#register.counter(
      'tidegate_rejections_total',
      'Requests and WebSockets refused before any method was called.',
      ['reason'],
      (emit) => {
        const sums = sumMaps(edges.map((edge) => edge.readRejections()))
        for (const [reason, count] of sums) emit({ reason }, count)
      },
    )
  }

  #defineEdges(): void {
    const { edges, totals } = this.#sources
    const each = (read: (edge: EdgeCounts) => number) => (emit: Emit) => {
      for (const [edge, counts] of edges.entries()) emit({ edge }, read(counts))
    }
    const sum = (name: keyof EdgeFigures) => edges.reduce((total, { figures }) => total + figures[name], 0)
    this.#register.histogram(
      'tidegate_event_loop_delay_seconds',
      'How late a timer of an edge came: the time that its event loop was held.',
      ['edge'],
      bucketSeconds,
      () =>
        edges.map((counts, edge) => {
          const { buckets, seconds } = counts.readDelays()
          return { labels: { edge }, buckets, sum: seconds }
        }),
    )
    this.#register.counter(
      'tidegate_edge_cpu_seconds_total',
      "CPU time of an edge's thread.",
      ['edge'],
      each(({ figures }) => figures.cpuSeconds),
    )
    this.#register.gauge(
      'tidegate_edge_heap_bytes',
      "JavaScript heap in use of an edge's thread.",
      ['edge'],
      each(({ figures }) => figures.heapBytes),
    )
    this.#register.gauge(
      'tidegate_http_connections',
      'Open HTTP connections of an edge, without WebSockets.',
      ['edge'],
      each(({ figures }) => figures.connections),
    )
    this.#register.gauge(
      'tidegate_subscriptions',
      'Open subscriptions of an edge.',
      ['edge'],
      each(({ figures }) => figures.subscriptions),
    )
    this.#register.counter(
      'tidegate_skipped_events_total',
      'Events of subscriptions that were skipped because their readers were too slow.',
      [],
      (emit) => emit({}, sum('skippedEvents')),
    )
    this.#register.counter('tidegate_cache_hits_total', 'Answers found in a cache.', ['cache'], (emit) => {
      emit({ cache: 'blocks' }, sum('blockHits'))
      emit({ cache: 'proofs' }, sum('proofHits'))
    })
    this.#register.counter(
      'tidegate_cache_misses_total',
      'Answers looked for in a cache and not found.',
      ['cache'],
      (emit) => {
        emit({ cache: 'blocks' }, sum('blockMisses'))
        emit({ cache: 'proofs' }, sum('proofMisses'))
      },
    )
    this.#register.gauge('tidegate_cache_bytes', 'Bytes of the answers in a cache.', ['cache'], (emit) => {
      emit({ cache: 'blocks' }, sum('blockBytes'))
      emit({ cache: 'proofs' }, sum('proofBytes'))
      emit({ cache: 'compressed' }, sum('copyBytes'))
    })
    this.#register.gauge('tidegate_websockets', 'Open WebSockets.', [], (emit) => emit({}, totals().sockets))
    this.#register.gauge('tidegate_body_buffer_bytes', 'Bytes of unfinished request bodies.', [], (emit) =>
      emit({}, totals().bodyBytes),
    )
    this.#register.gauge(
      'tidegate_websocket_buffer_bytes',
      'Bytes of unsent answers and waiting messages of WebSockets.',
      [],
      (emit) => emit({}, totals().socketBytes),
    )
    this.#register.gauge('tidegate_subscription_bytes', 'Memory of subscriptions.', [], (emit) =>
      emit({}, totals().subscriptionBytes),
    )
  }

  #defineJobs(): void {
    const { jobs, threadsLost, heaps } = this.#sources
    const each = (name: Exclude<keyof JobCounts, 'class'>) => (emit: Emit) => {
      for (const counts of jobs()) emit({ class: counts.class }, counts[name])
    }
    const labels = ['class']
    this.#register.gauge(
      'tidegate_pool_waiting_jobs',
      'Jobs that wait for a thread.',
      labels,
      each('waiting'),
    )
    this.#register.gauge('tidegate_pool_running_jobs', 'Jobs that run.', labels, each('running'))
    this.#register.counter(
      'tidegate_pool_finished_jobs_total',
      'Jobs with a result.',
      labels,
      each('finished'),
    )
    this.#register.counter(
      'tidegate_pool_failed_jobs_total',
      'Jobs that ended with an error.',
      labels,
      each('failed'),
    )
    this.#register.counter(
      'tidegate_pool_refused_jobs_total',
      'Jobs refused or dropped for lack of room.',
      labels,
      each('refused'),
    )
    this.#register.counter('tidegate_pool_cpu_seconds_total', 'CPU time of jobs.', labels, each('cpuSeconds'))
    this.#register.gauge(
      'tidegate_pool_heap_bytes',
      'JavaScript heap in use of a thread of the pool, after its last jobs.',
      ['thread'],
      (emit) => {
        for (const [thread, bytes] of heaps().entries()) emit({ thread }, bytes)
      },
    )
    this.#register.counter(
      'tidegate_pool_lost_threads_total',
      'Threads that died or had to be ended.',
      [],
      (emit) => emit({}, threadsLost()),
    )
  }

  #defineNetworks(): void {
    const { networks } = this.#sources
    const labels = ['network']
    const each = (read: (figures: NetworkFigures) => number) => (emit: Emit) => {
      for (const figures of networks()) emit({ network: figures.network }, read(figures))
    }
    this.#register.gauge(
      'tidegate_head_number',
      'Number of the newest block.',
      labels,
      each(({ head }) => head),
    )
    this.#register.gauge(
      'tidegate_head_timestamp_seconds',
      'Timestamp of the newest block.',
      labels,
      each(({ headTimestamp }) => headTimestamp),
    )
    this.#register.gauge(
      'tidegate_head_age_seconds',
      'Time since the timestamp of the newest block.',
      labels,
      each(({ headTimestamp }) => Math.max(Date.now() / 1_000 - headTimestamp, 0)),
    )
    this.#register.gauge(
      'tidegate_syncing',
      'Whether the source has blocks that are not taken in yet.',
      labels,
      each(({ isSyncing }) => Number(isSyncing)),
    )
    this.#register.gauge(
      'tidegate_readable',
      'Whether the newest block could be read from the store.',
      labels,
      each(({ isReadable }) => Number(isReadable)),
    )
    this.#register.gauge(
      'tidegate_source_failed',
      'Whether the source ended with an error, or no upstream answers or has a chain that can be followed.',
      labels,
      each(({ hasSourceFailed }) => Number(hasSourceFailed)),
    )
  }

  #defineStores(): void {
    const { stores, commits, sharedKeysAnswer } = this.#sources
    this.#register.gauge('tidegate_store_bytes', 'Length of a store on disk.', ['store'], (emit) => {
      for (const { store, bytes } of stores()) emit({ store }, bytes)
    })
    this.#register.gauge(
      'tidegate_store_readers',
      'Threads, of all processes, that have a store open for reading.',
      ['store'],
      (emit) => {
        for (const { store, readers } of stores()) emit({ store }, readers)
      },
    )
    this.#register.gauge(
      'tidegate_shared_keys_answering',
      'Whether the database of shared keys answers.',
      [],
      (emit) => {
        const answers = sharedKeysAnswer()
        if (answers !== undefined) emit({}, Number(answers))
      },
    )
    this.#register.counter(
      'tidegate_submission_commits_total',
      'Transactions of the node store with submissions or usage.',
      [],
      (emit) => emit({}, commits().count),
    )
    this.#register.counter(
      'tidegate_submission_commit_seconds_total',
      'Time from their beginning until they were on disk.',
      [],
      (emit) => emit({}, commits().seconds),
    )
  }

  #defineProcess(): void {
    const { version, transport } = this.#sources
    const nodejs = process.version
    this.#register.gauge(
      'tidegate_build_info',
      'What runs; the value is 1.',
      ['version', 'nodejs', 'transport'],
      (emit) => emit({ version, nodejs, transport }, 1),
    )
    this.#register.counter(
      'process_cpu_seconds_total',
      'CPU time of the process, all threads.',
      [],
      (emit) => {
        const { user, system } = process.cpuUsage()
        emit({}, (user + system) / 1e6)
      },
    )
    this.#register.gauge('process_resident_memory_bytes', 'Resident memory of the process.', [], (emit) =>
      emit({}, process.memoryUsage.rss()),
    )
    this.#register.gauge('process_start_time_seconds', 'When the process started, since 1970.', [], (emit) =>
      emit({}, performance.timeOrigin / 1_000),
    )
  }
}
