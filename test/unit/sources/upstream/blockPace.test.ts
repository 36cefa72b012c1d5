/** Number of polls of a node for its head, and the delay of heads, over chains of many paces in simulated time. */
import t from 'tap'
import { BlockPace } from '../../../../src/sources/upstream/blockPace.js'
import { Dice, propertyRuns } from '../../../library/property.js'

const { seed = 0 } = propertyRuns(1)

/** Maximum wait of a watch for a head that is being fetched (headWatch.ts). */
const takingMsMax = 4_000

interface Course {
  readonly questionsPerHead: number
  readonly latenessMs: number
}

/** Timestamps of the blocks, the delay of polls, and the time to fetch a new head. */
interface Weather {
  readonly stamps?: readonly number[]
  readonly lateMs?: () => number
  readonly takeMs?: () => number
}

/** Polls a chain whose block `n` is there from `times[n]` on; counts after the first 20 blocks. */
function poll(
  times: readonly number[],
  pollMs: number,
  tripMs: () => number,
  { stamps = [], lateMs = () => 0, takeMs = () => 0 }: Weather = {},
): Course {
  const pace = new BlockPace(pollMs)
  const seen = new Set<number>()
  let now = 0
  let questions = 0
  let late = 0
  let next = 0
  let takenAt = 0
  const settled = 20
  while (next < times.length) {
    now += lateMs()
    const sent = now
    const trip = tripMs()
    while (next < times.length && (times[next] as number) <= sent + trip / 2) next++
    now += trip
    const head = next - 1
    if (head >= settled) questions++
    if (head >= 0 && !seen.has(head)) {
      seen.add(head)
      takenAt = now + takeMs()
      if (head >= settled) late += now - (times[head] as number)
    }
    if (head >= 0) pace.note(head, now, stamps[head])
    now += Math.min(Math.max(takenAt - now, 0), takingMsMax)
    now += pace.waitMs(sent, now)
  }
  const heads = [...seen].filter((head) => head >= settled).length
  return { questionsPerHead: questions / heads, latenessMs: late / heads }
}

const blocks = 400
for (const intervalMs of [250, 1_000, 2_000, 12_000]) {
  for (const pollMs of [50, 500, 1_000]) {
    t.test(`a block each ${intervalMs} ms, asked each ${pollMs} ms at first`, (t) => {
      const dice = new Dice(seed as number)
      const trip = () => 5 + dice.throw(20)
      const makeTimes = () => {
        let slot = 0
        return Array.from({ length: blocks }, () => {
          // One slot of a hundred has no block.
          slot += 1 + Number(dice.throw(100) === 0)
          return slot * intervalMs + dice.throw(Math.ceil(intervalMs / 100))
        })
      }
      // Among some fifty in one chain, several are by chance so close together that another pace is learned.
      const courses = dice.times(9, () => poll(makeTimes(), pollMs, trip))
      const medianOf = (name: keyof Course) =>
        courses.map((course) => course[name]).sort((one, other) => one - other)[4] as number
      const questionsPerHead = medianOf('questionsPerHead')
      const latenessMs = medianOf('latenessMs')
      t.comment(JSON.stringify({ questionsPerHead, latenessMs }))
      // With polls within 50 ms, more are early if blocks come some 10 ms earlier or later.
      t.ok(questionsPerHead <= (pollMs <= intervalMs / 20 ? 2 : 1.25), `${questionsPerHead}`)
      t.ok(latenessMs <= intervalMs / 8 + 50, `${latenessMs} ms`)
      t.end()
    })
  }
}

/** Blocks in slots, each late by chance, by at most `lateMs`; their timestamps are those of the slots. */
function slotsLate(dice: Dice, intervalMs: number, lateMs: number) {
  const times: number[] = []
  const stamps: number[] = []
  let slot = 0
  for (let count = 0; count < blocks; count++) {
    slot += 1 + Number(dice.throw(100) === 0)
    const at = slot * intervalMs + dice.throw(lateMs)
    times.push(Math.max(at, times.at(-1) ?? 0))
    stamps.push(1_700_000_000 + (slot * intervalMs) / 1_000)
  }
  return { times, stamps }
}

for (const intervalMs of [1_000, 2_000, 12_000]) {
  for (const load of [0.1, 0.3, 0.6]) {
    t.test(`a block each ${intervalMs} ms, and a machine with a load of ${load}`, (t) => {
      const dice = new Dice(seed as number)
      // Blocks, timers and answers are late.
      const delayMs = Math.ceil(load * intervalMs)
      const lateMs = () => dice.throw(Math.min(delayMs, 300))
      for (const pollMs of [50, 250, 1_000]) {
        const courses = dice.times(9, () => {
          const { times, stamps } = slotsLate(dice, intervalMs, delayMs)
          return poll(times, pollMs, () => 5 + dice.throw(20) + lateMs(), { stamps, lateMs })
        })
        const counts = courses.map(({ questionsPerHead }) => questionsPerHead).sort((a, b) => a - b)
        t.comment(`asked each ${pollMs} ms at first: ${counts.map((each) => each.toFixed(2)).join(' ')}`)
        const most = pollMs < intervalMs / 20 ? 1.5 : 1.2
        t.ok((counts[4] as number) <= most, `${counts[4]} questions a head`)
      }
      t.end()
    })
  }
}

for (const intervalMs of [1_000, 2_000, 12_000]) {
  t.test(`a block each ${intervalMs} ms, and heads that are fetched for long`, (t) => {
    const dice = new Dice(seed as number)
    for (const share of [0.1, 0.5, 0.9, 1.5, 3]) {
      const delayMs = Math.ceil(intervalMs / 10)
      const lateMs = () => dice.throw(Math.min(delayMs, 300))
      const takeMs = () => (share + dice.throw(100) / 1_000) * intervalMs
      const courses = dice.times(9, () => {
        const { times, stamps } = slotsLate(dice, intervalMs, delayMs)
        return poll(times, 250, () => 5 + dice.throw(20) + lateMs(), { stamps, lateMs, takeMs })
      })
      const counts = courses.map(({ questionsPerHead }) => questionsPerHead).sort((a, b) => a - b)
      t.comment(`for ${share} of an interval: ${counts.map((each) => each.toFixed(2)).join(' ')}`)
      // With the one batch that fetches a head, these are at most 2.2 requests.
      t.ok((counts[4] as number) <= 1.2, `${counts[4]} polls for each head that was heard of`)
    }
    t.end()
  })
}

t.test('timestamps that were invented count for nothing', (t) => {
  const pace = new BlockPace(100)
  // Blocks of one moment: a developer node gives each a timestamp of its own.
  for (let number = 0; number < 20; number++) pace.note(number, number * 10 + (number % 3), 1_000 + number)
  t.ok((pace.intervalMs ?? 0) < 100, `${pace.intervalMs}`)
  t.end()
})

t.test('blocks that come by chance are asked for as often as the operator says', (t) => {
  const dice = new Dice(seed as number)
  const trip = () => 5 + dice.throw(20)
  let now = 0
  const times = Array.from({ length: blocks }, () => {
    now += -Math.log((1 + dice.throw(1_000)) / 1_001) * 4_000
    return now
  })
  const { latenessMs } = poll(times, 100, trip)
  t.ok(latenessMs < 400, `${latenessMs} ms`)
  t.end()
})

t.test('a chain that becomes faster is heard of soon, and a lower head begins anew', (t) => {
  const pace = new BlockPace(100)
  for (let number = 0; number < 20; number++) pace.note(number, number * 12_000)
  t.equal(pace.intervalMs, 12_000)
  const begun = 20 * 12_000
  let number = 20
  let now = begun
  while (pace.intervalMs !== undefined && pace.intervalMs > 2_000 && now < begun + 120_000) {
    now += pace.waitMs(now, now)
    number = 20 + Math.floor((now - begun) / 1_000)
    pace.note(number, now)
  }
  t.ok(now - begun < 40_000, `${now - begun} ms`)
  pace.note(3, now + 1)
  pace.note(4, now + 2)
  t.equal(pace.waitMs(now, now + 3) <= 12_000, true)
  t.end()
})
