import t from 'tap'
import { startService } from '../service.js'
import { blocks, examples, headBlock, hex, unknownHash } from './demoChain.js'
import { askResults, checkRefusals, countRefusals, hashRefusals } from './questions.js'

/** Checks a method that answers the bytes of the transaction with a hash. */
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
