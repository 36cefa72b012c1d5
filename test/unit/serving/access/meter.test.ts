import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import t from 'tap'
import type { UnitRates } from '../../../../src/serving/access/allowances.js'
import {
  type Bucket,
  type BucketRates,
  burstMax,
  debtSecondsMax,
  Meter,
  meterBytes,
} from '../../../../src/serving/access/meter.js'
import { propertyRuns } from '../../../library/property.js'
import { once } from '../../../library/until.js'

/** Keys whose buckets have one group, so that they compete for rows. */
const neighbour = (index: number): string => `fff8${index.toString(16).padStart(7, '0')}1`

interface Rig {
  readonly meter: { allowanceOf(keyId: string): Bucket }
  readonly clock: { ms: number }
}

/** Buckets of one kind with the same rates. */
function openMeter({ unitsPerSecond, unitsBurst }: UnitRates, ms = 0): Rig {
  const clock = { ms }
  const meter = new Meter(undefined, () => clock.ms)
  const rates: BucketRates = { perSecond: unitsPerSecond, burst: unitsBurst }
  return { meter: { allowanceOf: (keyId) => meter.bucketOf(keyId, 0, rates) }, clock }
}

/** A token bucket by the textbook: filled at each whole tick, in integers without bounds. */
class TokenBucket {
  #units: bigint
  #tick = 0n
  readonly #rate: bigint
  readonly #burst: bigint

  constructor(rate: bigint, burst: bigint) {
    this.#rate = rate
    this.#burst = burst
    this.#units = burst
  }

  unitsAt(ms: number): bigint {
    const tick = (BigInt(ms) * this.#rate) / 1000n
    const units = this.#units + tick - this.#tick
    return units > this.#burst ? this.#burst : units
  }

  /** Below empty, by at most the inflow of a minute. */
  debit(units: number, ms: number): void {
    const left = this.unitsAt(ms) - BigInt(units)
    this.#units = left < -60n * this.#rate ? -60n * this.#rate : left
    this.#tick = (BigInt(ms) * this.#rate) / 1000n
  }

  charge(units: number, ms: number): boolean {
    const left = this.unitsAt(ms) - BigInt(units)
    if (left < 0n) return false
    this.#units = left
    this.#tick = (BigInt(ms) * this.#rate) / 1000n
    return true
  }
}

t.test('keys spend as from token buckets of their own, over any time', async (t) => {
  const step = fc.record({
    key: fc.nat(11),
    percent: fc.nat(100),
    debits: fc.nat(4).map((nth) => nth === 0),
    // In hundredths of the time that fills a bucket, or of the range of the clock.
    wait: fc.oneof(
      { weight: 5, arbitrary: fc.constant(['full', 0] as const) },
      { weight: 5, arbitrary: fc.tuple(fc.constant('full' as const), fc.nat(100)) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('era' as const), fc.nat(1_000)) },
    ),
  })
  const setup = fc.record({
    unitsPerSecond: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 1_000_000 })),
    unitsBurst: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: burstMax })),
    startMs: fc.nat(2_000_000_000),
    steps: fc.array(step, { minLength: 30, maxLength: 60, size: 'max' }),
  })
  let refused = 0
  fc.assert(
    fc.property(setup, ({ unitsPerSecond, unitsBurst, startMs, steps }) => {
      const { meter, clock } = openMeter({ unitsPerSecond, unitsBurst }, startMs)
      const allowances = Array.from({ length: 12 }, (_, key) => meter.allowanceOf(neighbour(key)))
      const buckets = allowances.map(() => new TokenBucket(BigInt(unitsPerSecond), BigInt(unitsBurst)))
      for (const { wait, key, percent, debits } of steps) {
        const [what, hundredths] = wait
        const ticks = what === 'full' ? unitsBurst : 2 ** 31
        clock.ms += Math.round((ticks * hundredths * 10) / unitsPerSecond)
        const bucket = buckets[key] as TokenBucket
        const units = Math.max(1, Math.round((unitsBurst * percent) / 100))
        if (debits) {
          allowances[key]?.debit(units)
          bucket.debit(units, clock.ms)
          continue
        }
        const waits = allowances[key]?.charge(units) as number
        if ((waits === 0) !== bucket.charge(units, clock.ms)) return false
        if (waits === 0) continue
        refused++
        if (bucket.unitsAt(clock.ms + waits) < units) return false
        // One millisecond may be due to rounding.
        if (waits > 1 && bucket.unitsAt(clock.ms + waits - 2) >= units) return false
      }
      return true
    }),
    propertyRuns(50),
  )
  t.ok(refused > 0, `${refused} charges were refused`)
})

t.test('a refused charge takes nothing, and the whole burst can be spent at once', async (t) => {
  const { meter, clock } = openMeter({ unitsPerSecond: 10, unitsBurst: 100 })
  const allowance = meter.allowanceOf(neighbour(0))
  t.equal(allowance.charge(100), 0)
  for (let i = 0; i < 10; i++) t.equal(allowance.charge(1), 100)
  clock.ms = 100
  t.equal(allowance.charge(1), 0)
  t.equal(allowance.charge(100), 10_000)
  t.equal(meter.allowanceOf(neighbour(0)).charge(1), 100, 'an allowance asked for again is the same')
  t.equal(meter.allowanceOf(neighbour(1)).charge(100), 0, 'another key has its own')
})

t.test(
  'a debt delays the next charge by as long as it takes to pay it back, and at most by a minute',
  async (t) => {
    const { meter, clock } = openMeter({ unitsPerSecond: 10, unitsBurst: 100 })
    const allowance = meter.allowanceOf(neighbour(0))
    allowance.debit(120)
    t.equal(allowance.charge(5), 2_500)
    clock.ms += 2_499
    t.equal(allowance.charge(5), 1)
    clock.ms += 1
    t.equal(allowance.charge(5), 0)
    allowance.debit(1_000_000)
    t.equal(allowance.charge(1), debtSecondsMax * 1_000 + 100)
    t.equal(meter.allowanceOf(neighbour(1)).charge(100), 0, 'another key owes nothing')
  },
)

t.test('places of full buckets are given to others, and nobody gains or loses by it', async (t) => {
  const { meter, clock } = openMeter({ unitsPerSecond: 10, unitsBurst: 100 })
  for (let key = 0; key < 1_000; key++) {
    const allowance = meter.allowanceOf(neighbour(key))
    if (allowance.charge(100) !== 0) t.fail(`key ${key} began without a full bucket`)
    if (allowance.charge(1) === 0) t.fail(`key ${key} spent more than it had`)
    // Each bucket is full again after 10 s; ten have a debt at a time.
    clock.ms += 1_000
  }
  t.equal(meter.allowanceOf(neighbour(0)).charge(100), 0)
})

t.test('where all places nearby are needed, whoever owes least is forgotten', async (t) => {
  const { meter } = openMeter({ unitsPerSecond: 10, unitsBurst: 100 })
  for (let key = 0; key < 16; key++) meter.allowanceOf(neighbour(key)).charge(50 + ((key + 7) % 16))
  t.equal(meter.allowanceOf(neighbour(16)).charge(100), 0)
  for (let key = 0; key < 16; key++) {
    const left = key === 9 ? 100 : 50 - ((key + 7) % 16)
    const allowance = meter.allowanceOf(neighbour(key))
    // Only a check: more than all would be refused for any key.
    t.equal(allowance.charge(101), (101 - left) * 100, `key ${key}`)
    if (key === 8) break
  }
})

t.test('threads over the same memory spend from the same buckets', async (t) => {
  const memory = new SharedArrayBuffer(meterBytes)
  const rates = { perSecond: 1_000, burst: 1_000 }
  // Each key is new to both threads at once. There are many keys, because the choice of a bucket's place is what can
  // fail.
  const keyIds = Array.from({ length: 500 }, (_, i) => `${(i * 32).toString(16).padStart(4, '0')}00000001`)
  const gate = new SharedArrayBuffer(4)
  const workerData = { memory, rates, keyIds, tries: rates.burst, threads: 2, gate }
  const options = { workerData, execArgv: [] }
  const threads = [0, 1].map(() => new Worker(new URL('./meterThread.js', import.meta.url), options))
  const got = await Promise.all(threads.map(async (thread) => (await once(thread, 'message'))[0] as number[]))
  const sums = keyIds.map((_, round) => got.reduce((sum, each) => sum + (each[round] ?? 0), 0))
  t.strictSame(
    sums,
    keyIds.map(() => rates.burst),
  )
})

t.test('a bucket larger than its ticks can tell is refused', async (t) => {
  const { meter } = openMeter({ unitsPerSecond: 1, unitsBurst: burstMax + 1 })
  t.throws(() => meter.allowanceOf(neighbour(0)), RangeError)
})

t.test('kinds of buckets and other rates stand for themselves', async (t) => {
  const clock = { ms: 5_000 }
  const meter = new Meter(undefined, () => clock.ms)
  const of = (kind: number, perSecond: number) => meter.bucketOf(neighbour(0), kind, { perSecond, burst: 10 })
  t.equal(of(0, 1).charge(10), 0)
  t.equal(of(0, 1).charge(1), 1_000)
  t.equal(of(1, 1).charge(10), 0, 'another kind')
  t.equal(of(0, 1_000).charge(10), 0, 'another rate')
  clock.ms += 10
  t.equal(of(0, 1_000).charge(10), 0, 'full again, while the slow one is not')
  t.equal(of(0, 1).charge(1), 990)
  t.equal(of(0, 1).spent, 10)
  of(0, 1).debit(-4)
  t.equal(of(0, 1).spent, 6)
})
