import t from 'tap'
import { startService } from '../service.js'
import { addressRefusals, proveAccounts, questionsOf } from './accountOracle.js'
import { headBlock, sights, unknownHash } from './demoChain.js'
import { askResults, blockRefusals, checkRefusals, countRefusals } from './questions.js'

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
    // An account that is not there has zeros in a proof, or what an empty one has.
    else t.ok(balance === '0x0' && nonce === '0x0', `${address} after block ${number}`)
    t.strictSame(answers[2 * at + 1], answers[2 * at])
  }
  t.ok(answers.includes(null))
  t.notOk(answers.some((answer) => answer?.codeHash === none))
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
