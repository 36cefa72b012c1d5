/** Rows of a store that cannot be decoded: a request for them gets an error, and the server continues. */
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Packr } from 'msgpackr'
import t from 'tap'
import { decodeHeader, encodeHeader } from '../../../src/data/chain/header.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { openEnvironment } from '../../../src/data/store/lmdb/environment.js'
import { storedBlockRow } from '../../../src/data/store/storedBlock.js'
import { metaKeys, numberKey, openChainTables } from '../../../src/data/store/tables.js'
import { bytesToHex, concatBytes, type Hash32 } from '../../../src/primitives/bytes.js'
import { keccak256 } from '../../../src/primitives/keccak.js'
import { encodeRlp } from '../../../src/primitives/rlp.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { once, waitFor } from '../../library/until.js'
import { writeConfig } from '../../service/program.js'
import { serveDemo } from '../../service/servedDemo.js'
import { reportsOf, startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const mapBytes = 2 ** 30
const junk = Uint8Array.of(0xff, 1, 2)

t.test('a head that cannot be read, and blocks whose rows are damaged or missing', async (t) => {
  const { service, store: path } = await serveDemo(t)
  const environment = openEnvironment({ path, readOnly: false, mapBytes })
  t.teardown(() => environment.close())
  const tables = openChainTables(environment)
  if (tables === undefined) throw new Error('no tables')
  const reader = ChainReader.open({ path, mapBytes })
  t.teardown(() => reader.close())
  const head = reader.readHead()
  const headerRlp = head && reader.readHeader(head.hash)
  if (head === undefined || headerRlp === undefined) throw new Error('no head')
  const health = async () =>
    (await (await fetch(`${service.origin}/health`)).json()) as Record<string, unknown>
  /** Makes `header` the head, under a hash that is not its own. */
  const putHead = (number: number, header: Uint8Array): Hash32 => {
    const hash = keccak256(concatBytes(header, numberKey(number)))
    environment.transactionSync(() => {
      // The block has one transaction, and a body that no node has.
      const body = encodeRlp([[], []])
      const senders = new Uint8Array(52)
      const totalDifficulty = new Uint8Array(0)
      tables.blocks.putSync(
        numberKey(number),
        storedBlockRow(hash, { header, body, senders, totalDifficulty }),
      )
      tables.numbers.putSync(hash, numberKey(number))
      tables.meta.putSync(metaKeys.head, concatBytes(numberKey(number), hash))
    })
    return hash
  }
  const subscribe = async (params: unknown[]): Promise<SocketClient> => {
    const socket = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
    const request = { jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params }
    t.match(JSON.parse((await socket.ask(JSON.stringify(request))) ?? ''), { result: String })
    return socket
  }

  putHead(head.number + 1, junk)
  await waitFor('the damage to be seen', async () => (await health()).status === 'failing')
  t.match(await health(), { networks: { demo: { head: head.number, isReadable: false } } })
  t.equal((await fetch(`${service.origin}/health`)).status, 503, 'no other network can answer')
  t.equal((await fetch(`${service.origin}/health`, { method: 'HEAD' })).status, 503)
  t.equal((await service.call('eth_blockNumber')).result, `0x${head.number.toString(16)}`)
  const reports = service.said.err.match(/head of demo/g) ?? []
  await waitFor('the next looks', async () => (await health()).status === 'failing')
  t.equal(reports.length, 1, 'the same fault is told once')

  const [heads, logs] = await Promise.all([subscribe(['newHeads']), subscribe(['logs', {}])])
  const next = {
    ...decodeHeader(headerRlp),
    number: head.number + 1,
    parentHash: head.hash,
    unclesHash: head.hash,
  }
  const hash = putHead(head.number + 1, encodeHeader({ ...next, logsBloom: new Uint8Array(256).fill(0xff) }))
  t.match(await logs.closed, { code: 1011, reason: /could not be read; resume with fromBlock/ })
  t.match(await heads.closed, { code: 1011 })
  t.equal((await health()).status, 'ok')
  t.equal((await service.call('eth_blockNumber')).result, `0x${(head.number + 1).toString(16)}`)
  const resumed = await subscribe(['logs', { replayFrom: `0x${(head.number + 1).toString(16)}` }])
  t.match(await resumed.closed, { code: 1011 })

  const isError = { error: { code: -32603, message: 'internal error' } }
  const number = `0x${(head.number + 1).toString(16)}`
  t.match(await service.call('eth_getBlockByNumber', [number, false]), isError, 'no body')
  t.match(await service.call('eth_getBlockByHash', [bytesToHex(hash), true]), isError)
  t.match(await service.call('eth_getUncleByBlockNumberAndIndex', [number, '0x0']), isError)
  t.match(await service.call('eth_getBlockReceipts', [number]), isError, 'no receipts')
  const old = reader.readCanonicalHash(7) as Hash32
  tables.receipts.removeSync(old)
  t.match(await service.call('eth_getBlockReceipts', ['0x7']), isError)
  tables.blocks.removeSync(numberKey(8))
  t.match(await service.call('eth_getBlockByNumber', ['0x8', false]), isError, 'no block')
  t.match(await service.call('eth_getBlockByNumber', ['0x9', false]), { result: { number: '0x9' } })
  t.equal(await service.stop(), 0)
})

t.test('an API key that cannot be read', async (t) => {
  const { service, dataDir } = await serveDemo(t, {}, [])
  const key = /key\S*\s+(\S{20,})/i.exec(service.lines.join('\n'))?.[1] ?? (await keyFromLines(service.lines))
  const environment = openEnvironment({ path: join(dataDir, 'node/node.mdb'), readOnly: false, mapBytes })
  t.teardown(() => environment.close())
  const binary = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const
  const keys = environment.openDB<Uint8Array, Uint8Array>({ name: 'keys', ...binary })
  const meta = environment.openDB<Uint8Array, Uint8Array>({ name: 'meta', ...binary })
  const digest = createHmac('sha256', readFileSync(join(dataDir, 'node/pepper')))
    .update(key)
    .digest()
  t.ok(keys.get(digest), 'this is the key of the row')
  const socket = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws/v3/${key}`)
  const question = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' })
  t.match(JSON.parse((await socket.ask(question)) ?? ''), { result: '0x20f1' })
  environment.transactionSync(() => {
    keys.putSync(digest, junk)
    meta.putSync(Buffer.from('keyGeneration'), new Packr().pack(1_000))
  })
  await waitFor(
    'the damage to be seen',
    async () => (await service.post(`/v3/${key}`, question)).status === 500,
  )
  const { status, text } = await service.post(`/v3/${key}`, question)
  t.equal(status, 500)
  t.match(JSON.parse(text), { error: { code: -32603, message: 'internal error' } })
  t.match(await service.post(`/v3/${'x'.repeat(40)}`, question), { status: 401 })
  t.match(JSON.parse((await socket.ask(question)) ?? ''), { result: '0x20f1' }, 'who is connected stays so')
  t.equal(await service.stop(), 0)
})

async function keyFromLines(lines: readonly string[]): Promise<string> {
  return waitFor('the key', () => /\/v3\/([^\s'"]+)/.exec(lines.join('\n'))?.[1])
}

t.test('an error that no code catches ends the process with one line', async (t) => {
  for (const edges of [1, 2]) {
    const folder = makeFolder(t)
    const networks = [{ name: 'roll', kind: 'rollup', chainId: 'SN_SEPOLIA' }]
    const config = writeConfig(folder, { dataDir: 'data', edges, networks })
    const defect = `
      const { isMainThread } = require('node:worker_threads')
      if (isMainThread) process.on('SIGUSR2', () => { throw new Error('unexpected') })
    `
    const preload = writeInto(folder, 'defect.cjs', defect)
    const service = await startService(['--config', config, '--no-auth'], {
      NODE_OPTIONS: `--require ${preload}`,
    })
    const closed = once(service.process, 'close')
    service.process.kill('SIGUSR2')
    t.strictSame(await closed, [1, null])
    const lines = reportsOf(service.said.err)
    t.equal(lines.length, 1, service.said.err)
    t.match(JSON.parse(lines[0] ?? ''), { level: 60, msg: /^an error that no code caught/ })
  }
})
