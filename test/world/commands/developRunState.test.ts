/** Runs of empty blocks of a developer chain over a fork's time, in dumps, and within the limits of the configuration. */
import t, { type Test } from 'tap'
import { mergedConfig, testAddresses, testGenesis } from '../../ingest/chainMaker.js'
import { startDev, startDeveloper } from '../../service/developerChain.js'

const to = `0x${'57'.repeat(20)}`
const hex = (value: number) => `0x${value.toString(16)}`

/** Serves a chain of the configuration; `result` throws an error's message. */
async function startChain(t: Test, options: Parameters<typeof startDeveloper>[1]) {
  const { service } = await startDeveloper(t, options)
  const result = async (method: string, ...params: readonly unknown[]) => {
    const { result, error } = await service.call(method, params)
    if (error !== undefined) throw new Error(error.message)
    return result
  }
  return { result }
}

t.test('blocks after a fork within a run are of the new fork', async (t) => {
  const begun = Math.floor(Date.now() / 1_000)
  const config = { ...mergedConfig(), cancunTime: begun + 36_000, pragueTime: undefined }
  const genesis = testGenesis(config, { timestamp: hex(begun), difficulty: '0x0' })
  const { result } = await startChain(t, { genesis })
  const count = 6_000
  await result('anvil_mine', hex(count), '0xc')
  t.equal(Number(await result('eth_blockNumber')), count)
  const blockAt = (number: number) => result('eth_getBlockByNumber', hex(number), false)
  let below = 1
  let above = count
  // The first block of the new fork lies between these.
  while (above - below > 1) {
    const middle = Math.floor((above + below) / 2)
    const { timestamp } = await blockAt(middle)
    if (Number(timestamp) >= config.cancunTime) above = middle
    else below = middle
  }
  t.ok(below > 100 && above < count - 100, `the fork is within the run: block ${above}`)
  let parent = await blockAt(below - 20)
  for (let number = below - 19; number < above + 20; number++) {
    const block = await blockAt(number)
    t.equal(block.parentHash, parent.hash)
    t.equal(Number(block.timestamp) - Number(parent.timestamp), 12)
    const isNew = number >= above
    t.equal('excessBlobGas' in block, isNew, `block ${number}`)
    t.equal('parentBeaconBlockRoot' in block, isNew)
    t.strictSame(await result('eth_getBlockByHash', block.hash, false), block)
    parent = block
  }
  t.match(await blockAt(count), { excessBlobGas: '0x0', blobGasUsed: '0x0' })
})

t.test('a state after a run is dumped and loaded', async (t) => {
  const chain = await startDev(t)
  const result = async ({ ask }: typeof chain, method: string, ...params: readonly unknown[]) => {
    const answer = await ask(method, ...params)
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result
  }
  const [from] = await result(chain, 'eth_accounts')
  await result(chain, 'eth_sendTransaction', { from, to, value: '0x5' })
  await result(chain, 'anvil_setStorageAt', to, '0x1', `0x${'7'.padStart(64, '0')}`)
  await result(chain, 'anvil_mine', hex(3_000))
  const dump = await result(chain, 'anvil_dumpState')
  const other = await startDev(t)
  t.equal(await result(other, 'anvil_loadState', dump), true)
  t.equal(await result(other, 'eth_getBalance', to, 'latest'), '0x5')
  t.equal(Number(await result(other, 'eth_getStorageAt', to, '0x1', 'latest')), 7)
  t.equal(await result(other, 'eth_getTransactionCount', from, 'latest'), '0x1')

  // Onto the chain itself, within and after a run.
  await result(chain, 'anvil_setBalance', to, '0x9')
  await result(chain, 'anvil_mine', hex(2_000))
  t.equal(await result(chain, 'anvil_loadState', dump), true)
  await result(chain, 'evm_mine')
  t.equal(await result(chain, 'eth_getBalance', to, 'latest'), '0x5')
  t.equal(
    await result(chain, 'eth_getBalance', to, hex(4_500)),
    '0x9',
    'a block of the run has its own state',
  )
  t.equal(Number(await result(chain, 'eth_blockNumber')), 1 + 3_000 + 2_000 + 1)
})

t.test('a refused transaction or block leaves the set time for the next block', async (t) => {
  const config = { ...mergedConfig(), shanghaiTime: undefined, cancunTime: undefined, pragueTime: undefined }
  const genesis = testGenesis(config, { difficulty: '0x0' })
  const { result } = await startChain(t, { genesis })
  const next = 2_000_000_000
  const from = testAddresses[0]?.toString()
  await result('anvil_impersonateAccount', from)
  await result('evm_setNextBlockTimestamp', next)
  const tooMuch = { from, to, value: `0x1${'0'.repeat(30)}`, gas: '0x5208' }
  await t.rejects(result('eth_sendTransaction', tooMuch), /insufficient funds/)
  await t.rejects(result('anvil_addBalance', to, '0x3b9aca00'), /before Shanghai/)
  await t.rejects(result('anvil_mine', '0x0', '0xffffffffffff'), /expected at most/)
  await t.rejects(result('evm_setNextBlockTimestamp', 0), /is not after/)
  t.equal(await result('eth_blockNumber'), '0x0')
  t.equal(Number((await result('eth_getBlockByNumber', 'pending', false)).timestamp), next)
  await result('eth_sendTransaction', { from, to, value: '0x1' })
  const made = await result('eth_getBlockByNumber', 'latest', false)
  t.match(made, { number: '0x1', timestamp: hex(next) })
  await result('evm_mine')
  t.ok(Number((await result('eth_getBlockByNumber', 'latest', false)).timestamp) > next)
})
