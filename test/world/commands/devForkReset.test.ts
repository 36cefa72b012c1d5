/** `tidegate dev --fork`: a reset moves the base, by viem's test actions and by Hardhat's network helpers. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import * as helpers from '@nomicfoundation/hardhat-network-helpers'
import t, { type Test } from 'tap'
import { createTestClient, http } from 'viem'
import { foundry } from 'viem/chains'
import { makeFolder } from '../../library/folder.js'
import { startDev } from '../../service/developerChain.js'
import { type Front, openFront, passes } from '../../upstream/front.js'

const { network } = createRequire(import.meta.url)('hardhat') as { network: { url: string } }
const to = `0x${'57'.repeat(20)}`
const funded = '0x21e19e0c9bab2400000'
/** Returns the hash of the block that its data names. */
const blockhashCode = '0x5f35405f5260205ff3'
const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`

type Chain = Awaited<ReturnType<typeof startDev>>

async function result({ ask }: Chain, method: string, ...params: readonly unknown[]) {
  const answer = await ask(method, ...params)
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}

/** A chain in whose block N an account has N wei. */
async function startBase(t: Test, blocks: number): Promise<Chain> {
  const chain = await startDev(t)
  const [from] = await result(chain, 'eth_accounts')
  for (let at = 0; at < blocks; at++) await result(chain, 'eth_sendTransaction', { from, to, value: '0x1' })
  return chain
}

/** Checks that the chain is at a block of its base's chain, with the state of that. */
async function checkAt(t: Test, chain: Chain, node: Chain, number: number): Promise<void> {
  const hex = `0x${number.toString(16)}`
  t.equal(await result(chain, 'eth_blockNumber'), hex)
  t.strictSame(
    await result(chain, 'eth_getBlockByNumber', hex, false),
    await result(node, 'eth_getBlockByNumber', hex, false),
  )
  t.equal(await result(chain, 'eth_getBalance', to, 'latest'), hex)
  const [from] = await result(chain, 'eth_accounts')
  t.equal(await result(chain, 'eth_getBalance', from, 'latest'), funded, 'accounts have their ether there')
  const below = await result(node, 'eth_getBlockByNumber', `0x${(number - 1).toString(16)}`, false)
  const code = { [to]: { code: blockhashCode } }
  const call = { to, data: word(number - 1) }
  t.equal(await result(chain, 'eth_call', call, 'latest', code), below.hash, 'BLOCKHASH')
  t.match(await result(chain, 'anvil_nodeInfo'), { forkConfig: { forkBlockNumber: number } })
}

t.test('the base moves to another block, by the same node and another one', async (t) => {
  const node = await startBase(t, 6)
  const asked: string[] = []
  const counting: Front = (request, pass) => {
    asked.push(...request.calls.map(({ method }) => method))
    return pass()
  }
  const url = await openFront(t, node.url, counting)
  const otherUrl = await openFront(t, node.url, passes)
  const flags = ['--fork', `${url}@4`, '--data', join(makeFolder(t), 'fork')]
  const chain = await startDev(t, flags)
  network.url = chain.url
  const transport = http(chain.url, { timeout: 0 })
  const client = createTestClient({ mode: 'anvil', chain: foundry, transport })
  const [from] = await result(chain, 'eth_accounts')
  const change = async () => {
    const sent = await result(chain, 'eth_sendTransaction', { from, to, value: '0x64' })
    t.match(await result(chain, 'eth_getTransactionReceipt', sent), { status: '0x1' })
    await result(chain, 'anvil_setBalance', to, '0x999')
    return sent
  }
  await checkAt(t, chain, node, 4)
  const sent = await change()
  const snapshot = await result(chain, 'evm_snapshot')

  await client.reset({ blockNumber: 2n })
  await checkAt(t, chain, node, 2)
  t.equal(await result(chain, 'eth_getTransactionReceipt', sent), null)
  t.equal(await result(chain, 'evm_revert', snapshot), false)
  t.match(await (await fetch(`${chain.url}/health`)).text(), /changed by hand at block 2: fork/)
  await change()
  await client.reset()
  await checkAt(t, chain, node, 2)

  await helpers.reset(otherUrl, 5)
  await checkAt(t, chain, node, 5)
  await change()
  await helpers.reset()
  await checkAt(t, chain, node, 5)
  await helpers.reset(url)
  await checkAt(t, chain, node, 6)
  t.equal(await chain.stop(), 0)

  asked.length = 0
  const again = await startDev(t, flags)
  await checkAt(t, again, node, 6)
  for (const blockNumber of [2, 4, 5]) {
    await result(again, 'anvil_reset', { forking: { jsonRpcUrl: url, blockNumber } })
    await checkAt(t, again, node, blockNumber)
  }
  t.strictSame(asked, [], 'a second run asks for nothing')
})

t.test('a base that is not there, or is of another chain, is refused, and nothing changes', async (t) => {
  const node = await startBase(t, 2)
  const other = await startDev(t, ['--chain-id', '77'])
  const chain = await startDev(t, ['--fork', node.url])
  const refused = async (forking: object, message: RegExp) => {
    t.match(await chain.ask('hardhat_reset', { forking }), { error: { message } })
    await checkAt(t, chain, node, 2)
  }
  await refused({ blockNumber: 3 }, /has no block 3/)
  await refused({ jsonRpcUrl: other.url, blockNumber: 0 }, /chain/)
  await refused({ jsonRpcUrl: 'file:///etc/passwd' }, /expected a URL of http, https, ws or wss/)
  await refused({ blockNumber: 'x' }, /expected a whole number/)
})
