import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { importFiles } from '../../../../src/sources/ingest/blocks/importFiles.js'
import { startIngest } from '../../../../src/sources/ingest/thread/ingestThread.js'
import type { IngestMessage, IngestTask } from '../../../../src/sources/ingest/thread/messages.js'
import { ChainMaker, contracts, mergedConfig, storeInput, testGenesis } from '../../../ingest/chainMaker.js'

const mapBytes = 2 ** 30
const config = { ...mergedConfig(), pragueTime: 1_000_000 }

const maker = await ChainMaker.create(testGenesis(config, { difficulty: '0x0' }))
const made = await maker.extendBy(
  maker.genesis,
  Array.from({ length: 5 }, (_, index) => ({
    transactions: [{ to: contracts.store, data: storeInput(BigInt(index), 1n) }],
  })),
)

function makeTask(t: Test) {
  const folder = t.testdir()
  const file = join(folder, 'chain.rlp')
  writeFileSync(file, Buffer.concat(made.map(({ rlp }) => rlp)))
  const task: IngestTask = {
    storePath: join(folder, 'chain.mdb'),
    mapBytes,
    genesis: { text: maker.genesisText, path: 'genesis.json' },
    files: [file],
  }
  const offset = made.slice(0, 3).reduce((sum, { rlp }) => sum + rlp.length, 0)
  return { task, folder, file, offset }
}

/** A signal that is aborted once `shouldStop` returns true; the import reads it before each block. */
function signalOf(shouldStop: () => boolean): AbortSignal {
  return {
    get aborted() {
      return shouldStop()
    },
  } as AbortSignal
}

async function run(task: IngestTask, shouldStop = () => false): Promise<IngestMessage[]> {
  const messages: IngestMessage[] = []
  await importFiles(task, { report: (message) => messages.push(message), signal: signalOf(shouldStop) })
  return messages
}

async function headOf({ storePath }: IngestTask): Promise<number | undefined> {
  const reader = ChainReader.open({ path: storePath, mapBytes })
  const head = reader.readHead()?.number
  await reader.close()
  return head
}

t.test('what was taken in is counted, and nothing of it twice', async (t) => {
  const { task, file } = makeTask(t)
  const counts = async (files: readonly string[]) => {
    const last = (await run({ ...task, files })).at(-1)
    if (last?.type !== 'finished') throw new Error('not finished')
    const { number, executed, known, side, bytesRead, bytesTotal } = last.progress
    t.equal(bytesRead, bytesTotal)
    return { number, executed, known, side }
  }
  t.strictSame(await counts([file]), { number: 5, executed: 5, known: 0, side: 0 })
  t.strictSame(await counts([file, file]), { number: 5, executed: 0, known: 10, side: 0 })
})

t.test('a stop ends after the block in hand', async (t) => {
  const { task } = makeTask(t)
  let asked = 0
  const messages = await run(task, () => ++asked > 3)
  t.match(messages.at(-1), { type: 'finished', stopped: true, progress: { executed: 3 } })
  t.equal(await headOf(task), 3)
  t.match((await run(task)).at(-1), { stopped: false, progress: { executed: 2, known: 3 } })
})

t.test(
  'a file that is damaged in the middle is named with the byte; the blocks before it stay',
  async (t) => {
    const { task, file, offset } = makeTask(t)
    const start = made.slice(0, 3).map(({ rlp }) => rlp)
    const bad = Buffer.from(made[3]?.rlp ?? [])
    bad[bad.length - 40] = (bad[bad.length - 40] as number) ^ 1
    const cases: [string, Uint8Array, RegExp][] = [
      ['a list that is no block', Uint8Array.of(0xc0), /not a block/],
      ['a list of bytes', Uint8Array.of(0xc2, 1, 2), /not a block/],
      ['a block with a flipped bit', bad, /block 4 \(0x\w+\) is invalid: /],
      [
        'a block left out',
        made[4]?.rlp ?? bad,
        /block 5 \(0x\w+\) is invalid: its parent 0x\w+ is not known/,
      ],
    ]
    for (const [what, bytes, message] of cases) {
      writeFileSync(file, Buffer.concat([...start, bytes]))
      const error = await run(task).then(
        () => undefined,
        (error: Error) => error,
      )
      t.match(error, { name: 'OperatorError', message }, what)
      t.match(error?.message, `${file}: at byte ${offset}: `, what)
      t.equal(await headOf(task), 3)
    }
    writeFileSync(file, Buffer.concat([...start, Uint8Array.of(0x01)]))
    await t.rejects(run(task), { name: 'OperatorError', message: `${file}: no block at byte ${offset}: ` })
  },
)

t.test('a thread reports a bad file as a fault of the operator, and a good one as finished', async (t) => {
  const { task, file } = makeTask(t)
  const good = startIngest(task, () => undefined)
  await good.opened
  t.match(await good.finished, { stopped: false, progress: { executed: 5 } })
  writeFileSync(file, Uint8Array.of(0xc0))
  const bad = startIngest(task, () => undefined)
  await bad.opened
  await t.rejects(bad.finished, { name: 'OperatorError', message: /not a block/ })
  const none = startIngest({ ...task, genesis: { text: '{', path: 'g.json' } }, () => undefined)
  await t.rejects(none.opened, {
    name: 'OperatorError',
    message: /the genesis g\.json is not usable: not JSON/,
  })
})

t.test('a file that is missing is named before anything is executed', async (t) => {
  const { task, file, folder } = makeTask(t)
  await t.rejects(run({ ...task, files: [file, join(folder, 'none')] }), {
    name: 'OperatorError',
    message: /cannot read the chain file .*none/,
  })
  t.equal(await headOf(task), 0)
  t.equal(existsSync(`${task.storePath}.writer`), false)
})

t.test('forks still to come may change in the genesis, those that made blocks may not', async (t) => {
  const { task } = makeTask(t)
  await run(task)
  const withConfig = (more: Record<string, unknown>): IngestTask => {
    const { text = '', path = '' } = task.genesis ?? {}
    const genesis = JSON.parse(text)
    return {
      ...task,
      genesis: { text: JSON.stringify({ ...genesis, config: { ...genesis.config, ...more } }), path },
    }
  }
  await run(withConfig({ pragueTime: 2_000_000 }))
  const reader = ChainReader.open({ path: task.storePath, mapBytes })
  t.match(JSON.parse(reader.readIdentity()?.config ?? ''), { pragueTime: 2_000_000 })
  await reader.close()
  await run(withConfig({ pragueTime: 2_000_000, osakaTime: 3_000_000 }))
  const blobSchedule = { cancun: { target: 2, max: 6, baseFeeUpdateFraction: 3338477 } }
  for (const [more, named] of [
    [{ pragueTime: 50 }, 'prague'],
    [{ pragueTime: 30 }, 'prague'],
    [{ blobSchedule }, 'blobSchedule.cancun'],
    [{ depositContractAddress: `0x${'11'.repeat(20)}` }, 'depositContractAddress'],
    [{ arrowGlacierBlock: 3 }, 'arrowGlacier'],
  ] as const) {
    await t.rejects(
      run(withConfig(more)),
      {
        name: 'OperatorError',
        message: new RegExp(`the genesis genesis.json changes ${named}, by which blocks`),
      },
      named,
    )
  }
  t.equal(await headOf(task), 5)
})
