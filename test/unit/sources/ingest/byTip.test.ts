/** The order of transactions in a block for a validator, compared with a search for the best offer at each step. */
import t from 'tap'
import type { SentTransaction } from '../../../../src/execution/evm/transactions/sentTransaction.js'
import { byTip, tipOf } from '../../../../src/sources/ingest/develop/byTip.js'
import { Dice, propertyRuns } from '../../../library/property.js'

function transaction(sender: number, nonce: number, most: bigint, tip: bigint): SentTransaction {
  const fees = { maxFeePerGas: most, maxPriorityFeePerGas: tip }
  return { sender: new Uint8Array(20).fill(sender), nonce: BigInt(nonce), ...fees } as SentTransaction
}

t.test('the best tip comes first, equal ones by arrival, and nonces in order', (t) => {
  const low = transaction(1, 0, 100n, 1n)
  const next = transaction(1, 1, 100n, 50n)
  const capped = transaction(2, 0, 12n, 90n)
  const good = transaction(3, 0, 100n, 5n)
  const same = transaction(4, 0, 100n, 5n)
  t.strictSame(byTip([low, next, capped, good, same], 10n), [good, same, capped, low, next])
  t.strictSame(byTip([low, next, capped, good, same], 0n), [capped, good, same, low, next])
  t.strictSame(byTip([], 0n), [])
  t.end()
})

t.test('each transaction is the best that could be next', (t) => {
  const { numRuns = 0, seed = 0 } = propertyRuns(200)
  t.comment(`seed ${seed}`)
  const dice = new Dice(seed)
  for (let run = 0; run < numRuns; run++) {
    const nonces = new Map<number, number>()
    const ready = Array.from({ length: dice.throw(30) }, () => {
      const sender = dice.throw(6)
      const nonce = nonces.get(sender) ?? 0
      nonces.set(sender, nonce + 1)
      return transaction(sender, nonce, BigInt(10 + dice.throw(10)), BigInt(dice.throw(10)))
    })
    const left = [...ready]
    const expected: SentTransaction[] = []
    while (left.length > 0) {
      const firsts = left.filter(
        (tx, at) => left.findIndex(({ sender }) => sender[0] === tx.sender[0]) === at,
      )
      const best = firsts.reduce((a, b) => (tipOf(b, 10n) > tipOf(a, 10n) ? b : a))
      expected.push(best)
      left.splice(left.indexOf(best), 1)
    }
    t.strictSame(byTip(ready, 10n), expected, `run ${run}`)
  }
  t.end()
})
