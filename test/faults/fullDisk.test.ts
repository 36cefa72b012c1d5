import t from 'tap'
import { FaultError } from '../../src/primitives/faults.js'
import { ChainReader } from '../../src/store/chainReader.js'
import { headOf, importHere } from '../commands/importing.js'
import { makeTransaction } from '../invokeTransactions.js'
import { storePathOf } from '../program.js'
import { openQueue } from '../rollup/queues.js'
import { chainPath } from '../rpc/demoChain.js'
import { fixtureDir } from '../service.js'
import { onSmallDisk, withoutSmallDisk } from '../smallDisk.js'
import { dumpStore } from '../storeDump.js'

/** Sizes of a disk that grows until the demo chain's store, of some 8 MB, fits. */
const sizesKb = [3_000, 3_500, 4_000, 4_500, 100_000]

t.test(
  'an import onto a disk that is full again and again goes on where it stopped',
  { skip: withoutSmallDisk },
  (t) =>
    onSmallDisk(t, 1_000, async ({ folder, resize }) => {
      const importOnto = async (sizeKb: number): Promise<void> => {
        resize(sizeKb)
        await importHere(folder, [chainPath])
      }
      const isFull = { name: 'StoreError', message: /^the disk that holds .* is full; free some space/ }
      const heads: number[] = []
      for (const size of sizesKb.slice(0, -1)) {
        await t.rejects(importOnto(size), isFull, `${size} KB`)
        heads.push((await headOf(folder)) ?? 0)
      }
      await importOnto(sizesKb.at(-1) as number)
      t.ok(
        heads.every((head, index) => head >= (heads[index - 1] ?? 1)),
        `what was imported stayed: ${heads.join(', ')}`,
      )
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
      t.match(failure, { fault: { kind: 'NotStored' }, message: /^the disk that holds .* is full/ })
      t.ok(answered.length > 10, `${answered.length} were answered`)
      t.equal(queue.counts().waiting, answered.length)
      resize(2_000)
      answered.push(await submit(makeTransaction(1, answered.length)))
      t.ok(answered.every((hash) => queue.readRow(hash as never)?.state === 'RECEIVED'))
      t.equal(queue.counts().waiting, answered.length)
    }),
)
