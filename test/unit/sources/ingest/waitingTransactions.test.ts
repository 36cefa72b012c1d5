import t from 'tap'
import { emptyAccount } from '../../../../src/data/state/account.js'
import type { SentTransaction } from '../../../../src/execution/evm/transactions/sentTransaction.js'
import type { Hash32 } from '../../../../src/primitives/bytes.js'
import { messageRefused } from '../../../../src/primitives/faults.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import {
  includedBlobsBytesMax,
  WaitingTransactions,
} from '../../../../src/sources/ingest/develop/waitingTransactions.js'
import { sentBounds } from '../../../../src/sources/ingest/transactions/sentTransactions.js'

const gasLimit = 30_000_000n

let made = 0
function transaction(sender: number, bytes: number, fees: Partial<SentTransaction> = {}): SentTransaction {
  return {
    hash: new Uint8Array(new BigUint64Array([BigInt(++made), 0n, 0n, 0n]).buffer) as Hash32,
    sender: new Uint8Array(20).fill(sender),
    raw: new Uint8Array(bytes),
    bytes: new Uint8Array(1),
    nonce: 0n,
    gasLimit: 21_000n,
    cost: 1n,
    maxFeePerGas: 1n,
    maxPriorityFeePerGas: 1n,
    blobCount: 0,
    maxFeePerBlobGas: 0n,
    ...fees,
  }
}

t.test('one that cannot take the place of another, because there is no room, leaves it there', (t) => {
  const waiting = new WaitingTransactions(() => ({ ...emptyAccount, balance: 1n }))
  const more = { maxFeePerGas: 2n, maxPriorityFeePerGas: 2n }
  const small = transaction(1, 200)
  waiting.add(small, gasLimit)
  waiting.add(transaction(2, sentBounds.bytesMax - 1_000), gasLimit)
  t.throws(() => waiting.add(transaction(1, 1_001, more), gasLimit), messageRefused('txpool is full'))
  t.ok(waiting.ready(0n, 0n).includes(small))
  const larger = transaction(1, 1_000, more)
  waiting.add(larger, gasLimit)
  t.ok(waiting.ready(0n, 0n).includes(larger), 'it takes the room of the one that it replaces')
  t.notOk(waiting.ready(0n, 0n).includes(small))
  t.end()
})

t.test('a replacement offers ten percent more of each fee, twice as much where blobs wait', (t) => {
  const fees = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint, maxFeePerBlobGas = 0n) => ({
    maxFeePerGas,
    maxPriorityFeePerGas,
    maxFeePerBlobGas,
    blobCount: maxFeePerBlobGas > 0n ? 1 : 0,
  })
  for (const [before, after, isTaken] of [
    [fees(1_000n, 100n), fees(1_100n, 110n), true],
    [fees(1_000n, 100n), fees(1_099n, 110n), false],
    [fees(1_000n, 100n), fees(1_100n, 109n), false],
    [fees(1_000n, 100n), fees(2_000n, 100n), false],
    [fees(1_000n, 0n), fees(2_000n, 0n), false],
    [fees(9n, 1n), fees(10n, 2n), true],
    [fees(10n, 1n, 5n), fees(20n, 2n, 10n), true],
    [fees(10n, 1n, 5n), fees(20n, 2n, 9n), false],
    [fees(10n, 1n, 5n), fees(11n, 2n, 10n), false],
  ] as const) {
    const waiting = new WaitingTransactions(() => ({ ...emptyAccount, balance: 1n }))
    const [first, second] = [transaction(1, 200, before), transaction(1, 201, after)]
    waiting.add(first, gasLimit)
    const add = () => waiting.add(second, gasLimit)
    if (isTaken) add()
    else t.throws(add, messageRefused('replacement transaction underpriced'))
    t.strictSame(waiting.ready(0n, 0n), [isTaken ? second : first])
  }
  t.end()
})

t.test('blobs of transactions in blocks are stored while there is room, the newest ones', (t) => {
  let nonce = 0n
  const waiting = new WaitingTransactions(() => ({ ...emptyAccount, balance: 1n, nonce }))
  const third = Math.floor(includedBlobsBytesMax / 3)
  const sent = [1, 2, 3, 4].map((sender) => {
    const bytes = Uint8Array.of(3, sender)
    return { ...transaction(sender, third, { blobCount: 1 }), bytes, hash: keccak256(bytes) }
  })
  for (const tx of sent) {
    nonce = 0n
    waiting.add(tx, gasLimit)
    nonce = 1n
    waiting.removePast()
  }
  const [oldest, ...others] = sent as [SentTransaction, ...SentTransaction[]]
  t.equal(waiting.asSent(oldest.bytes), oldest.bytes, 'without its blobs')
  for (const { bytes, raw } of others) t.equal(waiting.asSent(bytes), raw)
  t.ok(waiting.isEmpty)
  t.end()
})
