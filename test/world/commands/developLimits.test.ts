/** `tidegate dev --config`: limits of mined blocks, and of what a fork fetches. */
import t, { type Test } from 'tap'
import { makeFolder, writeInto } from '../../library/folder.js'
import { startDev } from '../../service/developerChain.js'
import { runHere } from '../../service/program.js'
import { type Front, openFront } from '../../upstream/front.js'

const hex = (value: number) => `0x${value.toString(16)}`
const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`
const list = `0x${'115f'.repeat(10)}`
/** Walks over a linked list of slots, from the one that the call names to the end. */
const listCode = '0x5f355b54806002575f5260205ff3'
const listSlots = 20
const wide = `0x${'71de'.repeat(10)}`
/** Reads the slots 1 to 5. */
const wideCode = `0x${[1, 2, 3, 4, 5].map((slot) => `600${slot}5450`).join('')}00`

const configOf = (t: Test, limits: object) => writeInto(makeFolder(t), 'limits.json', { limits })

t.test('limits.minedBlocksMax and limits.executedBlocksMax bound one call', async (t) => {
  const config = configOf(t, { minedBlocksMax: 3_000, executedBlocksMax: 50 })
  const { ask } = await startDev(t, ['--config', config])
  const head = async () => Number((await ask('eth_blockNumber')).result)
  const refused = async (most: number, method: string, ...params: readonly unknown[]) => {
    const before = await head()
    t.match(
      await ask(method, ...params),
      { error: { message: new RegExp(`expected at most ${most}`) } },
      method,
    )
    t.equal(await head(), before)
  }
  await refused(3_000, 'anvil_mine', hex(3_001))
  await refused(3_000, 'evm_mine', { blocks: 3_001 })
  await refused(50, 'evm_mine_detailed', { blocks: 51 })
  await refused(50, 'anvil_mine', hex(51))
  t.equal((await ask('anvil_mine', hex(50))).result, null)
  t.equal(await head(), 50)
})

t.test('limits.forkRoundsMax and limits.forkProofSlotsMax bound what a fork fetches', async (t) => {
  const node = await startDev(t)
  const storage = Object.fromEntries(
    Array.from({ length: listSlots }, (_, at) => [word(at + 1), word(at + 1 < listSlots ? at + 2 : 0)]),
  )
  const five = Object.fromEntries([1, 2, 3, 4, 5].map((slot) => [word(slot), word(slot)]))
  const accounts = {
    [list]: { nonce: 1, balance: '0x0', code: listCode, storage },
    [wide]: { nonce: 1, balance: '0x0', code: wideCode, storage: five },
  }
  await node.ask('anvil_loadState', `0x${Buffer.from(JSON.stringify({ accounts })).toString('hex')}`)
  await node.ask('evm_mine')
  /** Numbers of slots of the proofs of one account. */
  const proofs: number[] = []
  const front: Front = ({ calls }, pass) => {
    for (const { method, params } of calls) {
      const [address, slots] = params as [string, string[]]
      if (method === 'eth_getProof' && address === wide) proofs.push(slots.length)
    }
    return pass()
  }
  const url = await openFront(t, node.url, front)
  const config = configOf(t, { forkRoundsMax: 8, forkProofSlotsMax: 2 })
  const { ask } = await startDev(t, ['--fork', url, '--config', config])
  const [from] = (await ask('eth_accounts')).result
  const send = (to: string, data: string) => {
    const fees = { maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x1' }
    return ask('eth_sendTransaction', { from, to, data, gas: '0x20000', ...fees })
  }
  t.match(await send(list, word(1)), { error: { message: /more of the forked chain than 8 fetches bring/ } })
  await ask('anvil_dropAllTransactions')
  const sent = await send(list, word(listSlots - 1))
  t.match((await ask('eth_getTransactionReceipt', sent.result)).result, { status: '0x1' }, 'a short walk')
  t.match(await send(wide, '0x'), { result: /^0x/ })
  t.equal(Math.max(...proofs), 2, `slots of each proof: ${proofs.join()}`)
})

t.test('a faulty configuration is named', async (t) => {
  const config = configOf(t, { forkRoundsMax: 0 })
  const run = await runHere(['dev', '--config', config])
  t.match(run, { status: 2, err: /limits\.forkRoundsMax: expected an integer from 1/ }, run.err)
})
