import { join } from 'node:path'
import type { RootDatabase } from 'lmdb'
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { toStoreError } from '../../../src/data/store/lmdb/environment.js'
import { FaultError } from '../../../src/primitives/faults.js'
import { chainOf, headOf, importHere } from '../../commands/importing.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { until } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { openQueue } from '../../rollup/queues.js'
import { startSequencer } from '../../rollup/sequencer.js'
import { chainPath } from '../../rpc/demoChain.js'
import { fixtureDir } from '../../service/fixtures.js'
import { storePathOf } from '../../service/program.js'
import { onSmallDisk, withoutSmallDisk } from '../../store/smallDisk.js'
import { dumpStore } from '../../store/storeDump.js'

const isFull = /^the disk that holds .* is full; free some space/
/** Growth of the disk each time; the store of the demo chain takes some 8 MB. */
const growthKb = 500
/** Imported before the disk is full for the first time. */
const blocksBefore = 20

const title = 'an import onto a disk that is full again and again goes on where it stopped'
t.test(title, { skip: withoutSmallDisk }, (t) =>
  onSmallDisk(t, 100_000, async ({ folder, leave }) => {
    await importHere(folder, [writeInto(makeFolder(t), 'some.rlp', chainOf(1, blocksBefore))])
    const heads: number[] = [blocksBefore]
    for (let isWhole = false; !isWhole; ) {
      // More each time. Blocks that share a transaction are lost together, and their number depends on the machine.
      leave((heads.length - 1) * growthKb)
      const failure: unknown = await importHere(folder, [chainPath]).then(
        () => undefined,
        (error: unknown) => error,
      )
      isWhole = failure === undefined
      if (!isWhole) t.match(failure, { name: 'StoreError', message: isFull })
      heads.push((await headOf(folder)) ?? 0)
    }
    t.ok(
      heads.every((head, index) => head >= (heads[index - 1] ?? 0)),
      `what was imported stayed: ${heads.join(', ')}`,
    )
    t.ok(heads.length > 2, 'the disk was full')
    const [store, whole] = [storePathOf(folder, 'tides'), storePathOf(fixtureDir, 'demo')].map((path) =>
      ChainReader.open({ path }),
    ) as [ChainReader, ChainReader]
    t.strictSame(dumpStore(store), dumpStore(whole))
    await Promise.all([store.close(), whole.close()])
  }),
)

t.test(
  'a submission that finds the disk full is refused, and those answered before stay',
  { skip: withoutSmallDisk },
  (t) =>
    onSmallDisk(t, 500, async ({ folder, resize }) => {
      const { submit, queue } = openQueue(t, folder)
      const answered: string[] = []
      let failure: unknown
      for (let nonce = 0; failure === undefined && nonce < 5_000; nonce++) {
        try {
          answered.push(await submit(makeTransaction(1, nonce)))
        } catch (error) {
          failure = error
        }
      }
      t.ok(failure instanceof FaultError)
      t.match(failure, { fault: { kind: 'NotStored' }, message: isFull })
      t.ok(answered.length > 10, `${answered.length} were answered`)
      t.equal(queue.counts().waiting, answered.length)
      resize(2_000)
      answered.push(await submit(makeTransaction(1, answered.length)))
      const rows = await Promise.all(answered.map((hash) => queue.readRow(hash as never)))
      t.ok(rows.every((row) => row?.state === 'RECEIVED'))
      t.equal(queue.counts().waiting, answered.length)
    }),
)

t.test(
  'a sender whose rows find the disk full is tried again soon, and said once',
  { skip: withoutSmallDisk },
  (t) =>
    onSmallDisk(t, 500, async ({ folder, leave }) => {
      const sequencer = await startSequencer(t)
      const { submit, reaches, forward, logged } = openQueue(t, folder)
      const hash = await submit(makeTransaction(1, 0))
      leave(-4)
      const { attempts } = forward({ url: `${sequencer.origin}/rpc`, retryMsMin: 1 })
      // The waits double from a millisecond: all of these take a second.
      await until(() => attempts() > 11)
      t.strictSame((await sequencer.report()).arrivals, [], 'nothing is sent that is not marked before')
      leave(2_000)
      await reaches(hash, 'ACCEPTED')
      t.equal(logged.length, 1)
      t.match(logged[0], /^a submission could not be brought forward: the disk .* is full/)
    }),
)

t.test('a transaction that fills the disk finds it full, not broken', { skip: withoutSmallDisk }, (t) =>
  onSmallDisk(t, 1_000, async ({ folder, leave }) => {
    const path = join(folder, 'chain.mdb')
    // The error of LMDB for an incomplete write.
    const cut = () => toStoreError(new Error('Input/output error: commit'), {} as RootDatabase, path)
    t.match(cut()?.message, /failed a write \(Input\/output error\); check that disk$/)
    leave(-4)
    t.match(cut()?.message, isFull)
  }),
)
