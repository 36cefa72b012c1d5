/** Common tests of methods that read a transaction by its index, with the block by hash or by number. */
import t from 'tap'
import type { Service } from '../service/service.js'
import { findBadHex } from './blockOracle.js'
import { blockAt, blocks, examples, type Json, quantity } from './demoChain.js'
import { askResults } from './questions.js'
import { expectedTransaction } from './transactionOracle.js'

/** Tests of a method; `nameOf` returns the parameter for a block. */
export function testTransactionsByIndex(
  service: Service,
  method: string,
  nameOf: (block: { readonly hash: string; readonly number: number }) => string,
): void {
  t.test('every transaction of every block is the one of the chain file', async (t) => {
    const places = blocks.flatMap((block) => block.transactions.map((_, index) => ({ block, index })))
    t.equal(places.length, examples.totalTransactions)
    const answers = await askResults(
      service,
      places.map(({ block, index }) => [method, [nameOf(block), quantity(index)]]),
    )
    for (const [at, { block, index }] of places.entries()) {
      t.strictSame(
        answers[at],
        expectedTransaction(block, index),
        `block ${block.number}, transaction ${index}`,
      )
    }
    t.strictSame(findBadHex(answers), [])
  })

  t.test('a transaction is the element of its block', async (t) => {
    const rich = blocks.filter(({ transactions }) => transactions.length > 0)
    const full = await askResults(
      service,
      rich.map(({ number }) => ['eth_getBlockByNumber', [quantity(number), true]]),
    )
    for (const [at, block] of rich.entries()) {
      const last = block.transactions.length - 1
      const { result } = await service.call(method, [nameOf(block), quantity(last)])
      t.strictSame(result, (full[at] as { transactions: Json[] }).transactions[last])
    }
  })

  t.test('an index beyond the last transaction is null', async (t) => {
    const block = blockAt(250)
    for (const index of [
      quantity(block.transactions.length),
      '0x7fffffff',
      '0x20000000000000',
      '0xffffffffffffffff',
    ]) {
      t.strictSame(await service.call(method, [nameOf(block), index]), {
        jsonrpc: '2.0',
        id: 1,
        result: null,
      })
    }
  })
}
