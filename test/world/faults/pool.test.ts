/** The pool with real threads that crash, loop, use too much memory and get too many jobs. */
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { defer } from '../../../src/primitives/deferred.js'
import { type Fault, FaultError } from '../../../src/primitives/faults.js'
import { decodeReply, encodeArgs } from '../../../src/serving/pool/messages.js'
import { RequestContext } from '../../../src/serving/rpc/contexts/requestContext.js'
import { until } from '../../library/until.js'
import { openTestPool, type TestJobs } from '../../pool/poolJobs.js'

type OpenPool = ReturnType<typeof openTestPool>

function run<N extends keyof TestJobs>(
  { pool }: OpenPool,
  name: N,
  args: TestJobs[N]['args'],
  owner?: RequestContext,
) {
  return pool.run(name, { network: undefined, args }, owner)
}

/** The fault with which a promise rejects. */
async function faultOf(promise: Promise<unknown>): Promise<Fault | string> {
  try {
    await promise
    return 'no fault'
  } catch (thrown) {
    return thrown instanceof FaultError ? thrown.fault : `thrown: ${String(thrown)}`
  }
}

async function open(t: Test, options: Parameters<typeof openTestPool>[0] = {}): Promise<OpenPool> {
  const opened = openTestPool(options)
  t.teardown(() => opened.pool.close(0))
  await opened.pool.start()
  return opened
}

/** Waits until jobs have settled, with any outcome. */
async function ended(...jobs: Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(jobs)
}

t.test(
  'a job answers with what its thread computed, in memory that the thread no longer holds',
  async (t) => {
    const opened = await open(t, { threads: 1 })
    const bytes = await run(opened, 'fill', { bytes: 300_000, value: 7 })
    t.equal(bytes.length, 300_000)
    t.ok(bytes.every((byte) => byte === 7))
    t.equal(await run(opened, 'leftBehind', null), 0)
  },
)

t.test('jobs of another thread pass as bytes, with their results and faults', async (t) => {
  const { pool } = await open(t, { threads: 1 })
  const encoded = (name: keyof TestJobs, args: unknown) =>
    pool.runEncoded({ name, network: undefined, args: encodeArgs(args) }, new RequestContext())
  const values = Array.from({ length: 20 }, (_, index) => ({ index, big: 2n ** 70n }))
  const replies = await Promise.all(values.map((value) => encoded('echo', value)))
  t.strictSame(replies.map(decodeReply), values, 'those of one group as well')
  const fault: Fault = { kind: 'ServerBusy', retryAfterMs: 7 }
  t.strictSame(await faultOf(encoded('throwFault', fault)), fault)
  t.match(pool.counts, { finished: 20, failed: 1 })
})

t.test('a job that says what has to be fetched first has not failed', async (t) => {
  const opened = await open(t, { threads: 1 })
  await t.rejects(run(opened, 'lackBlock', 7), { name: 'NotStoredError', message: 'not stored: block 7' })
  t.match(opened.pool.counts, { finished: 1, failed: 0 })
})

t.test('a full queue refuses at once, with a hint that follows the work that waits', async (t) => {
  const opened = await open(t, { threads: 2, classes: { execute: { waitingMax: 3 } } })
  await run(opened, 'spin', { ms: 300 })
  const owner = new RequestContext()
  const taken = [1, 2, 3, 4].map(() => run(opened, 'spin', { ms: 60_000 }, owner))
  const fault = await faultOf(run(opened, 'spin', { ms: 1 }, owner))
  t.match(fault, { kind: 'ServerBusy' })
  const { retryAfterMs } = fault as Fault & { kind: 'ServerBusy' }
  t.ok(retryAfterMs >= 1_000 && retryAfterMs <= 30_000, `4 jobs of 300 ms come first: ${retryAfterMs} ms`)
  t.equal(await run(opened, 'echo', 'another class'), 'another class')
  t.match(opened.pool.counts, { refused: 1, waiting: 3, running: 1 })
  owner.finish()
  await ended(...taken)
})

t.test('arguments of a job that a full queue refuses are not encoded', async (t) => {
  const opened = await open(t, { threads: 1, classes: { proof: { waitingMax: 2 } } })
  const blocker = new RequestContext()
  const other = new RequestContext(undefined, { key: { id: 'other' } })
  const spinning = run(opened, 'spin', { ms: 60_000 }, blocker)
  let encoded = 0
  const args = {
    get counted() {
      return ++encoded
    },
  }
  const waiting = [run(opened, 'echo', args), run(opened, 'echo', args)]
  t.equal(encoded, 2)
  t.match(await faultOf(run(opened, 'echo', args)), { kind: 'ServerBusy' })
  t.equal(encoded, 2)
  const others = run(opened, 'echo', args, other)
  t.equal(encoded, 3, 'a key with less there takes a place')
  t.match(await faultOf(waiting[1] as Promise<unknown>), { kind: 'ServerBusy' })
  blocker.finish()
  await ended(spinning, waiting[0] as Promise<unknown>, others)
  t.match(opened.pool.counts, { refused: 2, waiting: 0 })
})

t.test('arguments that wait are bounded in bytes', async (t) => {
  const opened = await open(t, { threads: 1, waitingBytesMax: 100_000 })
  const owner = new RequestContext()
  const blocker = run(opened, 'spin', { ms: 60_000 }, owner)
  const waiting = run(opened, 'echo', new Uint8Array(90_000))
  t.match(await faultOf(run(opened, 'echo', new Uint8Array(20_000))), { kind: 'ServerBusy' })
  owner.finish()
  await ended(blocker)
  t.equal(((await waiting) as Uint8Array).length, 90_000)
  t.equal(
    ((await run(opened, 'echo', new Uint8Array(90_000))) as Uint8Array).length,
    90_000,
    'room is given back',
  )
})

t.test('a flood of one class delays a job of another by a bounded number of jobs', async (t) => {
  const opened = await open(t, { threads: 2 })
  let finishedBefore = 0
  const flood = Array.from({ length: 200 }, () =>
    run(opened, 'spin', { ms: 2 }).then(() => {
      finishedBefore++
    }),
  )
  const proofs = Array.from({ length: 50 }, () => run(opened, 'fill', { bytes: 1, value: 1 }))
  await run(opened, 'work', { ms: 0 })
  // One job may already run, and one may start before the proof while proofs have their turn.
  t.ok(finishedBefore <= 3, `${finishedBefore} jobs of the flood came first`)
  await Promise.all([...flood, ...proofs])
})

t.test('a class never holds all threads', async (t) => {
  const opened = await open(t, { threads: 3 })
  const owner = new RequestContext()
  const long = [1, 2, 3, 4].map(() => run(opened, 'spin', { ms: 60_000 }, owner))
  t.equal(await run(opened, 'echo', 1), 1)
  t.match(opened.pool.counts, { running: 2, waiting: 2 })
  owner.finish()
  await ended(...long)
})

t.test('a job whose deadline passes while it waits is a fault, and never runs', async (t) => {
  const opened = await open(t, { threads: 1, classes: { proof: { deadlineMsMax: 50 } } })
  const owner = new RequestContext()
  const blocker = run(opened, 'spin', { ms: 60_000 }, owner)
  t.strictSame(await faultOf(run(opened, 'echo', 1)), { kind: 'RequestTimedOut' })
  t.match(opened.pool.counts, { waiting: 0, running: 1 })
  owner.finish()
  await ended(blocker)
})

t.test('a running job is told when its time is over', async (t) => {
  const opened = await open(t, { classes: { execute: { runMsMax: 500 } } })
  t.equal(await run(opened, 'spin', { ms: 1 }), true, 'its code is loaded')
  t.equal(await run(opened, 'spin', { ms: 60_000 }), false)
  t.strictSame(opened.losses, [])
})

t.test(
  'a job that does not stop in time loses its thread, and its caller gets the fault of its class',
  async (t) => {
    const opened = await open(t, { graceMs: 50, classes: { execute: { runMsMax: 500 } } })
    t.equal(await run(opened, 'spin', { ms: 1 }), true, 'its code is loaded')
    const fault = await faultOf(run(opened, 'stubborn', { ms: 60_000 }))
    t.strictSame(fault, { kind: 'ExecutionTimedOut', limitSeconds: 30 })
    await until(() => opened.losses.length > 0)
    t.match(opened.losses, [{ job: 'stubborn', why: 'stopped' }])
    t.equal(await run(opened, 'spin', { ms: 1 }), true, 'the next one runs')
  },
)

t.test(
  'a job that gets no CPU to stop with keeps its thread, and its caller does not wait for it',
  async (t) => {
    // The job sleeps for many times the grace before it checks, like a thread without a core.
    const opened = await open(t, { graceMs: 100, classes: { execute: { runMsMax: 500 } } })
    t.equal(await run(opened, 'spin', { ms: 1 }), true, 'its code is loaded')
    const dozing = run(opened, 'doze', { ms: 2_000, times: 10 })
    t.strictSame(await faultOf(dozing), { kind: 'ExecutionTimedOut', limitSeconds: 30 })
    t.equal(opened.pool.counts.running, 1, 'it still sleeps')
    await until(() => opened.pool.counts.running === 0)
    t.strictSame(opened.losses, [])
  },
)

t.test('a job that does not stop loses its thread at last, though it uses no CPU', async (t) => {
  const opened = await open(t, { graceMs: 10, classes: { execute: { runMsMax: 500 } } })
  t.equal(await run(opened, 'spin', { ms: 1 }), true, 'its code is loaded')
  t.match(await faultOf(run(opened, 'doze', { ms: 60_000, times: 2 })), { kind: 'ExecutionTimedOut' })
  await until(() => opened.losses.length > 0)
  t.match(opened.losses, [{ job: 'doze', why: 'stopped' }])
})

t.test('a deadline that passes while a job runs is the fault of the request', async (t) => {
  const opened = await open(t, { graceMs: 50, classes: { execute: { deadlineMsMax: 50 } } })
  t.strictSame(await faultOf(run(opened, 'stubborn', { ms: 60_000 })), { kind: 'RequestTimedOut' })
})

t.test('a waiting job whose owner goes leaves the queue', async (t) => {
  const opened = await open(t, { threads: 1 })
  const blockerOwner = new RequestContext()
  const owner = new RequestContext()
  const blocker = run(opened, 'spin', { ms: 60_000 }, blockerOwner)
  const waiting = run(opened, 'echo', 1, owner)
  const unrelated = run(opened, 'echo', 2)
  owner.finish()
  t.strictSame(await faultOf(waiting), { kind: 'RequestTimedOut' })
  t.match(opened.pool.counts, { waiting: 1, running: 1, cancelled: 1 })
  blockerOwner.finish()
  await ended(blocker)
  t.equal(await unrelated, 2)
  t.match(
    await faultOf(run(opened, 'echo', 3, owner)),
    { kind: 'RequestTimedOut' },
    'nothing is begun for it',
  )
})

t.test('a running job whose owner goes stops by itself and keeps its thread', async (t) => {
  const opened = await open(t)
  const owner = new RequestContext()
  const spinning = run(opened, 'spin', { ms: 60_000 }, owner)
  // Long enough for the other thread to be in the midst of it.
  await run(opened, 'work', { ms: 50 })
  owner.finish()
  const outcome = await spinning.catch(() => faultOf(spinning))
  // On a slow machine the owner may leave before the job begins.
  t.ok(outcome === false || isDeepStrictEqual(outcome, { kind: 'RequestTimedOut' }))
  t.match(opened.pool.counts, { cancelled: 1, threadsLost: 0 })
})

t.test('short jobs that wait are handed over together, and each is its own', async (t) => {
  const opened = await open(t)
  const owner = new RequestContext()
  const before = run(opened, 'linger', { ms: 20 })
  const together = Array.from({ length: 9 }, (_, i) => run(opened, 'echo', i, i === 5 ? owner : undefined))
  t.match(opened.pool.counts, { waiting: 9, running: 1 }, 'the other thread is left to other classes')
  await before
  t.match(opened.pool.counts, { waiting: 1, running: 8 })
  owner.finish()
  const outcomes = await Promise.all(together.map((job) => job.catch(() => faultOf(job))))
  // The job may or may not have its turn before its owner leaves.
  t.ok(outcomes[5] === 5 || isDeepStrictEqual(outcomes[5], { kind: 'RequestTimedOut' }))
  t.strictSame(outcomes.toSpliced(5, 1), [0, 1, 2, 3, 4, 6, 7, 8])
  t.match(opened.pool.counts, { waiting: 0, running: 0, threadsLost: 0 })
})

t.test('a thread leaves short jobs that wait to others that may take them', async (t) => {
  const opened = await open(t, { threads: 3 })
  const before = run(opened, 'linger', { ms: 20 })
  const longer = run(opened, 'linger', { ms: 200 })
  const waiting = Array.from({ length: 7 }, (_, i) => run(opened, 'echo', i))
  await before
  t.match(opened.pool.counts, { waiting: 3, running: 5 })
  await ended(longer, ...waiting)
})

t.test('what was handed over with a job that would not stop runs again', async (t) => {
  const opened = await open(t, { graceMs: 20 })
  const owner = new RequestContext()
  const before = run(opened, 'linger', { ms: 20 })
  const culprit = faultOf(run(opened, 'linger', { ms: 60_000 }, owner))
  const gone = new RequestContext()
  const cancelled = faultOf(run(opened, 'echo', 0, gone))
  const together = [1, 2].map((value) => run(opened, 'echo', value))
  await before
  t.match(opened.pool.counts, { waiting: 0, running: 4 })
  // Long enough for the thread to be in the midst of it.
  await run(opened, 'work', { ms: 50 })
  owner.finish()
  gone.finish()
  t.strictSame(await culprit, { kind: 'RequestTimedOut' })
  t.strictSame(await cancelled, { kind: 'RequestTimedOut' }, 'whose caller has gone does not wait again')
  t.strictSame(await Promise.all(together), [1, 2])
  await until(() => opened.losses.length > 0)
  t.match(opened.losses, [{ job: 'linger', why: 'stopped' }])
  t.equal(await run(opened, 'echo', 3), 3)
  await until(() => opened.pool.counts.running === 0)
  t.match(opened.pool.counts, { waiting: 0, threadsLost: 1 })
})

t.test('of a group whose thread dies those alone fail that it dies of', async (t) => {
  const opened = await open(t)
  const keyed = (id: string) => new RequestContext(undefined, { key: { id } })
  const before = run(opened, 'linger', { ms: 20 })
  const culprits = [1, 2].map((code) => {
    const outcome = run(opened, 'quit', code, keyed('attacker'))
    return t.rejects(outcome, { message: new RegExp(`exited with code: ${code}`) })
  })
  const victims = Array.from({ length: 20 }, (_, i) => run(opened, 'echo', i, keyed(`victim ${i % 2}`)))
  await before
  t.strictSame(
    await Promise.all(victims),
    victims.map((_, i) => i),
  )
  await Promise.all(culprits)
  await until(() => opened.pool.counts.running === 0)
  const named = opened.losses.filter(({ job }) => job !== undefined)
  t.match(named, [
    { job: 'quit', keyId: 'attacker', why: 'died' },
    { job: 'quit', keyId: 'attacker', why: 'died' },
  ])
  t.equal(await run(opened, 'echo', 'later'), 'later')
})

t.test('a running job that ignores that its owner has gone loses its thread', async (t) => {
  const opened = await open(t, { graceMs: 50 })
  const owner = new RequestContext(undefined, { key: { id: '0123456789ab' } })
  const others = Array.from({ length: 20 }, (_, i) => run(opened, 'echo', i))
  const stubborn = run(opened, 'stubborn', { ms: 60_000 }, owner)
  await run(opened, 'work', { ms: 50 })
  owner.finish()
  t.match(await faultOf(stubborn), { kind: 'RequestTimedOut' })
  await until(() => opened.losses.length > 0)
  t.match(opened.losses, [{ job: 'stubborn', keyId: '0123456789ab', why: 'stopped' }])
  t.strictSame(
    await Promise.all(others),
    Array.from({ length: 20 }, (_, i) => i),
  )
})

for (const [name, args, says] of [
  ['exit', 3, /exited with code: 3/],
  ['throwOutside', 'nobody caught me', /nobody caught me/],
  ['allocate', null, /memory/],
] as const) {
  t.test(`${name}: the job whose thread dies fails, the others do not notice`, async (t) => {
    const opened = await open(t)
    const before = Array.from({ length: 20 }, (_, i) => run(opened, 'echo', i))
    const dying = run(opened, name, args as never)
    const after = Array.from({ length: 20 }, (_, i) => run(opened, 'echo', i))
    await t.rejects(dying, { message: says })
    t.strictSame(await Promise.all([...before, ...after]), [...Array(20).keys(), ...Array(20).keys()])
    t.match(opened.losses, [{ job: name, why: 'died' }])
    t.equal(await run(opened, 'spin', { ms: 1 }), true, 'the class goes on')
  })
}

t.test('what a job throws reaches its caller: faults whole, defects with message and stack', async (t) => {
  const opened = await open(t)
  const fault: Fault = { kind: 'ExecutionReverted', reason: 'no', data: Uint8Array.of(1, 2, 3) }
  t.strictSame(await faultOf(run(opened, 'throwFault', fault)), fault)
  await t.rejects(run(opened, 'throwError', 'a bug'), {
    name: 'JobDefect',
    message: 'a bug',
    stack: /poolThread/,
  })
  t.strictSame(opened.losses, [], 'the thread lives on')
})

t.test('300 mixed jobs at once each get their own answer', async (t) => {
  const opened = await open(t, { graceMs: 100 })
  const owner = new RequestContext()
  const checks = Array.from({ length: 300 }, async (_, i) => {
    switch (i % 10) {
      case 0:
        return (await run(opened, 'spin', { ms: 1 })) === true
      case 1: {
        const fault: Fault = { kind: 'GasExceedsAllowance', allowance: BigInt(i) }
        return isDeepStrictEqual(await faultOf(run(opened, 'throwFault', fault)), fault)
      }
      case 2: {
        const bytes = await run(opened, 'fill', { bytes: i, value: i % 256 })
        return bytes.length === i && bytes.every((byte) => byte === i % 256)
      }
      case 3:
        return (await run(opened, 'work', { ms: 0 })) === null
      case 4:
        // A tenth of these jobs kill their thread.
        if (i % 100 === 4)
          return run(opened, 'exit', i).then(
            () => false,
            (error: Error) => /exited/.test(error.message),
          )
        return run(opened, 'throwError', String(i)).then(
          () => false,
          (error: Error) => error.message === String(i),
        )
      case 5:
        // Its owner leaves: a running job stops, a waiting job never runs.
        return run(opened, 'spin', { ms: 60_000 }, owner).then(
          (hasFinished) => !hasFinished,
          (thrown) => thrown instanceof FaultError && thrown.fault.kind === 'RequestTimedOut',
        )
      default: {
        const answer = (await run(opened, 'echo', { i, word: 2n ** BigInt(i % 256) })) as {
          i: number
          word: bigint
        }
        return answer.i === i && answer.word === 2n ** BigInt(i % 256)
      }
    }
  })
  await until(() => opened.pool.counts.finished > 50)
  owner.finish()
  const answers = await Promise.all(checks)
  t.strictSame(
    answers.flatMap((isRight, i) => (isRight ? [] : [i])),
    [],
  )
  const { finished, failed, waiting, running } = opened.pool.counts
  t.strictSame({ waiting, running, all: finished + failed }, { waiting: 0, running: 0, all: 300 })
})

t.test('closing lets jobs finish that run and wait, and refuses new ones', async (t) => {
  const { pool } = openTestPool({ threads: 1 })
  const jobs = Array.from({ length: 10 }, (_, i) => pool.run('echo', { network: undefined, args: i }))
  const closed = pool.close(1_800_000)
  t.match(await faultOf(pool.run('echo', { network: undefined, args: 1 })), { kind: 'ServerBusy' })
  t.strictSame(await Promise.all(jobs), [...Array(10).keys()])
  await closed
})

t.test('closing ends what does not finish in time', async (t) => {
  const { pool } = openTestPool({ threads: 1 })
  const ended = defer<void>()
  const jobs = [
    pool.run('stubborn', { network: undefined, args: { ms: 60_000 } }),
    pool.run('echo', { network: undefined, args: 1 }),
  ]
  const faults = Promise.all(jobs.map(faultOf))
  void pool.close(20).then(ended.resolve)
  t.match(await faults, [{ kind: 'ServerBusy' }, { kind: 'ServerBusy' }])
  await ended.promise
  t.match(pool.counts, { waiting: 0, running: 0 })
})

const notLinux = process.platform !== 'linux' && 'priorities of threads are of Linux'

t.test('threads run at the priority they are given', { skip: notLinux }, async (t) => {
  const opened = await open(t, { niceness: 7 })
  t.equal((await run(opened, 'whoAmI', null)).niceness, 7)
})
