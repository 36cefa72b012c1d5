/** The documents about metrics and the metrics themselves agree: the page, the dashboard, the alert rules. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dashboardJson, dashboardPath } from '../../../../build/grafanaPage.js'
import { declaredMetrics, metricsPage } from '../../../../build/metricsPage.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { refusalReasons } from '../../../../src/primitives/refusalReasons.js'

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

interface Panel {
  readonly title: string
  readonly type: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string }[]
}

const { panels } = JSON.parse(dashboardJson()) as { readonly panels: readonly Panel[] }

t.test('the page lists every metric', async (t) => {
  const page = readFileSync(metricsPage.path, 'utf8')
  t.equal(metricsPage.render(page), page, 'run: npm run docs')
})

t.test('the dashboard is made of the metrics', async (t) => {
  t.ok(readFileSync(dashboardPath, 'utf8') === dashboardJson(), 'run: npm run docs')
})

t.test('the dashboard shows every metric', async (t) => {
  const shown = new Set(panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => seriesIn(expr))))
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
  for (const { title, type, targets = [] } of panels) {
    if (type === 'row') continue
    t.ok(targets.length > 0, title)
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
