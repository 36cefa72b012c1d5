// @shares
/** The program with two edges: all limits apply to both together. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { NodeStore } from '../../../src/data/store/node/nodeStore.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { createKey, revokeKey } from '../../../src/serving/access/keyChanges.js'
import { KeyChecker } from '../../../src/serving/access/keyChecker.js'
import { asciiToFelt, type Felt } from '../../../src/serving/rollup/felt.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { copyDemoStore, writeConfig } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { refusedUpgrade, SocketClient } from '../../transport/socketClient.js'

/** All connections are of one edge only once in two million runs. */
const many = 22

t.test(
  'two edges serve one port',
  { skip: process.platform !== 'linux' && 'edges share a port on Linux alone' },
  async (t) => {
    const folder = makeFolder(t)
    const dataDir = join(folder, 'data')
    copyDemoStore(dataDir, 'demo')
    const paths = ['node.mdb', 'pepper', 'demo-key'].map((name) => join(dataDir, 'node', name))
    const [path = '', pepper = '', demoKey = ''] = paths
    const store = NodeStore.open({ path })
    t.teardown(() => store.close())
    const ring = KeyChecker.open(store, { pepper, demoKey })
    const [one, other] = [
      createKey(store, ring.pepper, { name: 'one' }, 'test'),
      createKey(store, ring.pepper, { name: 'other' }, 'test'),
    ]
    const devnet = join(packageRoot(), 'data/devnet')
    const source = { type: 'replay', file: join(devnet, 'chain.rlp'), from: 200, intervalMs: 1 }
    const config = writeConfig(folder, {
      dataDir,
      edges: 2,
      logLevel: 'debug',
      limits: { socketsPerKeyMax: many },
      networks: [
        { name: 'demo', genesis: join(devnet, 'genesis.json'), source },
        { name: 'roll', kind: 'rollup', chainId: 'SN_SEPOLIA' },
      ],
    })
    const steps = await Steps.listen(t)
    const service = await startService(['--config', config], steps.env())
    t.teardown(() => service.stop())
    let log = ''
    service.process.stderr?.on('data', (chunk) => {
      log += chunk
    })

    /** Sends to a network over a connection of its own, which either edge may get. */
    const call = async (network: string, method: string, params: unknown, key = other.text) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const { status, text } = await service.post(`/${network}/v3/${key}`, body, { connection: 'close' })
      return { status, text, ...JSON.parse(text) }
    }
    const onMany = <T>(ask: (index: number) => Promise<T>) =>
      Promise.all(Array.from({ length: many }, (_, index) => ask(index)))
    const sameOnMany = async (t: Test, network: string, method: string, params: unknown): Promise<string> => {
      const answers = new Set((await onMany(() => call(network, method, params))).map(({ text }) => text))
      t.equal(answers.size, 1, method)
      return [...answers][0] ?? ''
    }
    const socketUrl = (network: string, key: string) =>
      `${service.origin.replace('http', 'ws')}/${network}/ws/v3/${key}`
    const connect = async (network: string, key: string) => {
      const client = await SocketClient.connect(socketUrl(network, key))
      t.teardown(() => client.cut())
      return client
    }
    const subscribe = async (client: SocketClient, method: string, params: unknown) => {
      const answer = await client.ask(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      t.match(answer, /"result":"0x[0-9a-f]+"/)
    }

    t.test('connections come to both', async (t) => {
      await onMany(async () => t.equal((await call('demo', 'eth_chainId', [], 'no-key')).status, 401))
      const refusals = await waitFor('log lines', () => {
        const lines = log.split('\n').filter((line) => line.includes('request refused'))
        return lines.length === many && lines
      })
      t.strictSame(new Set(refusals.map((line) => JSON.parse(line).edge)), new Set([undefined, 1]))
    })

    t.test('both answer alike, inline and by jobs', async (t) => {
      const contract = '0x00000000000000000000000000000000000c0de2'
      await sameOnMany(t, 'demo', 'eth_getStorageAt', [contract, '0x0', '0xa'])
      await sameOnMany(t, 'demo', 'eth_getBlockByNumber', ['0xc8', true])
      await sameOnMany(t, 'demo', 'eth_getProof', [contract, ['0x0'], '0xc8'])
      await sameOnMany(t, 'demo', 'eth_call', [{ to: contract, data: '0x' }, '0xc8'])
      await sameOnMany(t, 'demo', 'eth_call', [
        { to: contract, gasPrice: '0x1', value: '0xffffffffffffffff' },
        '0xc8',
      ])
    })

    const sockets = await onMany(() => connect('demo', one.text))
    t.test('a key has its number of WebSockets once, not once for each', async (t) => {
      const refusals = await onMany(() => refusedUpgrade(socketUrl('demo', one.text)))
      t.ok(refusals.every(({ status }) => status === 429))
      sockets[0]?.cut()
      await sockets[0]?.closed
      sockets[0] = await waitFor('room for another', () => connect('demo', one.text).catch(() => undefined))
      t.equal((await refusedUpgrade(socketUrl('demo', one.text))).status, 429)
    })

    t.test('a new head reaches the subscribers of both', async (t) => {
      await Promise.all(sockets.map((socket) => subscribe(socket, 'eth_subscribe', ['newHeads'])))
      for (const number of [201, 202]) {
        await steps.next()
        const heads = await Promise.all(sockets.map((socket) => headOf(socket)))
        t.strictSame(new Set(heads.map((head) => head.number)), new Set([number]))
        t.equal(new Set(heads.map((head) => head.hash)).size, 1)
      }
    })

    const hashes: string[] = []
    const watchers: SocketClient[] = []
    t.test('both take submissions, and tell what becomes of them', async (t) => {
      const submit = async (transaction: unknown): Promise<string> => {
        const answer = await call('roll', 'rollupx_addInvokeTransaction', { invoke_transaction: transaction })
        t.match(answer.result?.transaction_hash, /^0x/, answer.text)
        return answer.result.transaction_hash
      }
      hashes.push(...(await onMany((index) => submit(makeTransaction(0xabc, index)))))
      const [watched = ''] = hashes
      t.match(await sameOnMany(t, 'roll', 'rollupx_getTransactionStatus', [watched]), /RECEIVED/)
      const refused = await onMany((index) =>
        call('roll', 'rollupx_addInvokeTransaction', { invoke_transaction: makeTransaction(0xabc, index) }),
      )
      t.ok(
        refused.every(({ error }) => error.code === 59),
        'duplicates are refused wherever they come to',
      )
      const crowd = await onMany(() =>
        call('roll', 'rollupx_addInvokeTransaction', { invoke_transaction: makeTransaction(0xdef, 0) }),
      )
      const taken = crowd.filter(({ result }) => result !== undefined)
      t.equal(taken.length, 1, 'of identical ones that come at once to both, one is taken')
      t.equal(crowd.filter(({ error }) => error?.code === 59).length, crowd.length - 1)
      hashes.push(taken[0]?.result.transaction_hash)
      watchers.push(...(await onMany(() => connect('roll', other.text))))
      await Promise.all(
        watchers.map((watcher) => subscribe(watcher, 'rollupx_subscribeTransactionStatus', [watched])),
      )
      const statuses = async () => Promise.all(watchers.map((watcher) => watcher.next()))
      t.ok((await statuses()).every((status) => status?.includes('"queue_status":"RECEIVED"')))
      const price = { max_amount: '0x5f5e100', max_price_per_unit: '0xc8' }
      const { resource_bounds } = makeTransaction(0xabc, 0)
      hashes.push(
        await submit(
          makeTransaction(0xabc, 0, { tip: '0x64', resource_bounds: { ...resource_bounds, l2_gas: price } }),
        ),
      )
      t.ok((await statuses()).every((status) => status?.includes('"queue_status":"REJECTED"')))
      const health = await onMany(() =>
        fetch(`${service.origin}/health`, { headers: { connection: 'close' } }),
      )
      const counts = await Promise.all(
        health.map(async (answer) => ((await answer.json()) as Health).networks.roll.waiting),
      )
      t.strictSame(new Set(counts), new Set([many + 1]))
    })

    t.test('a key that is revoked is refused by both, and its WebSockets end', async (t) => {
      revokeKey(store, one.key.id, 'test')
      const ends = await Promise.all(sockets.map(({ closed }) => closed))
      t.ok(ends.every(({ code }) => code === 1008))
      const refusals = await onMany(() => call('demo', 'eth_chainId', [], one.text))
      t.ok(refusals.every(({ status }) => status === 401))
    })

    t.test('asked to stop, both end what is open, and the program ends well', async (t) => {
      t.equal(await service.stop(), 0)
      const ends = await Promise.all(watchers.map(({ closed }) => closed))
      t.ok(ends.every(({ code }) => code === 1001))
      const submissions = store.openSubmissions('roll', asciiToFelt('SN_SEPOLIA'))
      for (const hash of hashes)
        t.equal(
          submissions.readRows(hash as Felt, one.key.id).length,
          1,
          'every submission that was taken is kept',
        )
    })
  },
)

interface Health {
  readonly networks: { readonly roll: { readonly waiting: number } }
}

interface Head {
  readonly number: number
  readonly hash: string
}

async function headOf(socket: SocketClient): Promise<Head> {
  const { number, hash } = JSON.parse((await socket.next()) ?? '{}').params.result
  return { number: Number(number), hash }
}
