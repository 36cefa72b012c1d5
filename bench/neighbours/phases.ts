/** Results of the victims in each phase of the scenario `neighbours`: the outcome and the table. */
import type { Side } from '../report/outcome.js'
import { inColumns, type Latencies, latenciesOf } from '../report/statistics.js'
import type { Found } from '../scenarios/specialScenario.js'
import type { Memory } from '../servers/serverProcess.js'
import type { Reported } from './tally.js'
import { type Heard, proofsPerSecond, readsPerSecond, type VictimsHeard } from './victims.js'

/** One kind of request in one phase. */
export interface Served {
  readonly asked: number
  readonly latencies: Latencies
  readonly longestMs: number
  /** The 99th percentile of the delay between due time and sending, ms. */
  readonly sentAfterDueMs: number | undefined
  readonly failed: number
  /** Counts by reason of failure. */
  readonly failures: Reported
}

/** Victims alone, or beside one attack or several. */
export interface Phase {
  readonly title: string
  readonly reads: Served
  readonly proofs: Served
  /** The server's memory during the phase. */
  readonly peakResidentBytes: number | undefined
  readonly hasServerEnded: boolean
  /** Time from the end of the attack until the victims were served as if alone; undefined if it took too long. */
  readonly recoverySeconds: number | undefined
  /** Answers and errors of all attackers. */
  readonly reported: Reported
}

export function servedOf({ latencies, lateness, failures }: Heard): Served {
  return {
    asked: latencies.length,
    latencies: latenciesOf(latencies),
    longestMs: Math.max(0, ...latencies),
    sentAfterDueMs: latenciesOf(lateness).p99,
    failed: Object.values(failures).reduce((sum, count) => sum + count, 0),
    failures,
  }
}

export function phaseOf(
  title: string,
  heard: VictimsHeard,
  more: Omit<Phase, 'title' | keyof VictimsHeard>,
): Phase {
  return { title, reads: servedOf(heard.reads), proofs: servedOf(heard.proofs), ...more }
}

/**
 * The outcome: the attacked phase with the worst p99 of reads compared with the first phase, the idle one. Failed
 * requests and ends of the server are counted over all phases. `memory` is the server's at the end.
 */
export function outcomeOf(phases: readonly Phase[], victims: number, memory: Memory): Found {
  const [idle, ...attacked] = phases as readonly [Phase, ...Phase[]]
  const p99 = ({ reads }: Phase) => reads.latencies.p99 ?? reads.longestMs
  const worst = attacked.reduce((a, b) => (p99(b) > p99(a) ? b : a))
  const side = ({ reads: { latencies } }: Phase): Side => {
    return { rate: readsPerSecond * victims, rateSpread: 0, latencies }
  }
  const failed = phases.reduce((sum, { reads, proofs }) => sum + reads.failed + proofs.failed, 0)
  const ends = phases.filter(({ hasServerEnded }) => hasServerEnded).length
  const peaks = [memory.peakResidentBytes, ...phases.map((phase) => phase.peakResidentBytes)]
  const known = peaks.filter((bytes) => bytes !== undefined)
  const notes = [
    `worst of ${attacked.length} attacks: ${worst.title}`,
    `${failed} reads and proofs failed`,
    ...(ends === 0 ? [] : [`the server ended ${ends} times`]),
  ]
  return {
    unit: 'requests',
    own: {
      ...side(worst),
      ...memory,
      ...(known.length > 0 && { peakResidentBytes: Math.max(...known) }),
    },
    rivals: { idle: side(idle) },
    ratios: { idle: { value: p99(idle) / p99(worst), by: 'p99' } },
    failures: failed + ends,
    note: notes.join('; '),
    details: phaseTable(phases),
  }
}

const columns = ['reads p50 ms', 'p99', '× idle', 'longest', 'proofs p50', 'p99', 'longest', 'late', 'failed']

/** The first phase is the idle one. */
export function phaseTable(phases: readonly Phase[]): string[] {
  const idle = phases[0]?.reads.latencies.p99
  const [head = '', ...lines] = inColumns([
    ['', ...columns, 'RSS MB', 'calm s'],
    ...phases.map((phase) => [phase.title, ...cellsOf(phase, idle)]),
  ])
  return [
    `Beside attackers: ${readsPerSecond} reads and ${proofsPerSecond} proofs a second of each victim`,
    head,
    ...phases.flatMap((phase, at) => [lines[at] ?? '', ...remarksOf(phase)]),
    worstOf(phases.slice(1)),
    'late: p99 of how long after it was due the loader sent a question; calm: until victims were served as if alone again',
  ]
}

function worstOf(attacked: readonly Phase[]): string {
  const most = (of: (phase: Phase) => number | undefined) =>
    Math.max(...attacked.map((each) => of(each) ?? 0))
  const reads = milliseconds(most((phase) => phase.reads.latencies.p99))
  const proofs = milliseconds(most((phase) => phase.proofs.longestMs))
  const megabytes = (most((phase) => phase.peakResidentBytes) / 1e6).toFixed(0)
  return `At worst: p99 of reads ${reads} ms (at most 60), longest proof ${proofs} ms (300), RSS ${megabytes} MB (400)`
}

function cellsOf({ reads, proofs, ...phase }: Phase, idleP99: number | undefined): string[] {
  const { p99 } = reads.latencies
  const { peakResidentBytes, recoverySeconds } = phase
  return [
    milliseconds(reads.latencies.p50),
    milliseconds(p99),
    p99 === undefined || idleP99 === undefined ? '–' : (p99 / idleP99).toFixed(1),
    milliseconds(reads.longestMs),
    milliseconds(proofs.latencies.p50),
    milliseconds(proofs.latencies.p99),
    milliseconds(proofs.longestMs),
    milliseconds(reads.sentAfterDueMs),
    `${reads.failed}+${proofs.failed}`,
    peakResidentBytes === undefined ? '–' : (peakResidentBytes / 1e6).toFixed(0),
    recoverySeconds === undefined ? '–' : recoverySeconds.toFixed(1),
  ]
}

/** Remarks on a phase: why requests failed, the server's end, answers and errors of the attackers. */
function remarksOf({ reads, proofs, hasServerEnded, reported }: Phase): string[] {
  const remarks = [
    ...(hasServerEnded ? ['the server ended'] : []),
    ...listOf('reads failed', reads.failures),
    ...listOf('proofs failed', proofs.failures),
    ...listOf('reported', reported),
  ]
  return remarks.map((remark) => `    ${remark}`)
}

function listOf(what: string, counts: Reported): string[] {
  const entries = Object.entries(counts)
  if (entries.length === 0) return []
  return [`${what}: ${entries.map(([kind, count]) => `${kind} × ${count.toLocaleString('en')}`).join(', ')}`]
}

function milliseconds(value: number | undefined): string {
  return value === undefined ? '–' : value.toFixed(value < 10 ? 2 : 0)
}
