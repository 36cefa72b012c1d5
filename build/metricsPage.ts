/** Makes the table in docs/metrics.md from the metrics themselves. */
import { Metrics } from '../src/serving/metrics/metrics.js'
import type { DeclaredMetric } from '../src/serving/metrics/register.js'
import { TablePage } from './tablePage.js'

/** Every metric, without any data. */
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
    keys: none,
    sharedKeysAnswer: () => undefined,
    commits: () => ({ count: 0, seconds: 0 }),
    totals: { sockets: nothing, bodyBytes: nothing, socketBytes: nothing, subscriptionBytes: nothing },
  }).declared
}

export const metricsPage = new TablePage('docs/metrics.md', () => ({
  head: ['metric', 'kind', 'labels', 'meaning'],
  rows: declaredMetrics().map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.join(', '),
    help,
  ]),
}))

metricsPage.writeIfRun(import.meta.url)
