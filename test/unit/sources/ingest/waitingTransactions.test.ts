import t from 'tap'
import { emptyAccount } from '../../../../src/data/state/account.js'
import type { SentTransaction } from '../../../../src/execution/evm/transactions/sentTransaction.js'
import type { Hash32 } from '../../../../src/primitives/bytes.js'
import { messageRefused } from '../../../../src/primitives/faults.js'
import { WaitingTransactions } from '../../../../src/sources/ingest/develop/waitingTransactions.js'
import { sentBounds } from '../../../../src/sources/ingest/transactions/sentTransactions.js'

const gasLimit = 30_000_000n

let made = 0
function transaction(sender: number, bytes: number): SentTransaction {
  return {
    hash: new Uint8Array(new BigUint64Array([BigInt(++made), 0n, 0n, 0n]).buffer) as Hash32,
    sender: new Uint8Array(20).fill(sender),
    raw: new Uint8Array(bytes),
    bytes: new Uint8Array(1),
    nonce: 0n,
    gasLimit: 21_000n,
    cost: 1n,
    maxFeePerGas: 1n,
    blobCount: 0,
    maxFeePerBlobGas: 0n,
  }
}

t.test('one that cannot take the place of another, because there is no room, leaves it there', (t) => {
  const waiting = new WaitingTransactions(() => ({ ...emptyAccount, balance: 1n }))
  const small = transaction(1, 200)
  waiting.add(small, gasLimit)
  waiting.add(transaction(2, sentBounds.bytesMax - 1_000), gasLimit)
  t.throws(() => waiting.add(transaction(1, 1_001), gasLimit), messageRefused('txpool is full'))
  t.ok(waiting.ready(0n, 0n).includes(small))
  const larger = transaction(1, 1_000)
  waiting.add(larger, gasLimit)
  t.ok(waiting.ready(0n, 0n).includes(larger), 'it takes the room of the one that it replaces')
  t.notOk(waiting.ready(0n, 0n).includes(small))
  t.end()
})
