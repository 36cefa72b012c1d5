import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { attacks } from '../../../bench/neighbours/attacks.js'
import { outcomeOf, phaseOf, phaseTable } from '../../../bench/neighbours/phases.js'
import {
  bodyBytesMax,
  hardTexts,
  malformedRequests,
  malformedTexts,
} from '../../../bench/neighbours/probes.js'
import { answerKind, Tally } from '../../../bench/neighbours/tally.js'
import type { VictimsHeard } from '../../../bench/neighbours/victims.js'
import { parseTargets } from '../../../bench/report/targets.js'
import { defaultConfigFile } from '../../../src/operation/config/file.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'

t.test('hard texts fill what a body may hold, and no two probes are alike', async (t) => {
  const hard = hardTexts(bodyBytesMax).map((build) => Buffer.byteLength(build()))
  for (const [at, bytes] of hard.entries()) {
    t.ok(bytes <= bodyBytesMax && bytes > bodyBytesMax - 100, `${at}: ${bytes} bytes`)
  }
  const all = [...malformedTexts, ...hardTexts(500), ...malformedRequests('/v3/key')].map((build) => build())
  t.equal(new Set(all).size, all.length)
})

t.test('attacks have names of their own', async (t) => {
  t.equal(new Set(attacks.map(({ name }) => name)).size, attacks.length)
  t.equal(new Set(attacks.map(({ title }) => title)).size, attacks.length)
})

t.test('an answer is told by its result or its first error', async (t) => {
  t.equal(answerKind('{"jsonrpc":"2.0","id":1,"result":"0x1"}'), 'result')
  t.equal(answerKind('[{"id":1,"error":{"code":-32005,"message":"x"}},{"error":{"code":1}}]'), 'error -32005')
  const tally = new Tally()
  tally.add('a')
  tally.add('b', 3)
  t.equal(tally.total, 4)
  t.same(Object.entries(tally.counts()), [
    ['b', 3],
    ['a', 1],
  ])
})

t.test('the worst phase counts, failures of all phases do, and each end of the server', async (t) => {
  const heard = (latency: number, failed = 0): VictimsHeard => {
    const latencies = Array<number>(1_000).fill(latency)
    const reads = { latencies, lateness: latencies.map(() => 0.5), failures: {} }
    return { reads, proofs: { ...reads, failures: failed === 0 ? {} : { 'no answer': failed } } }
  }
  const more = { peakResidentBytes: 200e6, hasServerEnded: false, recoverySeconds: 0, reported: {} }
  const phases = [
    phaseOf('idle', heard(2), more),
    phaseOf('floods', heard(40, 3), {
      ...more,
      peakResidentBytes: 900e6,
      reported: { '503 error -32005': 1_200 },
    }),
    phaseOf('loops', heard(8), { ...more, hasServerEnded: true, recoverySeconds: undefined }),
  ]
  const outcome = outcomeOf(phases, 5, { residentBytes: 300e6, peakResidentBytes: 800e6 })
  t.match(outcome, {
    own: { rate: 250, latencies: { p99: 40 }, peakResidentBytes: 900e6, residentBytes: 300e6 },
    rivals: { idle: { latencies: { p99: 2 } } },
    ratios: { idle: { value: 0.05, by: 'p99' } },
    failures: 4,
    note: 'worst of 2 attacks: floods; 3 reads and proofs failed; the server ended 1 times',
  })
  const table = phaseTable(phases).join('\n')
  t.match(table, /^floods +40 +40 +20\.0 +40 +40 +40 +40 +0\.50 +0\+3 +900 +0\.0$/m)
  t.match(table, /^ {4}proofs failed: no answer × 3\n {4}reported: 503 error -32005 × 1,200$/m)
  t.match(table, /^loops .*–\n {4}the server ended$/m)
})

t.test('memory beside attackers is bounded by the sum of the budgets', async (t) => {
  const { limits } = defaultConfigFile()
  const edge = [
    limits.answerCacheBytes,
    limits.proofCacheBytes,
    limits.memoBytes,
    limits.bufferedBodyBytesMax,
    limits.socketBufferedBytesMax,
    limits.subscriptionBytesMax,
    limits.batchAnswerBytesMax,
    limits.filterBytesMax,
    limits.logBytesMax,
  ].reduce((sum, bytes) => sum + bytes)
  // Fixed memory, as docs/memory.md lists it:
  //
  // - the program itself, keys, open WebSockets, arguments of waiting jobs, and requests that wait for their turn
  // - bodies read last, calls tried on the edge, and answers that wait to be compressed
  // - events of recent blocks, announced transactions, and nodes for proofs
  const fixed =
    160e6 + 10_000 * 600 + limits.socketsMax * 2_500 + (64 + 64 + 16 + 16 + 4 + 32 + 16 + 8) * 2 ** 20
  // An engine has rows and code of its own, traced blocks, and nodes for proofs.
  const thread = (5 * 16 + 16 + 8) * 2 ** 20 + limits.executionMemoryBytesMax + limits.logBytesMax
  const sum = (fixed + edge + 2 * thread) / 1e6
  const targets = parseTargets(readFileSync(join(packageRoot(), 'bench/targets.json'), 'utf8'))
  const target = targets.find((each) => each.scenario === 'neighbours' && 'maxMB' in each)
  const { maxMB } = target as { readonly maxMB: number }
  t.ok(Math.abs(maxMB - sum) < 10, `${maxMB} beside ${sum}`)
  for (const page of ['docs/memory.md', 'bench/README.md']) {
    t.match(
      readFileSync(join(packageRoot(), page), 'utf8'),
      `${maxMB.toLocaleString('en')} MB`,
      `${page} says so`,
    )
  }
})
