/** The documents about metrics and the metrics themselves agree: the page, the dashboard, the alert rules. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dashboardJson, dashboardPath } from '../../../../build/grafanaPage.js'
import { declaredMetrics, metricsPage } from '../../../../build/metricsPage.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { refusalReasons } from '../../../../src/primitives/refusalReasons.js'
import { grafanaDashboard } from '../../../metrics/grafanaDashboard.js'

const declared = declaredMetrics()
const read = (path: string) => readFileSync(join(packageRoot(), path), 'utf8')

/** Series of Prometheus that the metrics come to. */
const series = new Set(
  declared.flatMap(({ name, type }) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name],
  ),
)

function seriesIn(expression: string): string[] {
  return expression.match(/\b(?:tidegate|process)_[a-z_]+\b/g) ?? []
}

const dashboard = grafanaDashboard.parse(JSON.parse(dashboardJson()))
const { panels } = dashboard
const charts = panels.filter((panel) => panel.type !== 'row')

t.test('the page lists every metric', async (t) => {
  const page = readFileSync(metricsPage.path, 'utf8')
  t.equal(metricsPage.render(page), page, 'run: npm run docs')
})

t.test('the dashboard is made of the metrics', async (t) => {
  t.ok(readFileSync(dashboardPath, 'utf8') === dashboardJson(), 'run: npm run docs')
})

t.test('the dashboard shows every metric', async (t) => {
  const shown = new Set(charts.flatMap(({ targets }) => targets.flatMap(({ expr }) => seriesIn(expr))))
  for (const { name, type } of declared) {
    const names = type === 'histogram' ? [`${name}_bucket`, `${name}_sum`] : [name]
    t.ok(
      names.some((each) => shown.has(each)),
      name,
    )
  }
})

t.test('every panel asks for metrics that exist, by labels that they have', async (t) => {
  const labelsOf = new Map(declared.map(({ name, labels }) => [name, labels]))
  for (const { title, targets } of charts) {
    for (const { expr } of targets) {
      const found = seriesIn(expr)
      t.ok(found.length > 0, expr)
      for (const name of found) t.ok(series.has(name), `${title}: ${name}`)
      for (const [, by = '', name = ''] of expr.matchAll(/ by \(([^)]*)\) \((?:rate\()?(\w+)\{/g)) {
        const known = [
          ...(labelsOf.get(name.replace(/_(?:bucket|sum|count)$/, '')) ?? labelsOf.get(name) ?? []),
          'le',
          'instance',
        ]
        for (const label of by.split(', ')) t.ok(known.includes(label), `${title}: ${name} has ${label}`)
      }
    }
  }
})

t.test('the dashboard begins with an overview: what fails, the oldest head, calls', async (t) => {
  const rows = panels.flatMap(({ type, title }, at) => (type === 'row' ? [{ title, at }] : []))
  t.match(rows[0], { title: 'Overview', at: 0 })
  const overview = charts.slice(0, (rows[1]?.at ?? 0) - 1)
  t.ok(overview.length >= 8)
  for (const { type, title } of overview) t.equal(type, 'stat', title)
  const expressions = overview.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  t.ok(
    expressions.some((expr) => /^max\(tidegate_head_age_seconds\{[^}]*\}\)$/.test(expr)),
    'the oldest',
  )
  for (const failing of ['tidegate_readable', 'tidegate_source_failed', 'tidegate_upstream_answering'])
    t.ok(
      expressions.some((expr) => expr.includes(failing)),
      failing,
    )
})

t.test('the variables instance and network choose every series that has them', async (t) => {
  const names = dashboard.templating.list.map(({ name }) => name)
  t.strictSame(names, ['datasource', 'job', 'instance', 'network'])
  const ofNetworks = new Set(
    declared.filter(({ labels }) => labels.includes('network')).map(({ name }) => name),
  )
  for (const { title, targets } of charts) {
    for (const { expr } of targets) {
      for (const [, series = '', selector = ''] of expr.matchAll(
        /\b((?:tidegate|process)_\w+)(?:\{([^}]*)\})?/g,
      )) {
        t.match(selector, /job=~"\$job", instance=~"\$instance"/, title)
        const isOfNetwork =
          ofNetworks.has(series.replace(/_(?:bucket|sum|count)$/, '')) || ofNetworks.has(series)
        t.equal(selector.includes('network=~"$network"'), isOfNetwork, `${title}: ${series}`)
      }
    }
  }
})

t.test('states are state panels, in colours of their own; all else is a time series', async (t) => {
  const colours = new Map<string, readonly string[]>()
  for (const metric of declared) {
    const own = charts.filter(({ description }) => description === metric.help)
    t.equal(own.length, 1, metric.name)
    const [panel] = own
    t.equal(panel?.type, metric.isState ? 'state-timeline' : 'timeseries', metric.name)
    const [mapping] = panel?.fieldConfig.defaults.mappings ?? []
    t.equal(mapping !== undefined, metric.isState, metric.name)
    if (mapping === undefined) continue
    t.strictSame(
      Object.entries(mapping.options).map(([value, { text }]) => `${value} ${text}`),
      ['0 no', '1 yes'],
    )
    colours.set(
      metric.name,
      Object.values(mapping.options).map(({ color }) => color),
    )
  }
  t.strictSame(colours.get('tidegate_readable'), ['red', 'green'])
  t.strictSame(colours.get('tidegate_source_failed'), ['green', 'red'])
  t.strictSame(colours.get('tidegate_upstream_quarantined'), ['green', 'red'])
  t.strictSame(colours.get('tidegate_syncing'), ['green', 'orange'])
  t.strictSame(colours.get('tidegate_feed_lease'), ['blue', 'blue'], 'neither is a fault')
})

t.test('panels do not lie over each other', async (t) => {
  for (const [index, { gridPos: a, title }] of panels.entries()) {
    for (const { gridPos: b } of panels.slice(index + 1)) {
      t.notOk(a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h, title)
    }
  }
})

t.test('alert rules ask for metrics that exist', async (t) => {
  const rules = [...read('package/prometheus/alerts.yml').matchAll(/^ +expr: (.*)$/gm)]
  t.ok(rules.length > 10)
  for (const [, expression = ''] of rules) {
    for (const name of seriesIn(expression)) t.ok(series.has(name), name)
  }
})

t.test('the page explains each reason of a refusal', async (t) => {
  const page = readFileSync(metricsPage.path, 'utf8')
  const rows = page.slice(page.indexOf('## Refusals')).matchAll(/^\| ([\w ]+) \| (.+\.) \|$/gm)
  t.strictSame(Object.fromEntries([...rows].map(([, reason, text]) => [reason, text])), refusalReasons)
})
