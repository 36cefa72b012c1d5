import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CpuClock } from '../../../bench/servers/cpuClock.js'

const pid = 7

/** The figures of a process in the system: ticks of 10 ms, and nanoseconds of each thread. */
function show(proc: string, ticks: number, threads: Readonly<Record<string, number>>): void {
  rmSync(join(proc, String(pid)), { recursive: true, force: true })
  mkdirSync(join(proc, String(pid), 'task'), { recursive: true })
  const fields = Array.from({ length: 40 }, () => 0)
  fields[11] = ticks - 1
  fields[12] = 1
  writeFileSync(join(proc, `${pid}/stat`), `${pid} (a (strange) name) S ${fields.slice(1).join(' ')}`)
  for (const [id, nanoseconds] of Object.entries(threads)) {
    mkdirSync(join(proc, `${pid}/task/${id}`))
    writeFileSync(join(proc, `${pid}/task/${id}/schedstat`), `${nanoseconds} 12 3\n`)
  }
}

t.test('nanoseconds of all threads are added, also of those that ended', async (t) => {
  const proc = t.testdir()
  const clock = new CpuClock(pid, proc)
  show(proc, 2, { 7: 15_000_001, 8: 5_000_002 })
  t.equal(clock.seconds()?.toFixed(9), '0.020000003')
  show(proc, 2, { 7: 15_000_003, 8: 5_000_004 })
  t.equal(clock.seconds()?.toFixed(9), '0.020000007', 'far less than a tick')
  show(proc, 2, { 7: 15_000_003 })
  t.equal(clock.seconds()?.toFixed(9), '0.020000007', 'of the ended one the last value counts')
  show(proc, 2, { 7: 15_000_003, 8: 1_000 })
  t.equal(clock.seconds()?.toFixed(9), '0.020001007', 'another thread got its id')
})

t.test('what no reading saw of a thread counts in ticks', async (t) => {
  const proc = t.testdir()
  const clock = new CpuClock(pid, proc)
  show(proc, 1, { 7: 10_000_001 })
  t.equal(clock.seconds()?.toFixed(9), '0.010000001')
  // A thread that began and ended meanwhile, and took between 30 and 50 ms.
  show(proc, 5, { 7: 20_000_001 })
  t.equal(clock.seconds()?.toFixed(9), '0.050000000')
  show(proc, 5, { 7: 20_000_003 })
  t.equal(clock.seconds()?.toFixed(9), '0.050000002')
})

t.test('ticks count where the system has no nanoseconds, and nothing is known of no process', async (t) => {
  const proc = t.testdir()
  const clock = new CpuClock(pid, proc)
  t.equal(clock.seconds(), undefined)
  show(proc, 3, {})
  t.equal(clock.seconds(), 0.03)
})

const hasNanoseconds = (() => {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[0]) > 0
  } catch {
    return false
  }
})()

t.test(
  'a process that works is read with what it knows of itself',
  { skip: hasNanoseconds ? false : 'this system does not count nanoseconds of threads' },
  async (t) => {
    const clock = new CpuClock(process.pid)
    const own = () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    }
    const before = clock.seconds() as number
    const ownBefore = own()
    while (own() - ownBefore < 0.5);
    const took = (clock.seconds() as number) - before
    // Threads that run during a reading count up to their last tick; the process has about ten.
    t.ok(took > 0.4 && took < 0.5 + (own() - ownBefore - 0.5) + 0.1, `${took} s`)
    const readings = new Set(Array.from({ length: 50 }, () => clock.seconds()))
    t.ok([...readings].some((seconds) => Math.abs(((seconds as number) * 100) % 1) > 1e-6))
  },
)
