import t from 'tap'
import { startService } from '../service/service.js'
import { blocks, type DemoBlock, examples, headBlock, hex, quantity, unknownHash } from './demoChain.js'
import {
  askResults,
  blockRefusals,
  checkRefusals,
  countRefusals,
  hashRefusals,
  indexRefusals,
} from './questions.js'

/** Checks a method that returns the bytes of a transaction by its hash. */
export async function checkRawTransactions(method: string): Promise<void> {
  const service = await startService()
  t.teardown(() => service.stop())

  await t.test('every transaction has the bytes of the chain file', async (t) => {
    const transactions = blocks.flatMap(({ transactions }) => transactions)
    const answers = await askResults(
      service,
      transactions.map(({ hash }) => [method, [hash]]),
    )
    t.strictSame(
      answers,
      transactions.map(({ bytes }) => hex(bytes)),
    )
  })

  await t.test('what is not the hash of a transaction of the chain has none', async (t) => {
    for (const hash of [unknownHash, examples.genesisHash, headBlock.hash]) {
      t.strictSame(await service.call(method, [hash]), { jsonrpc: '2.0', id: 1, result: '0x' })
    }
  })

  await t.test('wrong parameters are refused', async (t) => {
    await checkRefusals(t, service, method, [...countRefusals([unknownHash]), ...hashRefusals([])])
  })
}

/** Checks a method that returns the bytes of a transaction by its block's number or hash and its index. */
export async function checkRawTransactionsByIndex(method: string, by: 'number' | 'hash'): Promise<void> {
  const nameOf = (block: DemoBlock) => (by === 'number' ? quantity(block.number) : block.hash)
  const head = nameOf(headBlock)
  const service = await startService()
  t.teardown(() => service.stop())

  await t.test('every transaction has the bytes of the chain file', async (t) => {
    const places = blocks.flatMap((block) =>
      block.transactions.map(({ bytes }, index) => ({ block, bytes, index })),
    )
    const answers = await askResults(
      service,
      places.map(({ block, index }) => [method, [nameOf(block), quantity(index)]]),
    )
    t.strictSame(
      answers,
      places.map(({ bytes }) => hex(bytes)),
    )
  })

  await t.test('what is not there has no bytes', async (t) => {
    const absent = [
      [head, '0x7fffffff'],
      [head, '0xffffffffffffffff'],
      ...(by === 'number' ? ['0xffff', 'pending'] : [unknownHash]).map((block) => [block, '0x0']),
    ]
    for (const params of absent) {
      t.strictSame(await service.call(method, params), { jsonrpc: '2.0', id: 1, result: '0x' })
    }
  })

  await t.test('wrong parameters are refused', async (t) => {
    await checkRefusals(t, service, method, [
      ...countRefusals([head, '0x0']),
      ...(by === 'number' ? blockRefusals(0, (block) => [block, '0x0']) : hashRefusals(['0x0'])),
      ...indexRefusals(head),
    ])
  })
}
