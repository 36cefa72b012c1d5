import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Outcome, Report } from '../../../bench/report/outcome.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'

const measured: Outcome = {
  name: 'memory',
  title: 'memory',
  unit: 'requests',
  own: { rate: 40_000, rateSpread: 0.05, cpuMicros: 20 },
  rivals: {},
  ratios: {},
}
const report: Report = {
  startedAt: '2026-01-02T03:04:05.678Z',
  machine: { cores: 2 },
  settings: { rounds: 5 },
  loaderCeiling: 80_000,
  findings: [],
}

t.test('a check exits 1 where its report falls short of what ships as targets, else 0', async (t) => {
  const folder = t.testdir()
  const check = (name: string, content: string, ...more: string[]) => {
    const path = join(folder, name)
    writeFileSync(path, content)
    const program = join(packageRoot(), 'dist/modules/bench/main.js')
    return spawnSync(process.execPath, [program, '--report', path, ...more], { encoding: 'utf8' })
  }
  const memory = (peakResidentBytes: number): string =>
    JSON.stringify({
      ...report,
      findings: [{ ...measured, own: { ...measured.own, peakResidentBytes } }],
    })
  const good = check('good.json', memory(1e6), '--check', '--only', 'memory')
  t.match(good, { status: 0, stdout: /All 1 targets are reached/ })
  const poor = check('poor.json', memory(1e12), '--check', '--only', 'memory')
  t.match(poor, { status: 1, stdout: /1 of 1 targets are not reached\.\n\n.*\nmemory +RSS MB/ })
  // Figures that were not measured miss their target.
  t.match(check('good.json', memory(1e6), '--check'), { status: 1, stdout: /not part of this run/ })
  t.match(check('good.json', memory(1e6)), { status: 2, stderr: /^--report: only with --check/ })
  t.match(check('bad.json', '{}', '--check'), { status: 2, stderr: /bad\.json is no report of a run/ })
})
