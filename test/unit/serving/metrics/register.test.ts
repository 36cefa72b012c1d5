import t from 'tap'
import { Register } from '../../../../src/serving/metrics/register.js'

t.test('metrics are written as Prometheus reads them', async (t) => {
  const register = new Register()
  const rows: [Record<string, string | number>, { calls: number; isUp: boolean; head?: number }][] = [
    [
      { node: 'a"\\b\nc', at: 1 },
      { calls: 2, isUp: true },
    ],
    [
      { node: 'd', at: 2 },
      { calls: 0.5, isUp: false, head: 7 },
    ],
    [
      { node: 'd', at: 2 },
      { calls: 1, isUp: false, head: 8 },
    ],
  ]
  const each = register.of(['node', 'at'], () => rows)
  each.counter('calls_total', 'Calls.', ({ calls }) => calls)
  each.gauge('up', 'Whether it is up.', ({ isUp }) => isUp)
  each.gauge('head', 'Head.', ({ head }) => head)
  register.of([], () => [[{}, undefined]]).gauge('alone', 'Of none.', (value) => value)
  register.histogram(
    'seconds',
    'Time.',
    ['method'],
    (bucket) => [1e-6, 0.5][bucket],
    () => [{ labels: { method: 'm' }, buckets: [1, 2, 3], sum: 4.25 }],
  )
  const { contentType, text } = register.read()
  t.equal(contentType, 'text/plain; version=0.0.4; charset=utf-8')
  t.equal(
    text,
    `# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{node="a\\"\\\\b\\nc",at="1"} 2
calls_total{node="d",at="2"} 1.5

# HELP up Whether it is up.
# TYPE up gauge
up{node="a\\"\\\\b\\nc",at="1"} 1
up{node="d",at="2"} 0

# HELP head Head.
# TYPE head gauge
head{node="d",at="2"} 8

# HELP alone Of none.
# TYPE alone gauge
alone 0

# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{method="m",le="0.000001"} 1
seconds_bucket{method="m",le="0.5"} 3
seconds_bucket{method="m",le="+Inf"} 6
seconds_sum{method="m"} 4.25
seconds_count{method="m"} 6
`,
  )
})
