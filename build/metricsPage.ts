/** Makes the table in docs/metrics.md from the metrics themselves. Run as a program (`npm run docs`) it rewrites the page. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../src/primitives/packageRoot.js'
import { Metrics } from '../src/serving/metrics/metrics.js'
import type { DeclaredMetric } from '../src/serving/metrics/register.js'

const tablePattern = /(?<=<!-- What is between [^\n]*-->\n).*(?=<!-- End\. -->)/s

export const metricsPagePath = join(packageRoot(), 'docs/metrics.md')

/** Every metric, of a process that runs nothing. */
export function declaredMetrics(): readonly DeclaredMetric[] {
  const none = () => []
  const nothing = { value: 0 }
  return new Metrics({
    version: '',
    transport: '',
    edges: [],
    refresh: () => undefined,
    pool: { counts: { byClass: [], threadsLost: 0 }, heaps: [] },
    sources: none,
    networks: none,
    rollups: none,
    stores: none,
    sharedKeysAnswer: () => undefined,
    commits: () => ({ count: 0, seconds: 0 }),
    totals: { sockets: nothing, bodyBytes: nothing, socketBytes: nothing, subscriptionBytes: nothing },
  }).declared
}

/** The page with a new table. Throws RangeError where the page has no marks around the table. */
export function renderMetricsPage(page: string): string {
  if (!tablePattern.test(page)) throw new RangeError('docs/metrics.md has lost the comments around its table')
  const rows = declaredMetrics().map(
    ({ name, type, labels, help }) => `| \`${name}\` | ${type} | ${labels.join(', ')} | ${help} |`,
  )
  const table = ['| metric | kind | labels | what it tells |', '| --- | --- | --- | --- |', ...rows, '']
  return page.replace(tablePattern, () => `\n${table.join('\n')}\n`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(metricsPagePath, renderMetricsPage(readFileSync(metricsPagePath, 'utf8')))
}
