import t from 'tap'
import { addressRefusals } from '../../rpc/accountOracle.js'
import { blocks, examples, quantity } from '../../rpc/demoChain.js'
import { askResults, checkRefusals, countRefusals, indexRefusals } from '../../rpc/questions.js'
import { expectedTransaction } from '../../rpc/transactionOracle.js'
import { startService } from '../../service/service.js'

const method = 'eth_getTransactionBySenderAndNonce'
const service = await startService()
t.teardown(() => service.stop())

const person = examples.accounts[0]?.address ?? ''

t.test('every transaction is found by who sent it, and its nonce', async (t) => {
  const sent = blocks.flatMap((block) =>
    block.transactions.map((_, index) => expectedTransaction(block, index)),
  )
  const answers = await askResults(
    service,
    sent.map(({ from, nonce }) => [method, [from, nonce]]),
  )
  t.strictSame(answers, sent)
})

t.test('what nobody sent is null', async (t) => {
  const { result: next } = await service.call('eth_getTransactionCount', [person])
  const creator = examples.contracts.find(({ block }) => block > 0)?.address
  for (const params of [
    [person, next],
    [person, '0xffffffffffffffff'],
    ['0x00000000000000000000000000000000deadbeef', '0x0'],
    // A contract begins at nonce 1, and its creations are no transactions.
    [creator, '0x0'],
  ]) {
    t.equal((await service.call(method, params)).result, null)
  }
})

t.test('an earlier chain has what was sent by then', async (t) => {
  const late = blocks.findLast(({ transactions }) => transactions.length > 0)
  const last = late && expectedTransaction(late, 0)
  const ask = async (number: number) => {
    const at = blocks[number - 1]?.hash ?? ''
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, at, method, params: [last?.from, last?.nonce] })
    return JSON.parse((await service.post('/', body)).text).result
  }
  t.strictSame(await ask(late?.number ?? 0), last)
  t.equal(await ask((late?.number ?? 0) - 1), null)
})

t.test('wrong parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    ...countRefusals([person, quantity(1)]),
    ...addressRefusals('0x0'),
    ...indexRefusals(person),
  ])
})
