import t from 'tap'
import { proveAccounts, questionsOf, testBlocksAndParameters } from '../../rpc/accountOracle.js'
import { bytesOf, keccak } from '../../rpc/demoChain.js'
import { askResults } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

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

testBlocksAndParameters(service, method)
