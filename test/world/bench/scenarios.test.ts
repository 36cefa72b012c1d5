/** A run of scenarios that start servers of their own, with a gateway and a rollup network. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Outcome, Report } from '../../../bench/report/outcome.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'

t.test('requests of a gateway are counted, and submissions are measured', async (t) => {
  const folder = t.testdir()
  const program = join(packageRoot(), 'dist/modules/bench/main.js')
  const words = ['--quick', '--rounds', '1', '--seconds', '0.2', '--only', 'working-set,submissions']
  const run = spawnSync(process.execPath, [program, ...words, '--out', folder], { encoding: 'utf8' })
  t.equal(run.status, 0, run.stdout + run.stderr)
  const [file = ''] = readdirSync(folder)
  const { findings } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Report
  const [submitted, followed] = findings as [Outcome, Outcome]
  t.ok(submitted.own.rate > 0)
  t.ok((submitted.rivals.lmdb?.rate ?? 0) > 0)
  t.equal(followed.failures, 0, 'its values are those of the upstream')
  t.ok(followed.own.rate > 0, 'each head takes requests')
})

t.test('another build is measured in turns, and a summary in Markdown says what moved', async (t) => {
  const folder = t.testdir()
  const summary = join(folder, 'summary.md')
  const program = join(packageRoot(), 'dist/modules/bench/main.js')
  const bench = (...words: readonly string[]) =>
    spawnSync(process.execPath, [program, ...words], { encoding: 'utf8' })
  const short = ['--quick', '--rounds', '5', '--seconds', '0.1', '--only', 'slot-cached', '--out', folder]
  const run = bench(...short, '--base', packageRoot(), '--summary', summary)
  t.equal(run.status, 0, run.stdout + run.stderr)
  t.match(readFileSync(summary, 'utf8'), /^[01] of 1 scenarios moved against the base/)
  t.match(run.stdout, /of 1 scenarios moved against the base/)
  t.match(bench('--base', folder), { status: 2, stderr: /^--base: .* has no program; run npm ci and/ })
})
