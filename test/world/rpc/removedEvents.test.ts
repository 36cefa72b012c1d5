// @shares
/** A subscriber that reads slowly, on a chain whose past is removed meanwhile. */
import t from 'tap'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { mergedConfig, testGenesis, testKeys } from '../../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const account = privateKeyToAccount(bytesToHex(testKeys[0] as Uint8Array))
/** Blocks with ten logs of 16 KiB each: more than fits into all buffers of a connection. */
const loggingBlocks = 40

t.test('events that were removed before a slow reader came to them close its connection', async (t) => {
  const folder = makeFolder(t)
  const genesis = writeInto(folder, 'genesis.json', testGenesis(mergedConfig()))
  const history = { state: 64, receipts: 64, bodies: 64, trie: 64 }
  const source = { type: 'develop', blockSeconds: 0 }
  const networks = [{ name: 'dev', genesis, history, source }]
  const config = writeConfig(folder, { dataDir: 'data', networks })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  const call = async (method: string, ...params: unknown[]) => (await service.call(method, params)).result
  const chainId = Number(await call('eth_chainId'))
  const send = async (nonce: number, more: { to?: Hex; data?: Hex; gas: bigint }): Promise<Hex> => {
    const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n }
    const raw = await account.signTransaction({ type: 'eip1559', chainId, nonce, ...fees, ...more })
    return call('eth_sendRawTransaction', raw)
  }
  // Ten times LOG0 of 16 KiB of memory.
  const run = `${'6140005fa0'.repeat(10)}00`
  const created = await send(0, { data: `0x6033600a5f3960335ff3${run}`, gas: 500_000n })
  const { contractAddress: to } = await call('eth_getTransactionReceipt', created)
  for (let nonce = 1; nonce <= loggingBlocks; nonce++) await send(nonce, { to, gas: 3_000_000n })

  const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  t.teardown(() => client.cut())
  client.send(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_subscribe',
      params: ['logs', { address: to, replayFrom: '0x2' }],
    }),
  )
  t.match(JSON.parse((await client.next()) ?? ''), { id: 1, result: /^0x/ })
  client.socket.pause()
  t.equal(await call('anvil_mine', 120), null)
  await waitFor('the logs to be removed', async () => {
    return Number((await call('eth_capabilities')).logs.oldestBlock) > loggingBlocks + 1
  })
  client.socket.resume()
  t.match(await client.closed, { code: 1013, reason: /^slow reader: the next events were removed/ })
})
