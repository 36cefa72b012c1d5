/** Keys share real threads by time, with turns, for any jobs of one key. */
import t, { type Test } from 'tap'
import { type Fault, FaultError } from '../../../src/primitives/faults.js'
import { RequestContext } from '../../../src/serving/rpc/contexts/requestContext.js'
import { until } from '../../library/until.js'
import { openTestPool, type TestJobs } from '../../pool/poolJobs.js'

type OpenPool = ReturnType<typeof openTestPool>

async function open(t: Test, options: Parameters<typeof openTestPool>[0] = {}): Promise<OpenPool> {
  const opened = openTestPool(options)
  t.teardown(() => opened.pool.close(0))
  await opened.pool.start()
  return opened
}

class Asker extends RequestContext {
  cpuMs = 0
  /** Jobs that were reported as run. */
  runs = 0
  readonly #opened: OpenPool

  constructor(opened: OpenPool, id: string) {
    super(undefined, { key: { id } })
    this.#opened = opened
  }

  run<N extends keyof TestJobs>(name: N, args: TestJobs[N]['args']): Promise<TestJobs[N]['result']> {
    return this.#opened.pool.run(name, { network: undefined, args }, this)
  }

  override ran(cpuMs: number): void {
    this.cpuMs += cpuMs
    this.runs++
  }
}

async function faultOf(promise: Promise<unknown>): Promise<Fault | undefined> {
  return promise.then(
    () => undefined,
    (thrown) => (thrown instanceof FaultError ? thrown.fault : undefined),
  )
}

/** Longer than any test here: such a job ends because its owner leaves. */
const endless = { ms: 60_000 }

t.test('endless jobs hold one thread less than there are, once others come', async (t) => {
  const opened = await open(t, { threads: 2 })
  const attacker = new Asker(opened, 'attacker')
  const loops = Array.from({ length: 5 }, () => faultOf(attacker.run('execute', endless)))
  t.match(opened.pool.counts, { running: 2, waiting: 3 }, 'both threads while nobody else comes')
  const victim = new Asker(opened, 'victim')
  for (let i = 0; i < 20; i++) t.equal(await victim.run('execute', { ms: 1 }), null)
  t.equal(await victim.run('echo', 'a proof'), 'a proof')
  t.ok(opened.pool.counts.interrupted > 0)
  attacker.finish()
  t.notOk((await Promise.all(loops)).includes(undefined), 'none came to a result')
  t.match(opened.pool.counts, { waiting: 0, running: 0, threadsLost: 0, cancelled: 5 })
})

t.test('a job that gave its thread up begins anew and comes to its result', async (t) => {
  const opened = await open(t, { threads: 2 })
  const attacker = new Asker(opened, 'attacker')
  const loop = faultOf(attacker.run('execute', endless))
  const heavy = new Asker(opened, 'heavy')
  let isDone = false
  const long = heavy.run('execute', { ms: 300 }).then((result) => {
    isDone = true
    return result
  })
  // Each job has a key of its own, so that no key has used time before.
  let victims = 0
  while (!isDone && victims < 10) {
    t.equal(await new Asker(opened, `victim${victims++}`).run('execute', { ms: 5 }), null)
  }
  attacker.finish()
  t.equal(await long, null)
  t.equal(heavy.runs, 1, 'what it did before it began anew is not charged')
  await loop
})

t.test('a job that waits has its turn in time, though nothing else comes', async (t) => {
  const opened = await open(t, { threads: 2 })
  const startMs = performance.now()
  const attacker = new Asker(opened, 'attacker')
  const loop = faultOf(attacker.run('execute', endless))
  const heavy = new Asker(opened, 'heavy')
  const long = heavy.run('execute', { ms: 300 })
  await until(() => performance.now() > startMs + 200)
  // The interrupted job has used the same time as the other one.
  await new Asker(opened, 'victim').run('execute', { ms: 1 })
  t.equal(await long, null)
  t.equal(attacker.runs, 0, 'the other one still runs or waits')
  attacker.finish()
  await loop
})

t.test('one key alone is not interrupted for its own sake', async (t) => {
  const opened = await open(t, { threads: 2 })
  const asker = new Asker(opened, 'asker')
  // Three turns each.
  await Promise.all(Array.from({ length: 6 }, () => asker.run('execute', { ms: 60 })))
  t.match(opened.pool.counts, { finished: 6, interrupted: 0 })
})

t.test('between two jobs of one key all others that wait are served, and none loses its place', async (t) => {
  // A single thread, so that the queue decides the order.
  const opened = await open(t, { threads: 1 })
  const order: string[] = []
  const attacker = new Asker(opened, 'attacker')
  const first = attacker.run('execute', { ms: 300 }).then(() => order.push('attacker'))
  const more = Array.from({ length: 50 }, () =>
    attacker.run('execute', { ms: 10 }).then(() => order.push('attacker')),
  )
  const victims = Array.from({ length: 10 }, (_, at) => new Asker(opened, `victim${at}`))
  const served = victims.flatMap((victim, at) => [
    victim.run('execute', { ms: 1 }).then(() => order.push(`execute ${at}`)),
    victim.run('echo', at).then(() => order.push(`proof ${at}`)),
  ])
  await Promise.all(served)
  t.strictSame(
    order.filter((who) => who === 'attacker').length,
    1,
    `only what ran already came first: ${order.slice(0, 25).join(', ')}`,
  )
  attacker.finish()
  await Promise.allSettled([first, ...more])
})

t.test('a key that fills a queue loses its newest jobs to others', async (t) => {
  const opened = await open(t, { threads: 2, classes: { turns: { waitingMax: 20 } } })
  const attacker = new Asker(opened, 'attacker')
  const flood = Array.from({ length: 500 }, () => faultOf(attacker.run('execute', endless)))
  const victims = Array.from({ length: 10 }, (_, at) => new Asker(opened, `victim${at}`))
  const served = await Promise.all(victims.map((victim) => faultOf(victim.run('execute', { ms: 1 }))))
  t.strictSame(served, Array(10).fill(undefined))
  attacker.finish()
  const kinds = (await Promise.all(flood)).map((fault) => fault?.kind)
  t.ok(kinds.filter((kind) => kind === 'ServerBusy').length >= 488, 'all but what ran and waited')
  t.equal(kinds.includes(undefined), false)
})

t.test('what a job took of a thread is told before its outcome', async (t) => {
  const opened = await open(t, { threads: 2, graceMs: 20 })
  const asker = new Asker(opened, 'asker')
  await asker.run('execute', { ms: 30 })
  t.equal(asker.runs, 1)
  t.ok(asker.cpuMs > 0 && asker.cpuMs < 60_000, `${asker.cpuMs} ms`)
  await faultOf(asker.run('throwFault', { kind: 'HeaderNotFound' }))
  t.equal(asker.runs, 2, 'for one that fails too')
  await asker.run('exit', 1).catch(() => undefined)
  t.equal(asker.runs, 3, 'and for one whose thread dies')
  const stubborn = asker.run('stubborn', endless)
  // Long enough for the other thread to be in the midst of it.
  await new Asker(opened, 'other').run('work', { ms: 50 })
  asker.finish()
  await faultOf(stubborn)
  t.equal(asker.runs, 4, 'and for one that did not stop')
})

t.test('jobs that may be short are handed over together, and one that is not is done alone', async (t) => {
  const opened = await open(t, { threads: 1 })
  const asker = new Asker(opened, 'asker')
  const first = asker.run('dash', { name: 'first', looks: 1_000_000 })
  const shorts = ['a', 'b', 'c'].map((name) => asker.run('dash', { name, looks: 3 }))
  const long = asker.run('dash', { name: 'long', looks: 1_000 })
  const later = ['d', 'e', 'f', 'g', 'h'].map((name) => asker.run('dash', { name, looks: 3 }))
  t.equal(await first, 1, 'it was alone from the beginning')
  t.same(await Promise.all([...shorts, ...later]), Array(8).fill(1))
  t.equal(await long, 2, 'on trial, and then alone')
  t.match(opened.pool.counts, { waiting: 0, running: 0, finished: 10, failed: 0, interrupted: 0 })
  t.equal(asker.runs, 10)
})

t.test('nobody waits for many jobs on trial, and who leaves meanwhile has not begun', async (t) => {
  const opened = await open(t, { threads: 1 })
  const asker = new Asker(opened, 'asker')
  const gone = new Asker(opened, 'asker')
  const first = asker.run('dash', { name: 'first', looks: 1, ms: 20 })
  const slow = Array.from({ length: 4 }, (_, at) =>
    asker.run('dash', { name: `slow${at}`, looks: 1, ms: 20 }),
  )
  const left = faultOf(gone.run('dash', { name: 'left', looks: 1 }))
  await first
  t.equal(opened.pool.counts.running, 5, 'all in one group')
  gone.finish()
  t.same(await left, { kind: 'RequestTimedOut' })
  t.same(await Promise.all(slow), [1, 1, 1, 1], 'each was begun once')
  t.equal(await asker.run('dash', { name: 'left', looks: 1 }), 1, 'who left was not')
  t.match(opened.pool.counts, { waiting: 0, running: 0, threadsLost: 0 })
})

/** Gets parts, and passes them on while it `takesParts`. */
class PartAsker extends Asker {
  readonly parts: number[] = []
  takesParts = true

  takePart(part: Uint8Array, taken: () => void): void {
    this.parts.push(part[0] as number)
    if (this.takesParts) taken()
  }
}

t.test('a job that began anew gives the parts that it had not given, each once', async (t) => {
  const opened = await open(t, { threads: 2 })
  const attacker = new Asker(opened, 'attacker')
  const loop = faultOf(attacker.run('execute', endless))
  const heavy = new PartAsker(opened, 'heavy')
  let isDone = false
  // Each part takes less than the first turn.
  const reported = heavy.run('tell', { count: 40, ms: 10 }).finally(() => {
    isDone = true
  })
  let victims = 0
  while (!isDone && (opened.pool.counts.interrupted < 3 || victims < 10)) {
    t.equal(await new Asker(opened, `victim${victims++}`).run('execute', { ms: 5 }), null)
  }
  await reported
  t.strictSame(
    heavy.parts,
    Array.from({ length: 40 }, (_, part) => part),
  )
  t.ok(opened.pool.counts.interrupted > 0)
  attacker.finish()
  await loop
})

t.test('jobs whose parts nobody takes leave the threads to others', async (t) => {
  const opened = await open(t, { threads: 2 })
  const attackers = Array.from({ length: 4 }, () => new PartAsker(opened, 'attacker'))
  const reported = attackers.map((attacker) => {
    attacker.takesParts = false
    return faultOf(attacker.run('tell', { count: 40, ms: 1 }))
  })
  await until(() => attackers.filter(({ parts }) => parts.length >= 4).length >= 2)
  const victim = new Asker(opened, 'victim')
  for (let i = 0; i < 5; i++) {
    t.equal(await victim.run('execute', { ms: 1 }), null)
    t.equal(await victim.run('echo', i), i)
  }
  // The number of untaken parts does not grow when a job begins again.
  for (const { parts } of attackers) t.ok(parts.length <= 5, `${parts.length} parts on their way`)
  for (const attacker of attackers) attacker.finish()
  await Promise.all(reported)
})
