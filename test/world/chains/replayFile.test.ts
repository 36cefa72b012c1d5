// @shares
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { importFiles } from '../../../src/sources/ingest/blocks/importFiles.js'
import { replayFile } from '../../../src/sources/ingest/blocks/replayFile.js'
import { startIngest } from '../../../src/sources/ingest/thread/ingestThread.js'
import type { IngestMessage, ReplayPlan, ReplayTask } from '../../../src/sources/ingest/thread/messages.js'
import { nextDue, Ticker } from '../../../src/sources/ingest/thread/pace.js'
import { verifyChain } from '../../../src/sources/ingest/verify/verifyChain.js'
import { ChainMaker, londonConfig, type MadeBlock, testGenesis } from '../../ingest/chainMaker.js'
import {
  makeReplayedChain,
  type ReplayedChain,
  type ReplayOptions,
  reorganisationsOf,
} from '../../ingest/replayedChain.js'
import { makeFolder } from '../../library/folder.js'
import { propertyRuns } from '../../library/property.js'
import { differences, dumpStore } from '../../store/storeDump.js'

const mapBytes = 2 ** 30
/** A time longer than any test. */
const never = 3_600_000

function taskOf(t: Test, genesisText: string, replay: ReplayPlan): ReplayTask {
  const storePath = join(makeFolder(t), 'chain.mdb')
  return { storePath, mapBytes, genesis: { text: genesisText, path: 'genesis.json' }, replay }
}

async function makeTask(
  t: Test,
  options: ReplayOptions,
): Promise<{ chain: ReplayedChain; task: ReplayTask }> {
  const chain = await makeReplayedChain(t, options)
  return { chain, task: taskOf(t, chain.genesisText, chain.plan) }
}

/** Plays to the end, or until `stopAt` heads were there; the hash of each head, and the first that readers may see. */
async function play(task: ReplayTask, stopAt = Number.POSITIVE_INFINITY) {
  const stop = new AbortController()
  const messages: IngestMessage[] = []
  const heads: string[] = []
  let opened: number | undefined
  let reader: ChainReader | undefined
  const headNow = () => {
    reader?.refresh()
    return reader?.readHead()
  }
  try {
    const report = (message: IngestMessage) => {
      messages.push(message)
      if (message.type === 'opened') {
        reader = ChainReader.open({ path: task.storePath, mapBytes })
        opened = headNow()?.number
      }
      if (message.type === 'head') heads.push(bytesToHex(headNow()?.hash ?? new Uint8Array()))
      if (heads.length === stopAt) stop.abort()
    }
    await replayFile(task, { report, signal: stop.signal })
  } finally {
    await reader?.close()
  }
  return { messages, heads, opened, last: messages.at(-1) }
}

const hashesOf = (blocks: readonly MadeBlock[]) => blocks.map(({ hash }) => bytesToHex(hash))

/** Checks that the store has no fault, and the same rows as a store that got only these blocks. */
async function checkStore(t: Test, { storePath, genesis }: ReplayTask, files: readonly string[]) {
  const plain = join(makeFolder(t), 'plain.mdb')
  await importFiles(
    { storePath: plain, mapBytes, genesis, files },
    { report: () => undefined, signal: new AbortController().signal },
  )
  const [store, want] = [storePath, plain].map((path) => ChainReader.open({ path, mapBytes }))
  if (store === undefined || want === undefined) throw new Error('no store')
  t.strictSame(differences(dumpStore(store), dumpStore(want)), [])
  const { faults } = verifyChain(store, { blocks: 5, seed: 1, onProgress: () => undefined })
  t.strictSame(faults, [])
  await Promise.all([store.close(), want.close()])
}

t.test('blocks up to `from` come at once, the others as heads; every start plays them again', async (t) => {
  const { chain, task } = await makeTask(t, { length: 8, from: 3, intervalMs: 1 })
  const expected = hashesOf(chain.blocks.slice(2))
  const first = await play(task)
  t.strictSame(first.heads, expected)
  t.equal(first.opened, 0)
  t.match(first.last, { type: 'finished', stopped: false, progress: { number: 8, executed: 8, known: 0 } })
  const { bytesRead, bytesTotal } = first.last?.type === 'finished' ? first.last.progress : {}
  t.equal(bytesRead, bytesTotal)
  const second = await play(task)
  t.strictSame(second.heads, expected)
  t.equal(second.opened, 3, 'nobody sees the head of the last time')
  t.match(second.last, { type: 'finished', progress: { number: 8, executed: 5, known: 3 } })
  await checkStore(t, task, [task.replay.file])
})

t.test('a replay from block 0 plays every block, one from the last none', async (t) => {
  const { chain, task } = await makeTask(t, { length: 3, from: 0, intervalMs: 1 })
  const [genesis, ...played] = (await play(task)).heads
  t.strictSame(played, hashesOf(chain.blocks))
  t.equal((await play(task)).heads[0], genesis)
  const { heads } = await play({ ...task, replay: { ...task.replay, from: 3 } })
  t.strictSame(heads, hashesOf(chain.blocks.slice(2)))
})

t.test('reorganisations by any script, past the Merge: every block played is the head', async (t) => {
  const shape = { length: 14, from: 4 }
  const { seed = 0, numRuns = 0 } = propertyRuns(3)
  for (const reorganisations of fc.sample(reorganisationsOf(shape), { seed, numRuns })) {
    await t.test(JSON.stringify(reorganisations), async (t) => {
      const { chain, task } = await makeTask(t, { ...shape, intervalMs: 1, reorganisations })
      const expected = hashesOf(chain.heads)
      t.strictSame((await play(task)).heads, expected)
      const stopAt = 1 + (Math.abs(seed) % expected.length)
      t.strictSame((await play(task, stopAt)).heads, expected.slice(0, stopAt), `stopped at head ${stopAt}`)
      t.strictSame((await play(task)).heads, expected, 'the same once more')
      const isLast = reorganisations.at(-1)?.after === shape.length
      const branch = task.replay.script.at(-1)
      if (!isLast) await checkStore(t, task, [task.replay.file])
      else
        await checkStore(t, task, [
          writeTrunk(t, chain, branch?.after ?? 0, branch?.back ?? 0),
          branch?.file ?? '',
        ])
    })
  }
})

/** The chain up to the fork point of the last branch. */
function writeTrunk(t: Test, { blocks }: ReplayedChain, after: number, back: number): string {
  const file = join(makeFolder(t), 'trunk.rlp')
  writeFileSync(file, chainOf(blocks.slice(0, after - back)))
  return file
}

function chainOf(blocks: readonly MadeBlock[]): Uint8Array {
  return Buffer.concat(blocks.map(({ rlp }) => rlp))
}

/** A chain of proof of work, and branches on any of its blocks. */
async function makeWork(t: Test, length: number) {
  const folder = makeFolder(t)
  const maker = await ChainMaker.create(testGenesis(londonConfig()))
  const trunk = await maker.extendBy(
    maker.genesis,
    Array.from({ length }, () => ({})),
  )
  const write = (name: string, blocks: readonly MadeBlock[]) => {
    const file = join(folder, name)
    writeFileSync(file, chainOf(blocks))
    return file
  }
  const branch = (base: number, count: number) =>
    maker.extendBy(
      base === 0 ? maker.genesis : (trunk[base - 1] as MadeBlock),
      Array.from({ length: count }, () => ({ extraData: Buffer.from('rival') })),
    )
  const genesis = { text: maker.genesisText, path: 'genesis.json' }
  const storePath = join(folder, 'work.mdb')
  const task = (from: number, script: ReplayPlan['script']): ReplayTask => ({
    storePath,
    mapBytes,
    genesis,
    replay: { file: write('trunk.rlp', trunk), from, intervalMs: 1, script },
  })
  return { trunk, write, branch, task }
}

t.test(
  'before the Merge a branch is the head once it has more difficulty, and no longer than that',
  async (t) => {
    const { trunk, write, branch, task } = await makeWork(t, 8)
    const rival = await branch(3, 3)
    const plan = task(2, [{ after: 5, back: 2, file: write('rival.rlp', rival) }])
    const at = (number: number) => trunk[number - 1] as MadeBlock
    // Blocks 4 and 5 of the branch have no more total difficulty than block 5 of the trunk. Block 6 of the trunk has no
    // more than block 6 of the branch.
    const expected = hashesOf([at(2), at(3), at(4), at(5), rival[2] as MadeBlock, at(7), at(8)])
    t.strictSame((await play(plan)).heads, expected)
    t.strictSame((await play(plan)).heads, expected)
    await checkStore(t, plan, [plan.replay.file])

    const short = task(2, [{ after: 5, back: 2, file: write('short.rlp', rival.slice(0, 2)) }])
    await t.rejects(play(short), {
      name: 'OperatorError',
      message:
        /^source\.script\[0\]\.file: \S+short\.rlp takes back nothing: total difficulty \d+ of its last block 5 does not exceed \d+ of 5$/,
    })
    t.equal(
      (await play({ ...plan, replay: { ...plan.replay, script: [] } })).heads.at(-1),
      hashesOf([at(8)])[0],
    )
  },
)

t.test('before the Merge a step needs its block to be the head', async (t) => {
  const { write, branch, task } = await makeWork(t, 8)
  const file = write('rival.rlp', await branch(3, 3))
  const second = write('second.rlp', await branch(4, 4))
  await t.rejects(
    play(
      task(2, [
        { after: 5, back: 2, file },
        { after: 6, back: 2, file: second },
      ]),
    ),
    {
      message:
        'source.script[1].after: block 6 is not the head, because the chain without it has more total difficulty',
    },
  )
})

t.test('a store that another script left on a branch comes back to the file', async (t) => {
  const { trunk, write, branch, task } = await makeWork(t, 8)
  const file = write('rival.rlp', await branch(3, 4))
  const stopped = await play(task(2, [{ after: 5, back: 2, file }]), 6)
  t.not(stopped.heads.at(-1), hashesOf(trunk)[6], 'it stopped on the branch')
  const { heads } = await play(task(6, []))
  t.strictSame(heads, hashesOf(trunk.slice(5)))
})

t.test('an import takes the blocks that a replay has taken back', async (t) => {
  const { trunk, task } = await makeWork(t, 6)
  const plan = task(2, [])
  await play(plan)
  t.equal((await play(plan, 1)).heads.length, 1)
  const { storePath, genesis, replay } = plan
  const messages: IngestMessage[] = []
  await importFiles(
    { storePath, mapBytes, genesis, files: [replay.file] },
    { report: (message) => messages.push(message), signal: new AbortController().signal },
  )
  t.match(messages.at(-1), { progress: { number: trunk.length, executed: 4, known: 2 } })
  await checkStore(t, plan, [replay.file])
})

t.test('a script or a `from` that does not fit is named with its path', async (t) => {
  const options = { length: 6, from: 2, intervalMs: 1, reorganisations: [{ after: 4, back: 2, blocks: 2 }] }
  const { chain, task } = await makeTask(t, options)
  const { plan, blocks } = chain
  const [branch = []] = chain.branches
  const folder = makeFolder(t)
  const write = (content: Uint8Array) => {
    const file = join(folder, `${Math.random()}.rlp`)
    writeFileSync(file, content)
    return file
  }
  const step = (content: Uint8Array, after = 4, back = 2): Partial<ReplayPlan> => ({
    script: [{ after, back, file: write(content) }],
  })
  const broken = Buffer.from(chainOf(branch))
  broken[broken.length - 30] = (broken[broken.length - 30] as number) ^ 1
  const cases: [string, Partial<ReplayPlan>, RegExp][] = [
    ['too high a from', { from: 7, script: [] }, /^source\.from: \S+ ends with block 6, before block 7$/],
    [
      'a file that begins above from',
      { file: write(chainOf(blocks.slice(4))), script: [] },
      /^source\.from: \S+ begins with block 5, so it cannot be played from block 2 on$/,
    ],
    [
      'a step after the end',
      { script: plan.script.map((each) => ({ ...each, after: 7, back: 5 })) },
      /^source\.script\[0\]\.after: \S+ ends with block 6, before block 7$/,
    ],
    [
      'another depth than the branch has',
      { script: plan.script.map((each) => ({ ...each, back: 1 })) },
      /^source\.script\[0\]\.file: \S+ begins with block 3; in place of 1 up to 4 it has to be 4$/,
    ],
    [
      'blocks that do not follow on each other',
      step(chainOf([branch[0] as MadeBlock, blocks[3] as MadeBlock])),
      /^source\.script\[0\]\.file: in \S+ block 4 does not follow on 3$/,
    ],
    [
      'a branch on a block that is not there',
      step(chainOf(branch.slice(1)), 4, 1),
      /^source\.script\[0\]\.file: \S+ begins with block 4 of another chain: it is on 0x\w+, block 3 is 0x\w+$/,
    ],
    [
      'the chain itself',
      step(chainOf(blocks.slice(2, 4))),
      /^source\.script\[0\]\.file: \S+ takes back nothing: it begins with the same block 3$/,
    ],
    ['a bad block', step(broken), /\.rlp: at byte \d+: block 4 \(0x\w+\) is invalid: /],
    ['no block', step(Uint8Array.of(0xc0)), /\.rlp: at byte 0: not a block/],
    ['an empty file', step(new Uint8Array()), /\.rlp: the file is empty$/],
    [
      'a file that is gone',
      { script: [{ after: 4, back: 2, file: join(folder, 'none') }] },
      /none: no such file$/,
    ],
    ['a chain that is gone', { file: join(folder, 'none') }, /^cannot read the chain file \S+none/],
  ]
  for (const [what, change, message] of cases) {
    const replay = { ...plan, ...change }
    await t.rejects(play({ ...task, replay }), { name: 'OperatorError', message }, what)
  }
  t.strictSame((await play(task)).heads, hashesOf(chain.heads), 'the store plays what fits')
})

t.test('a file that begins right above `from` goes on from what the store holds', async (t) => {
  const { chain, task } = await makeTask(t, { length: 6, from: 4, intervalMs: 1 })
  await play(task)
  const file = join(makeFolder(t), 'rest.rlp')
  writeFileSync(file, chainOf(chain.blocks.slice(4)))
  t.strictSame(
    (await play({ ...task, replay: { ...task.replay, file } })).heads,
    hashesOf(chain.blocks.slice(3)),
  )
})

t.test('a stop is obeyed while a replay waits, takes in, and takes back', async (t) => {
  const { chain, task } = await makeTask(t, { length: 6, from: 2, intervalMs: never })
  const waiting = await play(task, 1)
  t.match(waiting.last, { type: 'finished', stopped: true, progress: { number: 2 } })
  const aborted = AbortSignal.abort()
  const messages: IngestMessage[] = []
  await replayFile(
    { ...task, replay: { ...chain.plan, from: 5 } },
    { report: (message) => messages.push(message), signal: aborted },
  )
  const steps = messages.filter(({ type }) => type !== 'figures')
  t.match(steps, [{ type: 'opened' }, { type: 'finished', stopped: true, progress: { number: 2 } }])
})

t.test('a thread tells each head, and stops while it waits', async (t) => {
  const { task } = await makeTask(t, { length: 6, from: 2, intervalMs: 1 })
  let heads = 0
  const whole = startIngest(task, () => undefined, { onHead: () => heads++ })
  await whole.opened
  await whole.caughtUp
  t.equal((await whole.finished).stopped, false)
  t.equal(heads, 5)
  const waiting = startIngest({ ...task, replay: { ...task.replay, intervalMs: never } }, () => undefined)
  await waiting.caughtUp
  waiting.stop()
  t.match(await waiting.finished, { stopped: true, progress: { number: 2 } })
  const bad = startIngest({ ...task, replay: { ...task.replay, from: 9 } }, () => undefined)
  await bad.opened
  await t.rejects(bad.caughtUp, { name: 'OperatorError', message: /^source\.from: / })
  await t.rejects(bad.finished, { name: 'OperatorError' })
})

t.test('moments are an interval apart, and those that were missed are not made up for', async (t) => {
  const ms = fc.double({ min: 0, max: 1e6, noNaN: true })
  fc.assert(
    fc.property(ms, ms, ms, (due, now, interval) => {
      const next = nextDue(due, now, interval)
      return next >= now && next >= due + interval && (next === now || next === due + interval)
    }),
    propertyRuns(500) as { numRuns: number; seed: number },
  )
  const start = performance.now()
  const pace = new Ticker(20, AbortSignal.timeout(never))
  for (let i = 0; i < 5; i++) t.equal(await pace.wait(), true)
  // Timers of Node count whole milliseconds.
  t.ok(performance.now() - start >= 95)
  const ended = new Ticker(never, AbortSignal.abort())
  t.equal(await ended.wait(), false)
})
