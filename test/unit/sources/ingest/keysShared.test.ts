/** Keys of a block that two threads recover. */
import { availableParallelism } from 'node:os'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import {
  joinRecords,
  RecoveredKeys,
  recoverKeys,
  recoverKeysOf,
  transactionHash,
} from '../../../../src/execution/evm/transactions/recoveredKeys.js'
import type { Hash32 } from '../../../../src/primitives/bytes.js'
import { type RlpItem, rlpList } from '../../../../src/primitives/rlp.js'
import { type Block, parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { claimed, SharedKeys } from '../../../../src/sources/ingest/blocks/keysShared.js'
import { ChainMaker, mergedConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { once } from '../../../library/until.js'
import { openImporter } from './importing.js'

const skip = availableParallelism() > 1 ? false : 'one core'
const transfer = { to: `0x${'a1'.repeat(20)}`, value: 1n }
const never = () => false

const maker = await ChainMaker.create(testGenesis(mergedConfig(), { difficulty: '0x0' }))
const full = await maker.extend(maker.genesis, { transactions: Array(60).fill(transfer) })
const small = await maker.extend(maker.genesis, { transactions: [transfer] })
const transactions = rlpList(parseBlock(full.rlp).items[1])

/** The senders in records, found without another recovery. */
function sendersIn(records: Uint8Array, { items }: Block): readonly (string | undefined)[] {
  const keys = new RecoveredKeys(() => undefined)
  keys.hold(records)
  const senderOf = (item: RlpItem) => keys.senderOf(item, transactionHash(item) as Hash32)
  return rlpList(items[1]).map((item) => senderOf(item)?.toString())
}

/** The next thread that starts, once it is ready. */
function nextThread(): Promise<Worker> {
  return new Promise((resolve, reject) => {
    process.once('worker', (worker) => once(worker, 'message').then(() => resolve(worker), reject))
  })
}

t.test('two sides take each transaction once, in whatever order they come', async (t) => {
  const dice = new Dice(propertyRuns(1).seed as number)
  for (let run = 0; run < 50; run++) {
    const list = Array.from({ length: dice.throw(20) }, (_, at) => Uint8Array.of(at))
    const claims = new Int32Array(2)
    const sides = [claimed(list, claims, 'first'), claimed(list, claims, 'last')] as const
    const taken: RlpItem[][] = [[], []]
    const open = new Set<0 | 1>([0, 1])
    while (open.size > 0) {
      const side = dice.throw(2) as 0 | 1
      const { value, done } = sides[side].next()
      if (done === true) open.delete(side)
      else taken[side]?.push(value)
    }
    t.strictSame([...(taken[0] as RlpItem[]), ...(taken[1] as RlpItem[]).reverse()], list)
  }
})

t.test('records of parts of a block are those of the block', async (t) => {
  const whole = parseBlock(full.rlp)
  const parts = [transactions.slice(0, 17), [], transactions.slice(17)]
  const joined = joinRecords(parts.map((part) => recoverKeysOf(part, never)))
  t.strictSame(joined, recoverKeys(full.rlp, never))
  t.notOk(sendersIn(joined, whole).includes(undefined))
  t.strictSame(sendersIn(joinRecords([]), whole), Array(60).fill(undefined))
})

t.test('a block of many transactions is executed with the keys of both threads', { skip }, async (t) => {
  t.testdir()
  const { store, importer } = await openImporter(t, maker)
  const shared = new SharedKeys(store.path)
  t.teardown(() => shared.close())
  const block = parseBlock(full.rlp)
  t.equal((await shared.find(parseBlock(small.rlp))).length, 0, 'one transaction is not worth it')
  const thread = nextThread()
  t.equal((await shared.find(block)).length, 0, 'no block waits for the start of the thread')
  await thread
  for (let time = 0; time < 5; time++) t.notOk(sendersIn(await shared.find(block), block).includes(undefined))
  t.equal(await importer.importBeside({ ...block, takeKeys: () => shared.find(block) }), 'executed')
})

t.test('a thread that ends leaves its keys to the execution', { skip }, async (t) => {
  t.testdir()
  const { store, importer } = await openImporter(t, maker)
  const shared = new SharedKeys(store.path)
  t.teardown(() => shared.close())
  const block = parseBlock(full.rlp)
  const thread = nextThread()
  await shared.find(block)
  const worker = await thread
  const under = shared.find(block)
  worker.postMessage('end')
  await under
  await once(worker, 'exit')
  t.equal((await shared.find(block)).length, 0)
  t.equal(await importer.importBeside({ ...block, takeKeys: () => shared.find(block) }), 'executed')
})
