/**
 * SIGTERM under load, at random moments: every request that the server began to read is answered, and it exits with 0.
 * `DRAINS=50` for a longer run.
 */
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { NodeStore } from '../../../src/data/store/node/nodeStore.js'
import { asciiToFelt } from '../../../src/serving/rollup/felt.js'
import { propertyRuns, someOf } from '../../library/property.js'
import { once, until } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { serveDemo } from '../../service/servedDemo.js'
import { transports } from '../../transport/eachTransport.js'
import { SocketClient } from '../../transport/socketClient.js'
import { RawClient, rawPost } from '../../unit/serving/transport/rawClient.js'

const drains = Number(process.env.DRAINS ?? 3)
const clients = 12
/** Answers before the signal. */
const answersMax = 400
const chainId = 'SN_SEPOLIA'

interface Load {
  /** `sender/nonce` of each submission that got an answer. */
  readonly answered: Set<string>
  /** Answers of which only a part arrived. */
  cut: number
  answers: number
}

/** Sends on one connection after another until the server takes none. */
async function load(port: number, sender: number, found: Load): Promise<void> {
  for (let nonce = 0; ; ) {
    const client = await RawClient.connect(port).catch(() => undefined)
    if (client === undefined) return
    for (let isOpen = true; isOpen; nonce++) {
      const isLong = nonce % 4 === 3
      const body = isLong
        ? { jsonrpc: '2.0', id: nonce, method: 'eth_getBlockByNumber', params: ['latest', true] }
        : {
            jsonrpc: '2.0',
            id: nonce,
            method: 'rollupx_addInvokeTransaction',
            params: { invoke_transaction: makeTransaction(sender, nonce) },
          }
      client.write(rawPost(isLong ? '/demo' : '/roll', JSON.stringify(body)))
      const answer = await client.read()
      if (answer === undefined && client.unread > 0) found.cut++
      if (answer !== undefined) found.answers++
      if (answer !== undefined && !isLong && answer.body.includes('transaction_hash')) {
        found.answered.add(`0x${sender.toString(16)}/0x${nonce.toString(16)}`)
      }
      isOpen = answer !== undefined && answer.headers.get('connection') !== 'close'
    }
    client.socket.destroy()
  }
}

async function storedIn(dataDir: string): Promise<Set<string>> {
  const store = NodeStore.open({ path: join(dataDir, 'node/node.mdb'), readOnly: true })
  try {
    const rows = store.openSubmissions('roll', asciiToFelt(chainId)).readUnsettled()
    return new Set(rows.map(({ sender, nonce }) => `${sender}/${nonce}`))
  } finally {
    await store.close()
  }
}

async function drainOnce(t: Test, flags: readonly string[], edges: number, answers: number): Promise<void> {
  const networks = [{ name: 'roll', kind: 'rollup', chainId }]
  const settings = { edges, networks }
  const { service, dataDir } = await serveDemo(t, settings, ['--no-auth', ...flags])
  const { port } = new URL(service.origin)
  const socket = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  const found: Load = { answered: new Set(), cut: 0, answers: 0 }
  const loads = Promise.all(Array.from({ length: clients }, (_, at) => load(Number(port), at + 1, found)))
  await until(() => found.answers >= answers)
  const ended = once(service.process, 'close')
  service.process.kill('SIGTERM')
  await loads
  t.strictSame(await ended, [0, null])
  t.match(await socket.closed, { code: 1001 })
  t.equal(found.cut, 0, 'no answer came in part')
  t.strictSame(await storedIn(dataDir), found.answered, 'what was taken was answered')
  t.comment(`${found.answers} answers, ${found.answered.size} submissions`)
}

for (const { name } of someOf(transports, 1)) {
  t.test(`${name}: no request is lost`, async (t) => {
    const { seed = 0 } = propertyRuns(drains)
    const moments = fc.sample(fc.integer({ min: clients, max: answersMax }), { seed, numRuns: drains })
    for (const [at, answers] of moments.entries()) {
      const edges = at % 2 === 1 && process.platform === 'linux' && name === 'uws' ? 2 : 1
      await drainOnce(t, ['--transport', name], edges, answers)
    }
  })
}
