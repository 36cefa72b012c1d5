/**
 * Makes package/grafana/tidegate.json from the metrics themselves: a panel for each, in rows by section, below an overview.
 * Its name, type, labels and help decide what a panel shows, so that a new metric appears by its declaration alone.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../src/primitives/packageRoot.js'
import type { DeclaredMetric } from '../src/serving/metrics/register.js'
import { declaredMetrics } from './metricsPage.js'

export const dashboardPath = join(packageRoot(), 'package/grafana/tidegate.json')

const datasource = { type: 'prometheus', uid: `\${datasource}` }
const interval = '[$__rate_interval]'

interface Target {
  readonly expr: string
  readonly legend: string
}

interface Panel {
  readonly title: string
  readonly description?: string
  readonly type: 'timeseries' | 'state-timeline' | 'stat'
  readonly unit: string
  readonly targets: readonly Target[]
  /** The metric, if the panel shows it alone. */
  readonly metric?: string
  /** Values from which on a number is amber, and red. */
  readonly warnAt?: readonly [amber: number, red: number]
}

/** Labels that are variables of the dashboard select the shown series. */
function selectorOf(labels: readonly string[], more = ''): string {
  const network = labels.includes('network') ? ', network=~"$network"' : ''
  return `{job=~"$job", instance=~"$instance"${network}${more}}`
}

const rateOf = (name: string, labels: readonly string[], more = '') =>
  `rate(${name}${selectorOf(labels, more)}${interval})`
const by = (labels: readonly string[]) => (labels.length === 0 ? '' : ` by (${labels.join(', ')})`)
const legendOf = (labels: readonly string[]) => labels.map((label) => `{{${label}}}`).join(' ')

/** `tidegate_pool_waiting_jobs` → `Pool waiting jobs`. */
function titleOf({ name, type }: DeclaredMetric): string {
  const words = name
    .replace(/^tidegate_/, '')
    .replace(/(?:_timestamp)?_seconds(?:_total)?$|_total$|_info$/, '')
    .replaceAll('_', ' ')
  const title = words.charAt(0).toUpperCase() + words.slice(1)
  return type === 'counter' && !name.endsWith('_seconds_total') ? `${title}, per second` : title
}

function counterPanel(metric: DeclaredMetric): Pick<Panel, 'unit' | 'targets'> {
  const { name, labels } = metric
  const expr = `sum${by(labels)} (${rateOf(name, labels)})`
  return {
    // Seconds a second are a share of the time.
    unit: name.endsWith('_seconds_total') ? 'percentunit' : 'ops',
    targets: [{ expr, legend: legendOf(labels) }],
  }
}

function gaugePanel({ name, labels }: DeclaredMetric): Pick<Panel, 'unit' | 'targets'> {
  const each = ['instance', ...labels]
  const value = `max${by(each)} (${name}${selectorOf(labels)})`
  const legend = legendOf(each)
  if (/_(?:timestamp|start_time)_seconds$/.test(name)) {
    return { unit: 'dateTimeAsIso', targets: [{ expr: `1000 * ${value}`, legend }] }
  }
  const unit = name.endsWith('_bytes') ? 'bytes' : name.endsWith('_seconds') ? 's' : 'none'
  return { unit, targets: [{ expr: value, legend }] }
}

function histogramPanel({ name, labels }: DeclaredMetric): Pick<Panel, 'unit' | 'targets'> {
  const buckets = rateOf(`${name}_bucket`, labels)
  const quantile = (share: number, labels: readonly string[]) =>
    `histogram_quantile(${share}, sum by (${['le', ...labels].join(', ')}) (${buckets}))`
  return {
    unit: name.endsWith('_bytes') ? 'bytes' : 's',
    targets: [
      { expr: quantile(0.5, []), legend: 'p50' },
      { expr: quantile(0.99, []), legend: 'p99' },
      { expr: quantile(0.99, labels), legend: `p99 ${legendOf(labels)}` },
    ],
  }
}

const panelOfType = { counter: counterPanel, gauge: gaugePanel, histogram: histogramPanel }

function panelOf(metric: DeclaredMetric): Panel {
  return {
    title: titleOf(metric),
    description: metric.help,
    metric: metric.name,
    type: metric.isState ? 'state-timeline' : 'timeseries',
    ...panelOfType[metric.type](metric),
  }
}

const calls = rateOf('tidegate_rpc_calls_total', ['network'])
const errors = rateOf('tidegate_rpc_errors_total', ['network'])
const ofNetworks = selectorOf(['network'])

/** Panels that answer an operator's first questions. */
const overview: readonly Panel[] = [
  {
    title: 'Networks that cannot be read',
    type: 'stat',
    unit: 'none',
    targets: [{ expr: `count(tidegate_readable${ofNetworks} == 0) or vector(0)`, legend: 'networks' }],
    warnAt: [1, 1],
  },
  {
    title: 'Sources that failed',
    type: 'stat',
    unit: 'none',
    targets: [{ expr: `count(tidegate_source_failed${ofNetworks} == 1) or vector(0)`, legend: 'sources' }],
    warnAt: [1, 1],
  },
  {
    title: 'Upstreams that do not answer',
    type: 'stat',
    unit: 'none',
    targets: [
      { expr: `count(tidegate_upstream_answering${ofNetworks} == 0) or vector(0)`, legend: 'upstreams' },
    ],
    warnAt: [1, 2],
  },
  {
    title: 'Age of the oldest head',
    type: 'stat',
    unit: 's',
    targets: [{ expr: `max(tidegate_head_age_seconds${ofNetworks})`, legend: 'age' }],
    warnAt: [60, 600],
  },
  {
    title: 'Calls per second',
    type: 'stat',
    unit: 'reqps',
    targets: [{ expr: `sum(${calls})`, legend: 'calls' }],
  },
  {
    title: 'Calls that fail',
    type: 'stat',
    unit: 'percentunit',
    targets: [{ expr: `(sum(${errors}) or vector(0)) / sum(${calls})`, legend: 'share' }],
    warnAt: [0.05, 0.2],
  },
  {
    title: 'Time of a call, p99',
    type: 'stat',
    unit: 's',
    targets: [
      {
        expr: `histogram_quantile(0.99, sum by (le) (${rateOf('tidegate_rpc_duration_seconds_bucket', ['network'])}))`,
        legend: 'p99',
      },
    ],
    warnAt: [0.5, 2],
  },
  {
    title: 'Refused before a call, per second',
    type: 'stat',
    unit: 'reqps',
    targets: [{ expr: `sum(${rateOf('tidegate_rejections_total', [])})`, legend: 'refused' }],
  },
]

/** A figure divided by another one, after the panels of the first one's section. */
function ratio(
  title: string,
  unit: string,
  above: string,
  below: string,
  labels: readonly string[],
  more = '',
): Panel {
  const labelsOf = (name: string) => declaredMetrics().find((metric) => metric.name === name)?.labels ?? []
  const of = (name: string, more = '') => `sum${by(labels)} (${rateOf(name, labelsOf(name), more)})`
  return {
    title,
    type: 'timeseries',
    unit,
    targets: [{ expr: `${of(above)} / ${of(below, more)}`, legend: legendOf(labels) }],
  }
}

const ratios: Readonly<Record<string, readonly Panel[]>> = {
  Requests: [
    ratio(
      'Share of stored answers',
      'percentunit',
      'tidegate_rpc_repeated_answers_total',
      'tidegate_rpc_calls_total',
      [],
    ),
  ],
  Sources: [
    ratio('Time of a commit', 's', 'tidegate_chain_commit_seconds_total', 'tidegate_chain_commits_total', [
      'network',
    ]),
  ],
  Upstreams: [
    ratio(
      'Time of an answer',
      's',
      'tidegate_upstream_answer_seconds_total',
      'tidegate_upstream_exchanges_total',
      ['network', 'upstream'],
      ', outcome="answered"',
    ),
  ],
  Stores: [
    ratio(
      'Time of a commit of the node store',
      's',
      'tidegate_submission_commit_seconds_total',
      'tidegate_submission_commits_total',
      [],
    ),
  ],
}

const colours = ['green', 'orange', 'red']
/** Colours of the answers no and yes of a state. */
function stateColours(metric: string | undefined): readonly [no: string, yes: string] {
  if (metric === undefined || /_lease$/.test(metric)) return ['blue', 'blue']
  if (/_syncing$/.test(metric)) return ['green', 'orange']
  return /_(?:failed|quarantined)$/.test(metric) ? ['green', 'red'] : ['red', 'green']
}

function mappingOf(metric: string | undefined) {
  const [no, yes] = stateColours(metric)
  const options = { 0: { text: 'no', color: no, index: 0 }, 1: { text: 'yes', color: yes, index: 1 } }
  return { type: 'value', options }
}

function defaultsOf({ type, unit, warnAt, metric }: Panel) {
  const steps = [null, ...(warnAt ?? [])].map((value, at) => ({ value, color: colours[at] }))
  return {
    unit,
    ...(type === 'timeseries' ? { min: 0 } : {}),
    ...(type === 'state-timeline' ? { mappings: [mappingOf(metric)] } : {}),
    ...(type === 'stat' ? { thresholds: { mode: 'absolute', steps } } : {}),
  }
}

const legend = { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] }
const optionsOfType = {
  timeseries: { legend, tooltip: { mode: 'multi', sort: 'desc' } },
  'state-timeline': { legend, showValue: 'auto' },
  stat: { colorMode: 'background', reduceOptions: { calcs: ['lastNotNull'] } },
}

function panelJson(panel: Panel) {
  const { title, description, type, targets } = panel
  return {
    type,
    title,
    ...(description === undefined ? {} : { description }),
    datasource,
    fieldConfig: { defaults: defaultsOf(panel), overrides: [] },
    options: optionsOfType[type],
    targets: targets.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode(65 + at),
      expr,
      legendFormat: legend,
      datasource,
    })),
  }
}

/** Columns of Grafana's grid. */
const gridWidth = 24

/** All rows one below the other. */
function panelsJson(): unknown[] {
  const metrics = declaredMetrics()
  const sections = [...new Set(metrics.map(({ section }) => section))]
  const rows = [
    { title: 'Overview', width: 6, height: 4, panels: overview },
    ...sections.map((section) => ({
      title: section,
      width: 8,
      height: 7,
      panels: [
        ...metrics.filter((each) => each.section === section).map(panelOf),
        ...(ratios[section] ?? []),
      ],
    })),
  ]
  let y = 0
  const all: object[] = []
  for (const { title, width, height, panels } of rows) {
    all.push({
      type: 'row',
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y: y++, w: gridWidth, h: 1 },
    })
    const columns = gridWidth / width
    for (const [at, panel] of panels.entries()) {
      const place = {
        x: (at % columns) * width,
        y: y + Math.floor(at / columns) * height,
        w: width,
        h: height,
      }
      all.push({ ...panelJson(panel), gridPos: place })
    }
    y += Math.ceil(panels.length / columns) * height
  }
  return all.map((panel, at) => ({ id: at + 1, ...panel }))
}

function variable(name: string, label: string, query: string) {
  return {
    name,
    label,
    type: 'query',
    datasource,
    query: { query, refId: name },
    includeAll: true,
    multi: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
    refresh: 2,
  }
}

/** Grafana's name of its default data source. */
const byDefault = { text: 'default', value: 'default' }

/** The dashboard as Grafana imports it. */
export function dashboardJson(): string {
  const dashboard = {
    uid: 'tidegate',
    title: 'Tidegate',
    tags: ['tidegate'],
    editable: true,
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: '',
    templating: {
      list: [
        {
          name: 'datasource',
          label: 'Data source',
          type: 'datasource',
          query: 'prometheus',
          current: byDefault,
        },
        variable('job', 'Job', 'label_values(tidegate_build_info, job)'),
        variable('instance', 'Instance', 'label_values(tidegate_build_info{job=~"$job"}, instance)'),
        variable('network', 'Network', 'label_values(tidegate_head_number{job=~"$job"}, network)'),
      ],
    },
    panels: panelsJson(),
  }
  return `${JSON.stringify(dashboard, undefined, 2)}\n`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  writeFileSync(dashboardPath, dashboardJson())
