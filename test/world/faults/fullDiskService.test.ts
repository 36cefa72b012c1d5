/** A disk that becomes full under a server: reads continue, also after a restart, and writes once there is room. */
import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freeBytesMin } from '../../../src/data/store/lmdb/environment.js'
import { NodeStore } from '../../../src/data/store/node/nodeStore.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { createKey } from '../../../src/serving/access/keyChanges.js'
import { KeyChecker } from '../../../src/serving/access/keyChecker.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { someOf } from '../../library/property.js'
import { inTime, waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { type Admin, adminOf } from '../../service/adminClient.js'
import { copyDemoStore, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { onSmallDisk, withoutSmallDisk } from '../../store/smallDisk.js'
import { SocketClient } from '../../transport/socketClient.js'

const devnet = join(packageRoot(), 'data/devnet')
const [genesis, chain] = ['genesis.json', 'chain.rlp'].map((name) => join(devnet, name))
const kilobyte = 1024

/**
 * Free space of a full disk: a little too little to write anything, or none. Files that a source removes at its end,
 * such as its lock, do not make room.
 */
const leftKilobytes = [-256, -freeBytesMin / kilobyte]

/** Kept whole, filled from the replay of a chain, and a queue for a sequencer. */
const networks = [
  { name: 'kept', genesis },
  { name: 'played', genesis, source: { type: 'replay', file: chain, from: 260, intervalMs: 1 } },
  { name: 'roll', kind: 'rollup', chainId: 'SN_SEPOLIA' },
]

async function makeKey(dataDir: string, unitsPerDay: number | null): Promise<string> {
  const store = NodeStore.open({ path: join(dataDir, 'node/node.mdb') })
  const paths = { pepper: join(dataDir, 'node/pepper'), demoKey: join(dataDir, 'node/demo-key') }
  const { pepper } = KeyChecker.open(store, paths)
  const { text } = createKey(store, pepper, { name: 'shop', limits: { unitsPerDay } }, 'test')
  await store.close()
  return text
}

/** A server whose disk may be full, with the requests of its clients and its operator. */
class Client {
  constructor(
    readonly service: Service,
    readonly admin: Admin,
    readonly key: string,
  ) {}

  async read(network: string, method = 'eth_blockNumber') {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] })
    const { status, text } = await this.service.post(`/${network}/v3/${this.key}`, body)
    return { status, ...JSON.parse(text) }
  }

  async submit(nonce: number) {
    const params = { invoke_transaction: makeTransaction(1, nonce) }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'rollupx_addInvokeTransaction', params })
    const { status, text } = await this.service.post(`/roll/v3/${this.key}`, body)
    return { status, ...JSON.parse(text) }
  }

  async health() {
    const answer = await fetch(`${this.service.origin}/health`)
    return { code: answer.status, ...((await answer.json()) as object) }
  }

  async makeKey(name: string) {
    const headers = { authorization: `Bearer ${this.admin.token}`, 'content-type': 'application/json' }
    const { status, text } = await this.admin.get('/api/keys', {
      method: 'POST',
      headers,
      body: JSON.stringify({ name }),
    })
    return { status, ...JSON.parse(text) }
  }

  /** Counted calls, including those that the server has not stored yet. */
  async callsUsed(): Promise<number> {
    const { rows } = JSON.parse((await this.admin.get('/api/usage')).text)
    return rows.reduce((sum: number, { calls }: { calls: number }) => sum + calls, 0)
  }
}

/** Expects that reads continue, and that no write is accepted. */
async function checkReadOnly(t: Test, client: Client): Promise<void> {
  t.match(await client.read('kept'), { status: 200, result: '0x108' })
  t.match(await client.read('played'), { status: 200, result: /^0x10/ })
  t.match(await client.health(), { code: 200, status: 'failing', disk: 'full' })
  t.match(await client.submit(9), { status: 503, error: { code: -32000 } })
  t.match(await client.makeKey('late'), {
    status: 503,
    error: /^the disk that holds \S+ is full; free some space/,
  })
  t.equal((await client.admin.get('/live')).status, 200)
}

for (const unitsPerDay of someOf([null, 10_000_000], 1)) {
  const title = `a server whose disk becomes full, unitsPerDay: ${unitsPerDay}`
  t.test(title, { skip: withoutSmallDisk }, (t) =>
    onSmallDisk(t, 200_000, async ({ folder, leave }) => {
      copyDemoStore(folder, 'kept')
      const key = await makeKey(folder, unitsPerDay)
      const config = writeConfig(folder, { dataDir: folder, networks })
      const steps = await Steps.listen(t)
      const open = async (): Promise<Client> => {
        const service = await startService(['--config', config], steps.env())
        t.teardown(() => service.stop())
        return new Client(service, await adminOf(service, folder), key)
      }

      let client = await open()
      await steps.reached()
      t.match(await client.submit(0), { status: 200, result: { transaction_hash: String } })
      const live = await fetch(`${client.admin.origin}/api/live`, {
        headers: { authorization: `Bearer ${client.admin.token}` },
      })
      const events = live.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
      const socket = await SocketClient.connect(
        `${client.service.origin.replace('http', 'ws')}/kept/ws/v3/${key}`,
      )
      leave(leftKilobytes[0] as number)
      steps.let(1)
      const isReported = /the disk that holds \S+node\.mdb is full; free some space, 64 MiB at least/
      await waitFor('a write that finds no room', async () => {
        await client.read('kept')
        return isReported.test(client.service.said.err)
      })
      const hasEnded = /the source ended: the disk that holds \S+chain\.mdb is full/
      await waitFor('the source to end', () => hasEnded.test(client.service.said.err))
      client.service.process.kill('SIGHUP')
      await waitFor('the audit log to fail', () =>
        /the audit log could not be written/.test(client.service.said.err),
      )
      await checkReadOnly(t, client)
      const { done } = await inTime('an event of the live state', events.read())
      t.equal(done, false, 'the live state goes on')
      await events.cancel()
      const asked = await socket.ask('{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}')
      t.match(JSON.parse(asked ?? ''), { result: '0x20f1' })
      socket.socket.terminate()
      t.equal(await client.service.stop(), 0)

      for (const left of leftKilobytes) {
        leave(left)
        client = await open()
        const { bavail, bsize } = statfsSync(folder)
        t.ok(bavail * bsize < freeBytesMin, 'the disk is full')
        t.match(client.service.said.err, /the disk that holds .+ is full: nothing is written/)
        await checkReadOnly(t, client)
        if (left !== leftKilobytes.at(-1)) t.equal(await client.service.stop(), 0)
      }

      leave(10_000)
      const used = await client.callsUsed()
      t.match(await client.makeKey('late'), { status: 201 })
      t.match(await client.read('kept'), { status: 200 })
      await waitFor('what was used to be counted', async () => (await client.callsUsed()) > used)
      t.equal(await client.service.stop(), 0)

      client = await open()
      await steps.reached()
      t.match(await client.submit(1), { status: 200, result: { transaction_hash: String } })
      t.match(await client.health(), { code: 200, status: 'ok', networks: { roll: { waiting: 2 } } })
      t.equal(await client.service.stop(), 0)
    }),
  )
}

t.test('a gateway whose disk becomes full answers what it holds', { skip: withoutSmallDisk }, (t) =>
  onSmallDisk(t, 20_000, async ({ folder, leave }) => {
    const archive = await startService()
    t.teardown(() => archive.stop())
    const flags = ['--network', 'main', '--upstream', archive.origin, '--data', folder, '--no-auth']
    const open = async () => {
      const gateway = await startService(flags)
      t.teardown(() => gateway.stop())
      return gateway
    }
    const held = '0x64'
    const other = '0x65'
    const ask = (service: Service, number: string) => service.call('eth_getBlockByNumber', [number, false])
    let gateway = await open()
    const expected = await ask(archive, held)
    t.strictSame(await ask(gateway, held), expected)
    leave(leftKilobytes[0] as number)
    for (let restarts = 0; restarts < 2; restarts++) {
      t.strictSame(await ask(gateway, held), expected)
      t.match(await ask(gateway, other), { error: { message: /cannot be stored, because the disk is full/ } })
      const health = await (await fetch(`${gateway.origin}/health`)).json()
      t.match(health, { status: 'failing', disk: 'full' })
      t.match(gateway.said.err, /the disk that holds \S+chain\.mdb is full; free some space/)
      t.notMatch(gateway.said.err, /a defect/)
      t.equal(await gateway.stop(), 0)
      gateway = await open()
    }
    leave(2_000)
    t.strictSame(await ask(gateway, other), await ask(archive, other))
    t.equal(await gateway.stop(), 0)
  }),
)
