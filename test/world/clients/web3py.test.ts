// @installs
/**
 * The first calls of a script with web3.py over a WebSocket, where it sends binary messages. Replays the recorded
 * messages of web3.py 8.0.0 with web3py/reads.py, and runs the package itself if `python3` has it. WEB3PY=1 installs it
 * (100 MB) from PyPI into a temporary folder.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { toChecksumAddress } from '../../../src/primitives/addresses.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { facts } from '../../clients/everyday.js'
import { findPython } from '../../clients/python.js'
import { runScript } from '../../clients/runScript.js'
import { bytesOf } from '../../rpc/demoChain.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { startService } from '../../service/service.js'
import { test, transportOf } from '../../transport/eachTransport.js'
import { SocketClient } from '../../transport/socketClient.js'

const folder = join(packageRoot(), 'test/clients')

const python = await findPython(t, {
  test: 'from web3 import WebSocketProvider',
  pinned: 'web3==8.0.0',
  variable: 'WEB3PY',
  megabytes: 100,
})
const skip = 'why' in python && python.why

test('each recorded message is answered', async (t) => {
  const { name } = transportOf(t)
  const service = await startService(['--config', fixtureConfig, '--no-auth', '--transport', name])
  t.teardown(() => service.stop())
  const socket = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  t.teardown(() => socket.cut())
  const words = new Map<string, string>([
    ['$ada', toChecksumAddress(bytesOf(facts.ada))],
    ['$tide', toChecksumAddress(bytesOf(facts.tide))],
    ['$transferTopic', facts.transferTopic],
    ['$totalSupplyCall', facts.totalSupplyCall],
    ['$txHash', facts.transaction.hash ?? ''],
  ])
  const frames: readonly string[] = JSON.parse(readFileSync(join(folder, 'web3pyFrames.json'), 'utf8'))
  const results: unknown[] = []
  for (const frame of frames) {
    const text = frame.replaceAll(/\$\w+/g, (word) => words.get(word) ?? word)
    const answer = JSON.parse((await socket.ask(Buffer.from(text))) ?? '')
    const asked = [JSON.parse(text)].flat()
    const answered = [answer].flat()
    for (const [at, { id, method, params }] of asked.entries()) {
      const { result, error, id: answeredId } = answered[at]
      t.equal(answeredId, id, method)
      t.equal(error, undefined, method)
      results[id] = result
      if (method === 'eth_subscribe') words.set(`$${params[0]}`, result)
    }
  }
  t.match(results.slice(0, 4), [
    `0x${facts.chainId.toString(16)}`,
    `0x${facts.head.number.toString(16)}`,
    { hash: facts.head.hash },
    `0x${facts.adaBalance.toString(16)}`,
  ])
  t.equal(BigInt(String(results[6])), facts.totalSupply)
  t.match(results.slice(10, 13), [{ number: '0x0' }, results[3], results[6]], 'the batch')
  t.strictSame(results.slice(15), [true, true, null])
})

t.test('the package reads blocks, accounts, contracts and logs, and subscribes', { skip }, async (t) => {
  const { path } = python as { readonly path: string }
  const service = await startService()
  t.teardown(() => service.stop())
  const { ada, tide, transaction } = facts
  const out = await runScript([path, join(folder, 'web3py/reads.py')], {
    env: {
      TIDEGATE_URL: `${service.origin.replace('http', 'ws')}/ws`,
      FACTS: JSON.stringify({ ada, tide, hash: transaction.hash }),
    },
  })
  const found = JSON.parse(out)
  const balance = String(facts.adaBalance)
  const supply = String(facts.totalSupply)
  t.match(found, {
    connected: true,
    chainId: facts.chainId,
    head: facts.head.number,
    hash: facts.head.hash,
    balance,
    nonce: facts.adaNonce,
    supply,
    receiptBlock: Number(transaction.blockNumber),
    batch: [0, balance, supply],
    subscriptions: [/^0x/, /^0x/],
    unsubscribed: [true, true],
    unknownBlock: 'BlockNotFound',
  })
  t.ok(found.transfers > 100)
})
