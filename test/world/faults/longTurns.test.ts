/**
 * Every method with a long answer, over each transport. No turn of the listening thread takes long, by its CPU time, so
 * that other clients are served meanwhile. `LONG=eth_getLogs,batch` chooses rows of the table.
 */
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { Wallet } from 'ethers'
import t from 'tap'
import { WebSocket } from 'ws'
import { toQuantity } from '../../../src/primitives/bytes.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { LogBlocks } from '../../faults/logBlocks.js'
import { mergedConfig, testGenesis, testKeys } from '../../ingest/chainMaker.js'
import { writeInto } from '../../library/folder.js'
import { notedTurns } from '../../library/loopWatch.js'
import { someOf } from '../../library/property.js'
import { inTime, once } from '../../library/until.js'
import { hex } from '../../rpc/demoChain.js'
import { copyDemo } from '../../service/servedDemo.js'
import { reportsOf, type Service, startService } from '../../service/service.js'

/**
 * Usual turns of this load take less than 30 ms, one of the garbage collector included. A turn that answers all
 * connections takes 100 ms and more: each answer of 4 MB takes 7.
 */
const turnMsMax = 60
/** Rounds until one has only short turns: machines are busy at times. The first are of a cold process. */
const roundsMax = 8
const connections = 16

/** Rows of the table in a usual run. */
const rows = 6

const slots = 4_000
const codesCount = 85
const codeBytes = 24_000
const words = (value: number) => `0x${value.toString(16).padStart(64, '0')}`
const addressOf = (number: number) => `0x${number.toString(16).padStart(40, '0')}`
const firstCode = 0xc0de00
const caller = addressOf(0xca11e5)
const full = addressOf(0xf011)
const anyone = addressOf(0xeeeeee)

/** Calls {@link codesCount} contracts, one after the other. */
const callsAll = `0x60${codesCount.toString(16)}5b600190035f5f5f5f8462${firstCode.toString(16)}015afa508060025700`

function longGenesis() {
  const genesis = testGenesis(mergedConfig(), { gasLimit: '0x1dcd6500' })
  const storage: Record<string, string> = {}
  for (let slot = 0; slot < slots; slot++) storage[words(slot)] = words(slot + 1)
  const alloc: Record<string, unknown> = {
    [caller]: { balance: '0x0', code: callsAll },
    [full]: { balance: '0x0', code: '0x00', storage },
  }
  for (let at = 0; at < codesCount; at++) {
    const code = `0x00${at.toString(16).padStart(4, '0')}${'5b'.repeat(codeBytes - 3)}`
    alloc[addressOf(firstCode + at)] = { balance: '0x1', code }
  }
  Object.assign(genesis.alloc, alloc)
  return genesis
}

const rpc = (method: string, params: unknown, id = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

/** Numbers of the blocks with many logs, much call data, and much code. */
interface Blocks {
  readonly logs: string
  readonly data: string
  readonly codes: string
  /** Hashes of a transaction with logs, and of one with data. */
  readonly logging: string
  readonly paying: string
  readonly calling: string
  readonly dataHash: string
  /** Id of a filter of the block with logs. */
  readonly filter: string
}

/** Makes the blocks with long answers. */
async function makeBlocks({ call, post }: Developer): Promise<Blocks> {
  const logs = new LogBlocks(post)
  await logs.make()
  await call('evm_setAutomine', [false])
  for (let made = 0; made < 2; made++) await logs.make()
  await call('evm_mine', [])
  const logsAt = (await call('eth_blockNumber', [])) as string
  const wallet = new Wallet(hex(testKeys[1] ?? new Uint8Array(0)))
  let nonce = 0
  const send = async (to: string, data: string, gasLimit: number) => {
    const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 1, gasLimit }
    const fields = { type: 2, chainId: 7357, nonce: nonce++, to, data, ...fees }
    await call('eth_sendRawTransaction', [await wallet.signTransaction(fields)])
  }
  for (let sent = 0; sent < 17; sent++) await send(anyone, `0x${'00'.repeat(120_000)}`, 1_500_000)
  await call('evm_mine', [])
  const data = (await call('eth_blockNumber', [])) as string
  await send(caller, '0x', 3_000_000)
  await call('evm_mine', [])
  const codes = (await call('eth_blockNumber', [])) as string
  const transactionOf = async (block: string) =>
    (await call('eth_getTransactionByBlockNumberAndIndex', [block, '0x0'])) as Record<string, string>
  const { hash: logging = '' } = await transactionOf(logsAt)
  const { hash: paying = '', blockHash: dataHash = '' } = await transactionOf(data)
  const { hash: calling = '' } = await transactionOf(codes)
  const filter = (await call('eth_newFilter', [{ fromBlock: logsAt, toBlock: logsAt }])) as string
  // These transactions wait for a block.
  for (let sent = 0; sent < 17; sent++) await send(anyone, `0x${'00'.repeat(120_000)}`, 1_500_000)
  return { logs: logsAt, data, codes, logging, paying, calling, dataHash, filter }
}

interface Developer {
  readonly call: (method: string, params: unknown) => Promise<unknown>
  readonly post: (body: string) => Promise<string>
}

function developer(service: Service): Developer {
  const post = async (body: string) => (await service.post('/dev', body)).text
  return {
    post,
    call: async (method, params) => {
      const answer = JSON.parse(await post(rpc(method, params))) as { result?: unknown; error?: unknown }
      if (answer.error !== undefined) throw new Error(`${method}: ${JSON.stringify(answer.error)}`)
      return answer.result
    },
  }
}

const returning = (bytes: number, opcode = 'f3') => [
  { to: anyone },
  'latest',
  { [anyone]: { code: `0x62${bytes.toString(16).padStart(6, '0')}5f${opcode}` } },
]
const batch = (count: number, method: string, paramsOf: (at: number) => unknown) =>
  `[${Array.from({ length: count }, (_, at) => rpc(method, paramsOf(at), at)).join()}]`

/** Name of a request → a request with an answer of about 4 MB. */
function longRequests(blocks: Blocks): Readonly<Record<string, string>> {
  const { logs, data, codes, logging, paying, calling } = blocks
  const [message, latest, overrides] = returning(2 ** 21)
  const before = toQuantity(Number(logs) - 1)
  const logRange = { fromBlock: before, toBlock: logs }
  const loop = { to: anyone, gas: toQuantity(21_000 + 220_000) }
  const looped = { stateOverrides: { [anyone]: { code: '0x5b5f56' } } }
  const prestate = { tracer: 'prestateTracer' }
  const slotsOf = (count: number) => Array.from({ length: count }, (_, at) => words(at))
  const oneCall = (method: string, params: unknown) => rpc(method, params)
  return {
    'eth_call returns': oneCall('eth_call', [message, latest, overrides]),
    'eth_call reverts': oneCall('eth_call', returning(2 ** 21, 'fd')),
    'eth_estimateGas reverts': oneCall('eth_estimateGas', returning(2 ** 21, 'fd')),
    'eth_callMany returns': oneCall('eth_callMany', [
      [{ transactions: [message] }],
      { blockNumber: latest },
      overrides,
    ]),
    'eth_simulateV1 returns': oneCall('eth_simulateV1', [
      { blockStateCalls: [{ calls: [message], stateOverrides: overrides }] },
      latest,
    ]),
    'eth_simulateV1 of full blocks': oneCall('eth_simulateV1', [
      {
        returnFullTransactions: true,
        blockStateCalls: [{ calls: [{ to: anyone, input: `0x${'00'.repeat(2 ** 17)}`, gas: '0x2000000' }] }],
      },
      latest,
    ]),
    'eth_getBlockByNumber full': oneCall('eth_getBlockByNumber', [data, true]),
    eth_getBlockReceipts: oneCall('eth_getBlockReceipts', [logs]),
    eth_getLogs: oneCall('eth_getLogs', [logRange]),
    tidegate_getLogs: oneCall('tidegate_getLogs', [{ ...logRange, limit: 10_000 }]),
    'eth_getProof of slots': oneCall('eth_getProof', [full, slotsOf(1_024), latest]),
    debug_executionWitness: oneCall('debug_executionWitness', [codes]),
    eth_getTransactionReceipt: oneCall('eth_getTransactionReceipt', [logging]),
    eth_getTransactionByHash: oneCall('eth_getTransactionByHash', [paying]),
    eth_getTransactionByBlockNumberAndIndex: oneCall('eth_getTransactionByBlockNumberAndIndex', [
      data,
      '0x3',
    ]),
    eth_getRawTransactionByHash: oneCall('eth_getRawTransactionByHash', [paying]),
    eth_getRawTransactionByBlockNumberAndIndex: oneCall('eth_getRawTransactionByBlockNumberAndIndex', [
      data,
      '0x3',
    ]),
    eth_getCode: oneCall('eth_getCode', [addressOf(firstCode), latest]),
    'eth_getBlockByHash full': oneCall('eth_getBlockByHash', [blocks.dataHash, true]),
    eth_getFilterLogs: oneCall('eth_getFilterLogs', [blocks.filter]),
    txpool_content: oneCall('txpool_content', []),
    'tidegate_getVerified receipt': oneCall('tidegate_getVerified', [
      'eth_getTransactionReceipt',
      [logs, '0x0'],
    ]),
    'tidegate_getVerified logs': oneCall('tidegate_getVerified', ['eth_getLogs', [logs, '0x0', '0x0']]),
    'debug_traceTransaction state': oneCall('debug_traceTransaction', [calling, prestate]),
    trace_filter: oneCall('trace_filter', [{ fromBlock: data, toBlock: data }]),
    trace_transaction: oneCall('trace_transaction', [paying]),
    debug_getRawBlock: oneCall('debug_getRawBlock', [data]),
    debug_getRawReceipts: oneCall('debug_getRawReceipts', [logs]),
    debug_storageRangeAt: oneCall('debug_storageRangeAt', [codes, 0, full, '0x', 10_000]),
    debug_accountRange: oneCall('debug_accountRange', [latest, '0x', 256, false, false, true]),
    'debug_traceCall opcodes': oneCall('debug_traceCall', [loop, latest, looped]),
    'debug_traceCall returns': oneCall('debug_traceCall', [
      message,
      latest,
      { tracer: 'callTracer', stateOverrides: overrides },
    ]),
    'debug_traceBlockByNumber calls': oneCall('debug_traceBlockByNumber', [data, { tracer: 'callTracer' }]),
    'debug_traceBlockByNumber state': oneCall('debug_traceBlockByNumber', [codes, prestate]),
    trace_block: oneCall('trace_block', [data]),
    trace_replayBlockTransactions: oneCall('trace_replayBlockTransactions', [data, ['trace', 'stateDiff']]),
    'batch of eth_call': batch(8, 'eth_call', () => returning(2 ** 18)),
    'batch of short eth_call': batch(400, 'eth_call', () => returning(5_000)),
    'batch of eth_getCode': batch(codesCount, 'eth_getCode', (at) => [addressOf(firstCode + at), latest]),
    'batch of full blocks': batch(2, 'eth_getBlockByNumber', () => [data, true]),
    'batch of eth_getProof': batch(8, 'eth_getProof', () => [full, slotsOf(128), latest]),
    'batch of reads': batch(1_000, 'eth_getBlockByNumber', (at) => [toQuantity(at % 3), false]),
  }
}

/** Bytes of an answer. */
type Road = (body: string) => Promise<{ readonly bytes: number; readonly begins: string }>

function overHttp(origin: string, agent: Agent): Road {
  return (body) =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const sent = request(`${origin}/dev`, { method: 'POST', agent, headers }, (response) => {
        let bytes = 0
        let begins = ''
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (begins.length < 200) begins += chunk.toString('latin1', 0, 200)
        })
        response.on('end', () => resolve({ bytes, begins }))
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
}

function overSocket(socket: WebSocket): Road {
  return async (body) => {
    const answered = once(socket, 'message')
    socket.send(body)
    const [data] = (await answered) as [Buffer]
    return { bytes: data.length, begins: data.toString('latin1', 0, 200) }
  }
}

async function startWatched(t: Parameters<typeof copyDemo>[0], transport: string) {
  const source = { type: 'develop', blockSeconds: 0 }
  const copy = copyDemo(t, {
    transport,
    networks: [{ name: 'dev', genesis: 'genesis.json', source }],
    logLevel: 'error',
    limits: { requestMsMax: 120_000, traceMsMax: 60_000 },
  })
  writeInto(copy.folder, 'genesis.json', longGenesis())
  const path = writeInto(copy.folder, 'turns', '')
  const watch = join(packageRoot(), 'dist/modules/test/library/loopWatch.js')
  const env = { NODE_OPTIONS: `--import=file://${watch}`, LOOP_WATCH: path }
  const service = await startService(['--config', copy.config, '--no-auth'], env)
  t.teardown(() => service.stop())
  return { service, path }
}

const chosen = process.env.LONG?.split(',')

for (const transport of someOf(['uws', 'node'] as const, 1)) {
  t.test(`${transport}: a long answer holds no neighbour`, { timeout: 1_800_000 }, async (t) => {
    const { service, path } = await startWatched(t, transport)
    const requests = longRequests(await makeBlocks(developer(service)))
    const agent = new Agent({ keepAlive: true, maxSockets: connections })
    const sockets = await Promise.all(
      Array.from({ length: connections }, async () => {
        const socket = new WebSocket(`${service.origin.replace('http', 'ws')}/dev/ws`)
        await once(socket, 'open')
        return socket
      }),
    )
    t.teardown(() => {
      agent.destroy()
      for (const socket of sockets) socket.terminate()
    })
    const roads: Readonly<Record<string, readonly Road[]>> = {
      HTTP: sockets.map(() => overHttp(service.origin, agent)),
      WebSocket: sockets.map(overSocket),
    }
    const isChosen = ([name]: readonly [string, string]) =>
      chosen?.some((part) => name.includes(part)) !== false
    for (const [name, body] of someOf(Object.entries(requests).filter(isChosen), rows)) {
      for (const [road, lanes] of Object.entries(roads)) {
        const longest: number[] = []
        let answer = { bytes: 0, begins: '' }
        do {
          const sinceMs = Date.now()
          const answers = await inTime(name, Promise.all(lanes.map((ask) => ask(body))))
          answer = answers[0] as typeof answer
          longest.push(Math.max(0, ...notedTurns(path, sinceMs)))
        } while ((longest.at(-1) as number) > turnMsMax && longest.length < roundsMax)
        const shown = longest.map((ms) => ms.toFixed(0)).join(', ')
        t.comment(`${name} over ${road}: ${answer.bytes} bytes, longest turns ${shown} ms`)
        t.ok((longest.at(-1) as number) <= turnMsMax, `${name} over ${road}: ${shown} ms`)
        t.ok(answer.bytes > 40_000, `${name}: ${answer.bytes} bytes, ${answer.begins}`)
      }
    }
    t.same(reportsOf(service.said.err), [], 'no defect is logged')
  })
}
