/** `tidegate dev --fork`: the dump of a fork has what was changed above its base, and is loaded onto that base alone. */
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { startDev } from '../../service/developerChain.js'
import { openFront, passes } from '../../upstream/front.js'

const to = `0x${'57'.repeat(20)}`
const other = `0x${'58'.repeat(20)}`
const store = `0x${'c0de'.repeat(10)}`
const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`
/** Writes the second word of its data into the slot that the first one names. */
const storeCode = '0x6020355f355500'

type Chain = Awaited<ReturnType<typeof startDev>>

async function result({ ask }: Chain, method: string, ...params: readonly unknown[]) {
  const answer = await ask(method, ...params)
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}

const contentOf = (dump: string) =>
  JSON.parse(gunzipSync(Buffer.from(dump.slice(2), 'hex')).toString()) as {
    accounts: Record<string, { nonce: number; balance: string; code: string; storage: object }>
    base: { number: number; hash: string }
  }

t.test('a dump of a fork goes onto another fork of the same block', async (t) => {
  const node = await startDev(t)
  const storage = Object.fromEntries([1, 2, 3].map((slot) => [word(slot), word(slot)]))
  const accounts = {
    [store]: { nonce: 1, balance: '0x0', code: storeCode, storage },
    [other]: { nonce: 0, balance: '0x63', code: '0x6001' },
  }
  await result(node, 'anvil_loadState', `0x${Buffer.from(JSON.stringify({ accounts })).toString('hex')}`)
  await result(node, 'anvil_mine', '0x2')
  const chain = await startDev(t, ['--fork', node.url])
  const [from, sender] = await result(chain, 'eth_accounts')
  const write = (slot: number, value: number) =>
    result(chain, 'eth_sendTransaction', {
      from: sender,
      to: store,
      data: `${word(slot)}${word(value).slice(2)}`,
      gas: '0x20000',
    })
  await write(1, 77)
  await write(2, 0)
  // A dump has neither read values nor values that were changed and changed back.
  t.equal(await result(chain, 'eth_getStorageAt', store, word(3), 'latest'), word(3))
  await result(chain, 'anvil_setStorageAt', store, word(3), word(5))
  await result(chain, 'anvil_setStorageAt', store, word(3), word(3))
  const id = await result(chain, 'evm_snapshot')
  await result(chain, 'eth_sendTransaction', { from: sender, to, value: '0x9' })
  await result(chain, 'evm_revert', id)
  await result(chain, 'anvil_setBalance', other, '0x64')

  const dump = await result(chain, 'anvil_dumpState')
  const content = contentOf(dump)
  t.strictSame(content.accounts[store]?.storage, { [word(1)]: word(77), [word(2)]: word(0) })
  t.equal(content.accounts[store]?.code, storeCode)
  t.strictSame(content.accounts[other], { nonce: 0, balance: '0x64', code: '0x6001', storage: {} })
  t.equal(content.accounts[to], undefined, 'it was taken back')
  const { hash } = await result(node, 'eth_getBlockByNumber', '0x2', false)
  t.strictSame(content.base, { number: 2, hash })

  const again = await startDev(t, ['--fork', `${await openFront(t, node.url, passes)}@2`])
  t.equal(await result(again, 'anvil_loadState', dump), true)
  t.strictSame(
    await result(again, 'eth_getProof', store, [1, 2, 3].map(word), 'latest'),
    await result(chain, 'eth_getProof', store, [1, 2, 3].map(word), 'latest'),
  )
  t.equal(await result(again, 'eth_getBalance', other, 'latest'), '0x64')
  t.equal(await result(again, 'eth_getCode', other, 'latest'), '0x6001')
  t.equal(await result(again, 'eth_getTransactionCount', sender, 'latest'), '0x2')
  t.equal(await result(again, 'eth_getBalance', from, 'latest'), '0x21e19e0c9bab2400000')
  t.strictSame(
    contentOf(await result(again, 'anvil_dumpState')).accounts,
    content.accounts,
    'a dump of what was loaded is the same',
  )

  await result(again, 'anvil_reset', { forking: { blockNumber: 1 } })
  t.match(await again.ask('anvil_loadState', dump), {
    error: { message: /what a fork of block 2, 0x\w+ changed; this chain is one of block 1, 0x/ },
  })
  t.notMatch(contentOf(await result(again, 'anvil_dumpState')).accounts, { [store]: {} })
  t.match(await node.ask('anvil_loadState', dump), { error: { message: /this chain is no fork/ } })
  const whole = `0x${Buffer.from(JSON.stringify({ accounts: { [to]: { balance: '0x3' } } })).toString('hex')}`
  t.equal(await result(again, 'anvil_loadState', whole), true)
  t.equal(await result(again, 'eth_getBalance', to, 'latest'), '0x3')
})
