import t from 'tap'
import { proveAccounts, questionsOf, testBlocksAndParameters } from '../../rpc/accountOracle.js'
import { askResults } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'eth_getAccount'
const service = await startService()
t.teardown(() => service.stop())

const none = `0x${'0'.repeat(64)}`

t.test('an account is what is proved of it', async (t) => {
  const accounts = await proveAccounts(service)
  const answers = await askResults(service, questionsOf(method, accounts))
  for (const [at, { address, number, proof }] of accounts.entries()) {
    const { balance, nonce, codeHash, storageHash } = proof
    const isThere = answers[2 * at] !== null
    if (isThere) t.strictSame(answers[2 * at], { codeHash, storageRoot: storageHash, balance, nonce })
    // In a proof, an absent account has zeros, or the values of an empty account.
    else t.ok(balance === '0x0' && nonce === '0x0', `${address} after block ${number}`)
    t.strictSame(answers[2 * at + 1], answers[2 * at])
  }
  t.ok(answers.includes(null))
  t.notOk(answers.some((answer) => answer?.codeHash === none))
})

testBlocksAndParameters(service, method)
