/** `tidegate dev --fork`: logs, receipts and blocks below the base are those of its node, above it the fork's own. */
import t from 'tap'
import { startDev } from '../../service/developerChain.js'

const logger = `0x${'1066'.repeat(10)}`
/** Makes a log with the topic 7. */
const loggerCode = '0x60075f5fa100'
const topic = `0x${'7'.padStart(64, '0')}`

type Chain = Awaited<ReturnType<typeof startDev>>

async function result({ ask }: Chain, method: string, ...params: readonly unknown[]) {
  const answer = await ask(method, ...params)
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}

t.test('logs of a range over the base', async (t) => {
  const node = await startDev(t)
  await result(node, 'anvil_setCode', logger, loggerCode)
  const [from] = await result(node, 'eth_accounts')
  const transaction = { from, to: logger, gas: '0x10000' }
  const below: string[] = []
  for (let at = 0; at < 2; at++) below.push(await result(node, 'eth_sendTransaction', transaction))
  await result(node, 'evm_mine')
  const fork = await startDev(t, ['--fork', node.url])
  const above = await result(fork, 'eth_sendTransaction', transaction)

  const all = { fromBlock: '0x0', toBlock: 'latest', address: logger }
  const logs = await result(fork, 'eth_getLogs', all)
  t.strictSame(
    logs.map(({ blockNumber }: { blockNumber: string }) => blockNumber),
    ['0x1', '0x2', '0x4'],
  )
  t.strictSame(logs.slice(0, 2), await result(node, 'eth_getLogs', all))
  t.match(logs[2], { transactionHash: above, topics: [topic] })
  t.strictSame(await result(fork, 'eth_getLogs', { ...all, topics: [topic] }), logs)
  t.strictSame(await result(fork, 'eth_getLogs', { ...all, topics: [`0x${'0'.repeat(64)}`] }), [])
  for (const hash of below) {
    const receipt = await result(node, 'eth_getTransactionReceipt', hash)
    t.strictSame(await result(fork, 'eth_getTransactionReceipt', hash), receipt)
  }
  t.strictSame(
    await result(fork, 'eth_getBlockByNumber', '0x1', true),
    await result(node, 'eth_getBlockByNumber', '0x1', true),
  )
  t.equal(await result(node, 'eth_getTransactionReceipt', above), null, 'the node knows nothing of the fork')
})
