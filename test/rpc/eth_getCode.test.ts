import t from 'tap'
import { startService } from '../service.js'
import { addressRefusals, proveAccounts, questionsOf } from './accountOracle.js'
import { bytesOf, headBlock, keccak, sights, unknownHash } from './demoChain.js'
import { askResults, blockRefusals, checkRefusals, countRefusals } from './questions.js'

const method = 'eth_getCode'
const service = await startService()
t.teardown(() => service.stop())

t.test('code has the hash that is proved of the account', async (t) => {
  const accounts = await proveAccounts(service)
  const answers = await askResults(service, questionsOf(method, accounts))
  for (const [at, { address, number, proof }] of accounts.entries()) {
    t.equal(keccak(bytesOf(answers[2 * at])), proof.codeHash, `${address} after block ${number}`)
    t.equal(answers[2 * at + 1], answers[2 * at])
  }
  t.ok(answers.some((code) => code.length > 1_000))
  t.ok(
    answers.some((code) => code.startsWith('0xef0100') && code.length === 48),
    'a delegation',
  )
})

t.test('without a block it is the head, which has many names', async (t) => {
  const { hash } = headBlock
  for (const { address } of sights.contracts) {
    const { result } = await service.call(method, [address])
    for (const name of ['latest', 'pending', hash, { blockHash: hash }, { blockNumber: 'latest' }, null]) {
      t.strictSame((await service.call(method, [address, name])).result, result)
    }
  }
})

t.test('a block that is not there is a fault', async (t) => {
  const address = sights.accounts[0]?.address ?? ''
  await checkRefusals(t, service, method, [
    [[address, '0xffff'], -32000, 'header not found'],
    [[address, unknownHash], -32000, 'header for hash not found'],
  ])
})

t.test('wrong parameters are refused', async (t) => {
  const address = sights.accounts[0]?.address ?? ''
  await checkRefusals(t, service, method, [
    ...countRefusals([address, 'latest'], 1),
    ...addressRefusals(),
    ...blockRefusals(1, (block) => [address, block]),
  ])
})
