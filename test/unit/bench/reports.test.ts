import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { gethScenarios } from '../../../bench/load/gethScenarios.js'
import { httpScenarios } from '../../../bench/load/scenarios.js'
import { parseOptions } from '../../../bench/options.js'
import { specialScenarios } from '../../../bench/plan.js'
import { movedTable } from '../../../bench/report/moved.js'
import {
  compareSides,
  type Finding,
  latencyTimes,
  type Outcome,
  type Report,
  sideOfRounds,
} from '../../../bench/report/outcome.js'
import { logScale, picture, withFigures } from '../../../bench/report/publish.js'
import { detailLines, findingLine, headLine } from '../../../bench/report/table.js'
import {
  findShortfalls,
  parseTargets,
  rivalsIn,
  shortfallTable,
  verdictOf,
} from '../../../bench/report/targets.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'

const latencies = { p50: 0.2, p975: 0.4, p99: 0.61, p999: undefined }
const measured: Outcome = {
  name: 'slot-cached',
  title: 'storage slot <cached>',
  unit: 'requests',
  own: { rate: 40_000, rateSpread: 0.05, cpuMicros: 20, busy: 0.8, residentBytes: 150e6, latencies },
  rivals: { bare: { rate: 44_000, rateSpread: 0.02, cpuMicros: 18, busy: 0.79, latencies } },
  ratios: { bare: { value: 0.9, by: 'cpu' } },
}
const failed: Finding = {
  name: 'new-heads-1000',
  title: 'new heads',
  failed: 'no WebSocket',
}
const report: Report = {
  startedAt: '2026-01-02T03:04:05.678Z',
  machine: { cores: 2 },
  settings: { rounds: 5 },
  loaderCeiling: 80_000,
  findings: [measured, failed],
}

t.test(
  'rates are compared where both servers were saturated, CPU time where the loader was the limit',
  async (t) => {
    const own = { rate: 50, rateSpread: 0, cpuMicros: 30, busy: 0.95 }
    const rival = { rate: 100, rateSpread: 0, cpuMicros: 20, busy: 0.99 }
    t.same(compareSides(own, rival), { value: 0.5, by: 'rate' })
    t.same(compareSides(own, { ...rival, busy: 0.5 }), { value: 20 / 30, by: 'cpu' })
    t.same(compareSides({ rate: 50, rateSpread: 0 }, rival), { value: 0.5, by: 'rate' })
    t.same(compareSides(own, rival, true), { value: 20 / 30, by: 'cpu' }, 'or where CPU time is asked for')
  },
)

t.test('of sides that took turns the median of their rounds counts', async (t) => {
  const side = (rates: readonly number[], busy: number) => {
    const rounds = rates.map((rate) => ({ rate, cpuMicros: 1000 / rate }))
    return { rounds, rate: rates[1] as number, rateSpread: 1, cpuMicros: 1000 / (rates[1] as number), busy }
  }
  // The machine was slow in the first round, for both sides.
  const own = side([10, 40, 90], 1)
  const rival = side([20, 50, 100], 1)
  t.same(compareSides(own, rival), { value: 0.8, by: 'rate', spread: 0.5 })
  t.same(compareSides({ ...own, busy: 0.5 }, rival), { value: 0.8, by: 'cpu', spread: 0.5 })
  const other = compareSides(side([10, 90, 40], 1), side([20, 100, 80], 1))
  t.same(other, { value: 0.5, by: 'rate', spread: 0.8 })
})

t.test('targets that are missed or not measured are told, others are not', async (t) => {
  const targets = parseTargets(
    JSON.stringify([
      { scenario: 'slot-cached', rival: 'bare', min: 0.85 },
      { scenario: 'slot-cached', rival: 'bare ', min: 1 },
      { scenario: 'new-heads-1000', rival: 'bare', min: 1 },
      { scenario: 'import', rival: 'evm', min: 0.9 },
    ]),
  )
  const shortfalls = findShortfalls(report, targets)
  t.same(
    shortfalls.map(({ target, why }) => [target.scenario, why]),
    [
      ['slot-cached', 'no comparison with bare  in this run'],
      ['new-heads-1000', 'no WebSocket'],
      ['import', 'not part of this run'],
    ],
  )
  const [short] = findShortfalls(report, [{ scenario: 'slot-cached', rival: 'bare', min: 1.2 }])
  t.match(short, { measured: 0.9, why: '25 % short, by cpu' })
  t.match(shortfallTable(short === undefined ? [] : [short]), /slot-cached +bare +≥ 1\.2 +0\.90 +25 % short/)
})

t.test('memory has a bound of its own', async (t) => {
  const finding: Finding = { ...measured, name: 'memory', own: { ...measured.own, peakResidentBytes: 300e6 } }
  const withMemory = { ...report, findings: [finding, measured] }
  t.same(findShortfalls(withMemory, parseTargets('[{"scenario":"memory","maxMB":300}]')), [])
  const over = findShortfalls(withMemory, parseTargets('[{"scenario":"memory","maxMB":250}]'))
  t.match(shortfallTable(over), /memory +RSS MB +≤ 250 +300\.00 +20 % over/)
  const unknown = findShortfalls(withMemory, parseTargets('[{"scenario":"slot-cached","maxMB":250}]'))
  t.match(unknown, [{ measured: undefined, why: /does not tell/ }])
})

t.test('a p99 may be so many milliseconds more than the rival has, whatever their ratio', async (t) => {
  const finding = (p99: number): Finding => ({
    ...measured,
    own: { ...measured.own, latencies: { ...latencies, p99 } },
    rivals: { idle: { rate: 1, rateSpread: 0, latencies: { ...latencies, p99: 10 } } },
    ratios: { idle: { value: 10 / p99, by: 'p99' } },
  })
  const short = (p99: number, target: string) =>
    findShortfalls({ ...report, findings: [finding(p99)] }, parseTargets(`[${target}]`))
  const target = '{"scenario":"slot-cached","rival":"idle","min":0.5,"orMsMore":50}'
  t.same(short(20, target), [])
  t.same(short(60, target), [])
  t.match(shortfallTable(short(61, target)), /idle +≥ 0\.5 or ≤ 50 ms more +0\.16 +67 % short, by p99/)
  t.equal(short(60, '{"scenario":"slot-cached","rival":"idle","min":0.5}').length, 1)
  const long = finding(200)
  const idle = { rate: 1, rateSpread: 0, latencies: { ...latencies, p99: 120 } }
  const slowIdle = { ...long, rivals: { idle }, ratios: { idle: { value: 0.6, by: 'p99' as const } } }
  t.same(findShortfalls({ ...report, findings: [slowIdle] }, parseTargets(`[${target}]`)), [])
})

t.test('failures are counted against a bound, which may be none', async (t) => {
  const short = (failures: number | undefined) => {
    const finding = failures === undefined ? measured : { ...measured, failures }
    const targets = parseTargets('[{"scenario":"slot-cached","maxFailures":0}]')
    return findShortfalls({ ...report, findings: [finding] }, targets)
  }
  t.same(short(0), [])
  t.match(shortfallTable(short(3)), /slot-cached +failures +≤ 0 +3\.00 +3 too many/)
  t.match(short(undefined), [{ measured: undefined, why: /does not count/ }])
})

t.test('a target that takes more cores than there are is not demanded', async (t) => {
  const targets = parseTargets(
    `[{"scenario":"slot-cached","rival":"bare","min":0.8},
      {"scenario":"slot-cached","rival":"idle","min":0.5,"coresMin":4}]`,
  )
  const ratios = { bare: { value: 0.9, by: 'cpu' }, idle: { value: 0.1, by: 'p99' } } as const
  const verdict = (cores: number) =>
    verdictOf({ ...report, machine: { cores }, findings: [{ ...measured, ratios }] }, targets)
  t.same(verdict(2), {
    isReached: true,
    text: 'All 1 targets are reached. 1 of machines with more cores were not asked for.',
  })
  t.match(verdict(4), { isReached: false, text: /^1 of 2 targets are not reached\.\n\n.*\n.*idle +≥ 0\.5/ })
  t.match(verdict(64), { isReached: false })
})

t.test('a scenario moved where each round lies on one side of the base', async (t) => {
  const finding = (title: string, own: readonly number[], base: readonly number[]): Finding => {
    const side = (micros: readonly number[]) =>
      sideOfRounds(micros.map((cpuMicros) => ({ rate: 1_000, cpuMicros })))
    return { ...measured, title, own: side(own), rivals: { base: side(base) } }
  }
  const five = [10, 10, 10, 10, 10]
  const better = finding('better', five, [11, 12, 11, 40, 11])
  const worse = finding('worse', [20, 21, 20, 22, 20], five)
  const noisy = finding('noisy', five, [90, 90, 90, 90, 9.9])
  const short = finding('short', [10], [20])
  t.equal(
    movedTable([better, worse, noisy, short, measured]),
    `2 of 4 scenarios moved against the base: each round lies on one side of it.

|  | base, µs of CPU | here | times as fast | rounds |
| --- | --: | --: | --: | --: |
| worse | 10.0 | 20.0 | 0.50 | 0.45 to 0.50 |
| better | 11.0 | 10.0 | 1.10 | 1.10 to 4.00 |`,
  )
  t.match(movedTable([noisy]), /^0 of 1 scenarios moved [^|]*$/)
  t.equal(movedTable([measured]), undefined, 'no base was measured')
  const failed = { name: 'slot', title: 'slot', failed: 'its server ended' }
  t.match(movedTable([noisy, failed]), /Not measured: slot: its server ended$/)
})

t.test('targets of a scenario for which the machine lacks something do not count', async (t) => {
  const targets = parseTargets(
    `[{"scenario":"slot-cached","rival":"bare","min":0.8},{"scenario":"replicas","rival":"one","min":0.9}]`,
  )
  const verdict = (isSkipped: boolean) => {
    const alone = { name: 'replicas', title: 'replicas', failed: 'no PostgreSQL' }
    const other: Finding = isSkipped ? { ...alone, isSkipped: true } : alone
    const ratios = { bare: { value: 0.9, by: 'cpu' } } as const
    return verdictOf({ ...report, findings: [{ ...measured, ratios }, other] }, targets)
  }
  t.same(verdict(true), { isReached: true, text: 'All 1 targets are reached. Skipped: replicas.' })
  t.match(verdict(false), { isReached: false, text: /^1 of 2 targets are not reached\./ })
})

t.test('a ratio whose rounds spread by more than 40 % is not measured, whatever it is', async (t) => {
  const verdict = (value: number, spread: number, more: readonly object[] = []) => {
    const ratios = { bare: { value, by: 'cpu' as const, spread } }
    const targets = parseTargets(
      JSON.stringify([{ scenario: 'slot-cached', rival: 'bare', min: 0.8 }, ...more]),
    )
    return verdictOf({ ...report, findings: [{ ...measured, ratios, failures: 0 }] }, targets)
  }
  t.same(verdict(0.9, 0.4), { isReached: true, text: 'All 1 targets are reached.' })
  t.match(verdict(0.7, 0.4), { isReached: false, text: /^1 of 1 targets are not reached\.\n/ })
  const ofFailures = { scenario: 'slot-cached', maxFailures: 0 }
  for (const value of [0.7, 0.9]) {
    const { isReached, text } = verdict(value, 0.41, [ofFailures])
    t.ok(isReached, 'of the rest all is reached')
    t.match(
      text,
      /^1 of 2 targets are reached\. 1 are not measured: their rounds spread by more than 40 %\.\n/,
    )
    t.match(text, new RegExp(`slot-cached +bare +≥ 0\\.8 +– +not measured: 0\\.${value * 10}0 ±41 %$`))
  }
  const missed = verdict(0.9, 2, [{ scenario: 'slot-cached', rival: 'idle', min: 1 }])
  t.match(missed, { isReached: false, text: /^1 of 2 targets are not reached\. 1 are not measured/ })
  t.equal(verdict(0.9, 2).isReached, false, 'nothing was measured')
})

const timedRound = (ms: number) => ({ p50: ms, p975: 2 * ms, p99: 3 * ms, p999: undefined })
const timedSide = (...rounds: readonly number[]) => ({
  rate: 1_000,
  rateSpread: 0,
  cpuMicros: 500,
  latencies: timedRound(rounds[1] as number),
  latencyRounds: rounds.map(timedRound),
})
/** Twice, three times and four times the rival's in three rounds, of which the machine was slow in the last. */
const timed: Outcome = {
  ...measured,
  own: timedSide(2, 3, 40),
  rivals: { bare: timedSide(1, 1, 10) },
}

t.test('of latencies the median of the rounds counts, each beside the round of the rival', async (t) => {
  t.equal(latencyTimes(timed.own, timed.rivals.bare, 'p99'), 3)
  t.equal(latencyTimes(timed.own, timed.rivals.bare, 'p999'), undefined)
  t.equal(latencyTimes(timed.own, undefined, 'p99'), undefined)
  // Rounds too short for a percentile; all answers together are enough.
  const short = { ...timed.own, latencyRounds: [{ ...timedRound(9), p99: undefined }] }
  t.equal(latencyTimes(short, timed.rivals.bare, 'p99'), 3)
})

t.test('a latency has a bound by that of a rival', async (t) => {
  const short = (bounds: string) =>
    findShortfalls(
      { ...report, findings: [timed] },
      parseTargets(`[{"scenario":"slot-cached","rival":"bare",${bounds}}]`),
    )
  t.same(short('"p50":3,"p975":3,"p99":3'), [])
  t.match(
    shortfallTable(short('"p50":2,"p975":3,"p99":3')),
    /slot-cached +p50 × bare +≤ 2 +3\.00 +50 % over$/,
  )
  t.equal(short('"p50":2,"p975":2,"p99":2').length, 3)
  t.match(short('"p999":9'), [{ measured: undefined, why: "no p999 to compare with bare's in this run" }])
})

t.test('a check asks those servers alone that targets name, and times those with bounds', async (t) => {
  const targets = parseTargets(
    `[{"scenario":"a","rival":"bare","min":1},
      {"scenario":"a","rival":"anvil","p50":1},
      {"scenario":"b","maxMB":1}]`,
  )
  t.same(rivalsIn(targets, 'a'), { all: ['bare', 'anvil'], timed: ['anvil'] })
  t.same(rivalsIn(targets, 'b'), { all: [], timed: [] })
})

t.test('the table shows latencies beside those of the bare server', async (t) => {
  t.match(findingLine(timed), / 3\.00 /)
})

t.test('a table of its own stands below the row of a scenario', async (t) => {
  t.same(detailLines(measured), [])
  t.same(detailLines({ ...measured, details: ['one', 'two'] }), ['', 'one', 'two', ''])
  t.same(detailLines(failed), [])
})

t.test('faulty targets are refused with their place', async (t) => {
  t.throws(() => parseTargets('{}'), { message: 'targets: expected an array' })
  t.throws(() => parseTargets('[{"scenario":"a","rival":"b","min":0}]'), { message: /^targets\[0\]/ })
  t.throws(() => parseTargets('[null]'), { message: /^targets\[0\]/ })
  t.throws(() => parseTargets('[{"scenario":"a","rival":"b","min":1,"maxMB":1}]'), {
    message: /^targets\[0\]/,
  })
  const mixed = [
    '"rival":"b","min":1,"maxFailures":1',
    '"maxFailures":-1',
    '"maxMB":0',
    '"rival":"b","min":1,"orMsMore":0',
    '"rival":"b","orMsMore":1',
    '"rival":"b","min":1,"coresMin":0',
    '"maxMB":1,"coresMin":4',
    '"maxMB":1,"more":1',
    '"rival":"b","p98":1',
    '"rival":"b","p99":0',
    '"rival":"b","p99":1,"min":1',
    '"p99":1',
  ]
  for (const measure of mixed) {
    t.throws(() => parseTargets(`[{"scenario":"a",${measure}}]`), { message: /^targets\[0\]/ })
  }
  const twice = '{"scenario":"a","rival":"b","min":1}'
  t.throws(() => parseTargets(`[${twice},${twice}]`), { message: /^targets\[1\]: a b is there twice/ })
  const timedTwice = '{"scenario":"a","rival":"b","p50":1,"p99":1},{"scenario":"a","rival":"b","p99":2}'
  t.throws(() => parseTargets(`[${timedTwice}]`), { message: /^targets\[1\]: a p99 × b is there twice/ })
})

t.test('every target that ships names a scenario', async (t) => {
  const targets = parseTargets(readFileSync(join(packageRoot(), 'bench/targets.json'), 'utf8'))
  const http = httpScenarios({ blocks: 1_000, accounts: 10, largeSlots: 10 }).map(({ name }) => name)
  const geth = gethScenarios.map(({ name }) => name)
  const known = new Set([...http, ...geth, ...specialScenarios(undefined).map(({ name }) => name)])
  t.ok(targets.length > 0)
  for (const { scenario } of targets) t.ok(known.has(scenario), scenario)
})

t.test('a picture has a chart of what was compared, escapes what it shows and loads nothing', async (t) => {
  const svg = picture(report.findings)
  t.match(svg, 'storage slot &lt;cached>')
  t.match(svg, 'of a bare uWebSockets.js server')
  t.notMatch(svg, 'as fast as anvil')
  t.notMatch(svg, /(?:src|href)=|@import|<script/)
  const ratios = { anvil: { value: 3, by: 'rate' as const } }
  t.match(picture([{ ...measured, name: 'call-balance', ratios }]), 'times as fast as anvil')
  t.notMatch(picture([{ ...measured, ratios }]), 'as fast as anvil', 'reads are not compared with it')
  t.notMatch(picture([failed]), /class="title"/)
})

t.test('a logarithmic scale holds all of its values between its first and last tick', async (t) => {
  const { at, ticks } = logScale([0.03, 7, 900])
  t.same(ticks, [0.01, 0.1, 1, 10, 100, 1000])
  t.ok(at(0.03) > at(0.01) && at(900) < at(1000))
  t.same(logScale([5]).ticks, [1, 10])
})

t.test('columns stand below their headings', async (t) => {
  t.equal(findingLine(measured).length, headLine().length)
  t.match(findingLine(measured), /0\.90 c +– +–$/)
  t.match(findingLine(failed), /no WebSocket$/)
})

t.test('each faulty flag is named', async (t) => {
  const cases: readonly (readonly [string[], RegExp])[] = [
    [['--against', 'anvil,reth'], /^--against: expected anvil, geth or both, got anvil,reth/],
    [['--url', 'ftp://x'], /^--url: expected an http URL/],
    [['--rounds', '0'], /^--rounds: expected a positive whole number/],
    [['--rounds', '1.5'], /^--rounds: expected a positive whole number/],
    [['--limit', 'poolThreads'], /^--limit/],
    [['--nonsense'], /nonsense/],
  ]
  for (const [args, message] of cases) t.throws(() => parseOptions(args), { name: 'RangeError', message })
  t.match(parseOptions(['--check']), { isCheck: true, withAnvil: true, isQuick: true })
  t.match(parseOptions(['--only', 'a,b', '--limit', 'poolNiceness=0']), {
    only: ['a', 'b'],
    limits: { poolNiceness: 0 },
  })
})

t.test('figures replace what stood between the marks of a page, and nothing else', async (t) => {
  const start = '<!-- figures: npm run bench -- --publish FILE -->'
  const end = '<!-- end of figures -->'
  const page = `before\n${start}\nold\n${end}\nafter\n`
  const once = withFigures(page, report)
  t.ok(once.startsWith(`before\n${start}\n`) && once.endsWith(`\n${end}\nafter\n`))
  t.match(
    once,
    /\| storage slot <cached> \| 40,000 \| 5 % \| 0\.20 \| 0\.40 \| 0\.61 \| – \| 1\.00 \| 20\.0 \| – \| 80 % \| 150 \| – \| 0\.90 c \| – \| – \|/,
  )
  t.notMatch(once, /\nold\n/)
  t.equal(withFigures(once, report), once)
  t.throws(() => withFigures('no marks', report), { name: 'RangeError', message: /^bench\/README\.md/ })
  t.match(readFileSync(join(packageRoot(), 'bench/README.md'), 'utf8'), start)
})
