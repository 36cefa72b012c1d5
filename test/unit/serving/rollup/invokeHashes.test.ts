import t from 'tap'
import { type Deferred, defer } from '../../../../src/primitives/deferred.js'
import type { Felt } from '../../../../src/serving/rollup/felt.js'
import { type HashWaiter, InvokeHashes } from '../../../../src/serving/rollup/invokeHashes.js'
import {
  invokeLimitsDefault,
  parseInvokeTransaction,
} from '../../../../src/serving/rollup/invokeTransaction.js'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { makeTransaction } from '../../../rollup/invokeTransactions.js'

const transaction = (sender: number, changes = {}) =>
  parseInvokeTransaction(makeTransaction(sender, 0, changes), invokeLimitsDefault)

interface Computation {
  readonly waiter: HashWaiter
  readonly outcome: Deferred<Felt>
}

/**
 * Hashes whose computations end when the test decides. A computation whose waiter leaves fails, as a job of the pool
 * does.
 */
function openHashes(knownMax?: number) {
  const computations: Computation[] = []
  const hashes = new InvokeHashes((_fields, waiter) => {
    const outcome = defer<Felt>()
    computations.push({ waiter, outcome })
    if (waiter.isFinished) outcome.reject(new Error('gone'))
    waiter.onFinished(() => outcome.reject(new Error('gone')))
    return outcome.promise
  }, knownMax)
  return { hashes, computations }
}

t.test('one computation serves all who wait, whatever the signature, and who come after', async (t) => {
  const { hashes, computations } = openHashes()
  const waiting = [
    hashes.hashOf(transaction(1), new RequestContext()),
    hashes.hashOf(transaction(1, { signature: ['0x9'] }), new RequestContext()),
    hashes.hashOf(transaction(1, { nonce: '0x000' }), new RequestContext()),
  ]
  const other = hashes.hashOf(transaction(2), new RequestContext())
  t.equal(computations.length, 2)
  computations[0]?.outcome.resolve('0xa' as Felt)
  computations[1]?.outcome.resolve('0xb' as Felt)
  t.strictSame(await Promise.all([...waiting, other]), ['0xa', '0xa', '0xa', '0xb'])
  t.equal(await hashes.hashOf(transaction(1), new RequestContext()), '0xa')
  t.equal(computations.length, 2)
})

t.test('a computation goes on as long as anybody waits for it', async (t) => {
  const { hashes, computations } = openHashes()
  const first = new RequestContext()
  const second = new RequestContext()
  const late = new RequestContext()
  const firstHash = hashes.hashOf(transaction(1), first)
  const secondHash = hashes.hashOf(transaction(1), second)
  // A batch that contains it twice is one caller.
  const again = hashes.hashOf(transaction(1), second)
  first.finish()
  t.notOk(computations[0]?.waiter.isFinished)
  second.finish()
  t.ok(computations[0]?.waiter.isFinished)
  const lateHash = hashes.hashOf(transaction(1), late)
  t.equal(computations.length, 2, 'whoever comes then does not join what was given up')
  for (const gone of [firstHash, secondHash, again]) await t.rejects(gone, { message: 'gone' })
  computations[1]?.outcome.resolve('0xa' as Felt)
  t.equal(await lateHash, '0xa')
})

t.test('a failure is that of whom the work was for, the others try for themselves', async (t) => {
  const { hashes, computations } = openHashes()
  const first = hashes.hashOf(transaction(1), new RequestContext())
  const second = hashes.hashOf(transaction(1), new RequestContext())
  const third = hashes.hashOf(transaction(1), new RequestContext())
  computations[0]?.outcome.reject(new Error('too late'))
  await t.rejects(first, { message: 'too late' })
  t.equal(computations.length, 2)
  computations[1]?.outcome.resolve('0xa' as Felt)
  t.strictSame(await Promise.all([second, third]), ['0xa', '0xa'])
  t.equal(computations.length, 2)
})

t.test('only so many hashes are known, those asked for last', async (t) => {
  const { hashes, computations } = openHashes(2)
  const ask = async (sender: number): Promise<boolean> => {
    const before = computations.length
    const hash = hashes.hashOf(transaction(sender), new RequestContext())
    computations[before]?.outcome.resolve(`0x${sender}` as Felt)
    t.equal(await hash, `0x${sender}`)
    return computations.length > before
  }
  const computed = []
  for (const sender of [1, 2, 1, 3, 1, 2, 3]) computed.push(await ask(sender))
  t.strictSame(computed, [true, true, false, true, false, true, true])
})
