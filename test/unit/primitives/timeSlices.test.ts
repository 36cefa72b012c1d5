import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import {
  countTurns,
  Share,
  type SliceOptions,
  type Task,
  TimeSlices,
} from '../../../src/primitives/timeSlices.js'
import { shareKept } from './youngObjects.js'

interface NamedTask extends Task {
  readonly flow: string
  readonly bytes?: number
  readonly name: string
}

const task = (name: string, bytes = 0): NamedTask => ({
  flow: name[0] as string,
  bytes,
  name,
  place: undefined,
})

// Turns of a warm thread; a cold one has a test of its own.
countTurns(Number.MAX_SAFE_INTEGER)

/** Slices that record their work and refusals, by turn of the event loop. */
function noting(options: Partial<SliceOptions<NamedTask>> = {}) {
  const done: string[] = []
  const refused: string[] = []
  const slices: TimeSlices<NamedTask> = new TimeSlices<NamedTask>({
    goOn: ({ name }, hasTurn) => void (hasTurn ? done : refused).push(name),
    flowOf: ({ flow }) => flow,
    ...options,
  })
  const wait = (name: string, bytes?: number) => slices.wait(task(name, bytes))
  /** The work of each turn until none waits, without turns of other parts of the process. */
  const turns = async () => {
    const found: string[][] = []
    while (!slices.isEmpty) {
      const before = done.length
      await nextTurn()
      if (done.length > before) found.push(done.slice(before))
    }
    return found
  }
  return { slices, done, refused, wait, turns }
}

t.test('flows take turns, and each keeps its order', async (t) => {
  const { wait, turns } = noting({ msMaxOf: () => 0 })
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2']) wait(name)
  t.same(await turns(), [['a1'], ['b1'], ['c1'], ['a2'], ['c2'], ['a3'], ['a4']])
})

t.test(
  'nothing goes on before sockets were polled, and a task that waits again has a later turn',
  async (t) => {
    const seen: string[] = []
    let times = 0
    const slices: TimeSlices<NamedTask> = new TimeSlices<NamedTask>({
      goOn: (task) => {
        seen.push(task.name)
        if (++times < 3) slices.wait(task)
      },
      tasksMax: 1,
    })
    slices.wait(task('x'))
    t.same(seen, [])
    for (let turn = 1; turn <= 3; turn++) {
      await nextTurn()
      t.equal(seen.length, turn)
    }
    t.ok(slices.isEmpty)
  },
)

t.test('without a limit of time a turn ends after a number of tasks', async (t) => {
  const { wait, turns } = noting({ tasksMax: 2, flowOf: () => '' })
  for (const name of ['a', 'b', 'c', 'd', 'e']) wait(name)
  t.same(await turns(), [['a', 'b'], ['c', 'd'], ['e']])
})

t.test('a task that waits already keeps its place, and one that is forgotten does not go on', async (t) => {
  const { slices, done, refused, turns } = noting()
  const one = task('a1')
  const two = task('a2')
  const three = task('a3')
  for (const task of [one, two, three, one]) t.ok(slices.wait(task))
  slices.forget(two)
  slices.forget(two)
  await turns()
  t.same(done, ['a1', 'a3'])
  t.same(refused, [])
})

t.test('beyond the memory that may wait, the newest of the flow with the most is refused', async (t) => {
  const { wait, refused, done, turns } = noting({ bytesOf: ({ bytes = 0 }) => bytes, bytesMax: 100 })
  for (const name of ['a1', 'a2', 'a3', 'a4']) t.ok(wait(name, 25))
  t.notOk(wait('a5', 25), 'the newest of the only flow is itself')
  t.ok(wait('b1', 25), 'another flow has room')
  t.same(refused, ['a5', 'a4'])
  t.notOk(wait('b2', 1_000))
  t.same(refused, ['a5', 'a4', 'b2'])
  await turns()
  t.same(done.sort(), ['a1', 'a2', 'a3', 'b1'])
})

t.test('what is forgotten or has gone on leaves its memory to others', async (t) => {
  const { slices, wait, turns } = noting({ bytesOf: ({ bytes = 0 }) => bytes, bytesMax: 100 })
  const first = task('a1', 100)
  t.ok(slices.wait(first))
  slices.forget(first)
  t.ok(wait('a2', 100))
  await turns()
  t.ok(wait('a3', 100))
  slices.close()
})

t.test('a share is used up by tasks or by cost, and is whole again in the next turn', async (t) => {
  const { slices } = noting({ share: { tasksMax: 3, costMax: 10 } })
  const byWorks = new Share()
  t.same(
    [1, 1, 1, 1].map((cost) => slices.take(byWorks, cost)),
    [true, true, true, false],
  )
  const byCost = new Share()
  t.same(
    [9, 9, 1].map((cost) => slices.take(byCost, cost)),
    [true, true, false],
    'what begins within the share is done',
  )
  await nextTurn()
  t.ok(slices.take(byWorks, 1))
  t.ok(slices.take(byCost, 1))
})

t.test('a share is used up for all once the time of a turn is, and whole again in the next', async (t) => {
  const { slices } = noting({ share: { tasksMax: 10, costMax: 10, msMax: 2 } })
  const one = new Share()
  const two = new Share()
  t.ok(slices.take(one, 1))
  for (const untilMs = performance.now() + 2; performance.now() < untilMs; );
  t.same(
    [one, two].map((share) => slices.take(share, 1)),
    [false, false],
  )
  await nextTurn()
  t.ok(slices.take(two, 1))
})

t.test('time that work took which never waited counts in its turn', async (t) => {
  const { slices } = noting()
  t.notOk(slices.isOver(0), 'nothing began')
  slices.begin()
  t.ok(slices.isOver(0))
  t.notOk(slices.isOver(Number.POSITIVE_INFINITY))
  await nextTurn()
  t.notOk(slices.isOver(0))
})

t.test(
  'what comes first in each turn is called as long as it asks for another, and one task has its turn beside it',
  async (t) => {
    const calls: string[] = []
    let left = 3
    const slices: TimeSlices<NamedTask> = new TimeSlices<NamedTask>({
      goOn: ({ name }) => calls.push(name),
      msMaxOf: () => 0,
      onTurn: () => {
        calls.push('first')
        return --left > 0
      },
    })
    slices.wait(task('a'))
    slices.wait(task('b'))
    for (let turn = 0; turn < 6; turn++) await nextTurn()
    t.same(calls, ['first', 'a', 'first', 'b', 'first'])
    slices.next()
    t.same(calls.at(-1), 'first')
  },
)

t.test('a closed one does nothing more', async (t) => {
  const { slices, wait, done } = noting()
  wait('a')
  slices.close()
  await nextTurn()
  t.same(done, [])
  t.ok(slices.isEmpty)
})

t.test('what has gone on is no longer in memory after the next collection of young objects', async (t) => {
  const slices = new TimeSlices<Task & { readonly content: readonly object[] }>({
    goOn: () => undefined,
    tasksMax: 1,
  })
  const kept = shareKept((content, index) => {
    slices.wait({ place: undefined, content })
    if (index >= 64) slices.next()
  })
  t.ok(kept < 0.3, `${kept} of all are kept`)
  slices.close()
})

t.test('what follows from a task counts in its turn', async (t) => {
  const { slices, wait, turns } = noting({
    msMaxOf: () => 1_000,
    goOn: (task) => {
      done.push(task.name)
      slices.spend(600)
    },
  })
  const done: string[] = []
  for (const name of ['a', 'b', 'c', 'd', 'e']) wait(name)
  const counts: number[] = []
  while (!slices.isEmpty) {
    const before = done.length
    await nextTurn()
    counts.push(done.length - before)
  }
  t.same(counts, [2, 2, 1])
  t.same(await turns(), [])
})

t.test('kinds of work that take long have a turn of the event loop each, one after the other', async (t) => {
  const seen: string[] = []
  const kindOf = (name: string, ms: number) => {
    const slices: TimeSlices<NamedTask> = new TimeSlices<NamedTask>({
      goOn() {
        seen.push(name)
        for (const until = performance.now() + ms; performance.now() < until; );
      },
      msMaxOf: () => 0,
    })
    slices.wait(task(name))
    slices.wait(task(name))
  }
  kindOf('a', 5)
  kindOf('b', 0)
  kindOf('c', 5)
  kindOf('d', 5)
  const turns: string[] = []
  while (seen.length < 8) {
    const before = seen.length
    await nextTurn()
    turns.push(seen.slice(before).join(''))
  }
  // A busy machine may end the time of a turn earlier.
  t.equal(seen.join(''), 'abcdabcd')
  t.ok(
    turns.every((turn) => turn.replace('b', '').length <= 1),
    turns.join(' '),
  )
})

t.test('while a thread is cold its turns are a quarter as long', async (t) => {
  const workMs = 0.2
  const msMax = 4
  const slices: TimeSlices<NamedTask> = new TimeSlices<NamedTask>({
    goOn: () => {
      inTurn++
      const endsAt = performance.now() + workMs
      while (performance.now() < endsAt);
    },
    msMaxOf: () => msMax,
  })
  let inTurn = 0
  const most = async () => {
    let found = 0
    for (let turn = 0; turn < 100; turn++) {
      for (let each = 0; each < msMax / workMs; each++) slices.wait(task('a'))
      inTurn = 0
      await nextTurn()
      found = Math.max(found, inTurn)
      while (!slices.isEmpty) await nextTurn()
    }
    return found
  }
  countTurns(0)
  const cold = await most()
  countTurns(Number.MAX_SAFE_INTEGER)
  const warm = await most()
  t.ok(cold <= msMax / 4 / workMs, `${cold} tasks in a cold turn`)
  t.ok(warm > msMax / 4 / workMs, `${warm} in a warm one`)
})
