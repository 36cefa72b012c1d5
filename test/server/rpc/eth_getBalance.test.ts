import t from 'tap'
import { proveAccounts, questionsOf, testBlocksAndParameters } from '../../rpc/accountOracle.js'
import { askResults } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_getBalance'
const service = await startService()
t.teardown(() => service.stop())

t.test('a balance is what is proved of the account', async (t) => {
  const accounts = await proveAccounts(service)
  const answers = await askResults(service, questionsOf(method, accounts))
  for (const [at, { address, number, proof }] of accounts.entries()) {
    t.equal(answers[2 * at], proof.balance, `${address} after block ${number}`)
    t.equal(answers[2 * at + 1], proof.balance)
  }
  t.ok(
    accounts.some(({ proof }) => proof.balance === '0x0') &&
      accounts.some(({ proof }) => proof.balance !== '0x0'),
  )
})

testBlocksAndParameters(service, method)
