// @shares
import { join } from 'node:path'
import t from 'tap'
import { HeaderProver } from '../../../src/data/chain/headerProof.js'
import { searchLogs } from '../../../src/data/chain/logSearch.js'
import { verifyHeaderProof } from '../../../src/data/ssz/verifyHeaderProof.js'
import { buildIndexProofJson } from '../../../src/data/state/indexProof.js'
import { computeMappingSlots } from '../../../src/data/state/mappingKeys.js'
import { buildProofJson, type ProofRequest } from '../../../src/data/state/proof.js'
import { StateReader } from '../../../src/data/state/stateReader.js'
import { triesAfter } from '../../../src/data/state/tries.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import type { ChainRows } from '../../../src/data/store/chainRows.js'
import { Witnesses } from '../../../src/execution/evm/blocks/executionWitness.js'
import { StateParts } from '../../../src/execution/evm/blocks/stateParts.js'
import { JobWatch } from '../../../src/execution/evm/engine/jobWatch.js'
import { Execution } from '../../../src/execution/evm/messages/execution.js'
import { listedAccesses, returnedJson, withTexts } from '../../../src/execution/evm/messages/outcomeJson.js'
import { Simulation } from '../../../src/execution/evm/simulate/simulation.js'
import { loadJavaScript } from '../../../src/execution/evm/tracers/javascriptEngine.js'
import { Tracing } from '../../../src/execution/evm/tracers/tracing.js'
import { ChainViews } from '../../../src/operation/edge/chainViews.js'
import { readStorageLayouts } from '../../../src/operation/edge/storageLayouts.js'
import { FaultError } from '../../../src/primitives/faults.js'
import type { JobName, JobOwner, Jobs, NetworkJobs } from '../../../src/serving/pool/jobs.js'
import { decodeReply, encodeResult, encodeThrown } from '../../../src/serving/pool/messages.js'
import type { DefectLog } from '../../../src/serving/rpc/answers/wireErrors.js'
import { createDispatcher } from '../../../src/serving/rpc/dispatch/dispatch.js'
import type { Endpoint } from '../../../src/serving/rpc/dispatch/endpoint.js'
import { PolledFilters } from '../../../src/serving/rpc/logs/polledFilters.js'
import type { NetworkViews } from '../../../src/serving/rpc/method.js'
import type { Network } from '../../../src/serving/rpc/network.js'
import { methods } from '../../../src/serving/rpc/registry.js'
import { importArchives } from '../../../src/sources/ingest/era/importArchives.js'
import { storedBlocks, writeArchive } from '../../ingest/eraArchives.js'
import { oneIn } from '../../library/property.js'
import { blockAt, devnetDir, examples } from '../../rpc/demoChain.js'
import { LateRows } from '../../rpc/lateRows.js'
import { methodTable } from '../../rpc/methodTable.js'
import { wideDispatchLimits, wideFilterLimits } from '../../transport/serverLimits.js'
import { demoStore, goOn, limits } from '../../unit/execution/evm/demoExecution.js'

/** Methods that read state. */
const stateMethods: readonly string[] = [
  'eth_getAccount',
  'eth_getBalance',
  'eth_getCode',
  'eth_getStorageAt',
  'eth_getStorageValues',
  'eth_getTransactionBySenderAndNonce',
  'eth_getTransactionCount',
  'eth_getProof',
  'eth_call',
  'eth_callMany',
  'eth_fillTransaction',
  'debug_traceCallMany',
  'eth_estimateGas',
  'eth_createAccessList',
  'eth_simulateV1',
  'debug_executionWitness',
  'debug_intermediateRoots',
  'debug_traceBlockByHash',
  'debug_traceBlockByNumber',
  'debug_traceCall',
  'debug_traceTransaction',
  'trace_block',
  'trace_call',
  'trace_callMany',
  'trace_replayBlockTransactions',
  'trace_replayTransaction',
  'trace_filter',
  'trace_get',
  'trace_transaction',
  'ots_traceTransaction',
  'ots_getInternalOperations',
  'ots_getTransactionError',
  'ots_getTransactionBySenderAndNonce',
  'ots_hasCode',
  'tidegate_getStorageByKeys',
  'tidegate_readVariable',
]

/** Jobs on this thread, as their replies come back from another one. */
function jobsOver(rows: ChainRows): NetworkJobs {
  const execution = new Execution(rows, limits)
  const traceLimits = { ...limits, answerBytesMax: 2 ** 30 }
  const tracing = new Tracing(rows, traceLimits)
  const simulation = new Simulation(rows, limits)
  const witnesses = new Witnesses(rows)
  const stateParts = new StateParts(rows as ChainReader, traceLimits)
  const works: { readonly [N in JobName]?: (args: never, owner: JobOwner | undefined) => unknown } = {
    prove: (args: ProofRequest) =>
      buildProofJson(triesAfter(rows, { number: args.number, hash: args.block }), args),
    indexProof: (args) => buildIndexProofJson(rows, args),
    headerProof: (args) => new HeaderProver(rows as ChainReader).prove(args),
    call: (args) => withTexts(execution.call(args, goOn).then(returnedJson)),
    estimate: (args) => withTexts(execution.estimate(args, goOn)),
    fill: (args) => withTexts(execution.fill(args, goOn)),
    accessList: (args) => withTexts(execution.accessList(args, goOn).then(listedAccesses)),
    simulate: (args) => simulation.simulateJson(args, goOn),
    witness: (args) => witnesses.buildJson(args, new JobWatch(goOn, limits)),
    stateParts: (args) => stateParts.buildJson(args, goOn),
    async script(args: Jobs['script']['args']) {
      await loadJavaScript()
      return tracing.trace(args, goOn, () => {})
    },
    trace: (args, owner) => tracing.trace(args, goOn, (part) => owner?.takePart?.(part, () => {})),
    mappingSlots: computeMappingSlots,
    searchLogs: ({ search, bounds }: Jobs['searchLogs']['args']) => searchLogs(rows, search, bounds, goOn),
  }
  const run = async (name: JobName, args: unknown, owner?: JobOwner) => {
    const work = works[name] as (args: unknown, owner: JobOwner | undefined) => unknown
    return decodeReply(await (async () => work(args, owner))().then(encodeResult, encodeThrown))
  }
  return { run: run as NetworkJobs['run'] }
}

function endpointOver(
  rows: ChainRows,
  supply?: NetworkViews<Network>['fetchMissing'],
  log: DefectLog = (defect) => void t.fail('a defect', { defect }),
): Endpoint {
  const views = new ChainViews(rows, new StateReader(rows), {
    name: 'toy',
    chain: { supportsSafe: true, safeLag: 3, finalizedLag: 64, answerCacheBytes: 2 ** 24 },
    proofCacheBytes: 0,
    networkId: undefined,
    jobs: jobsOver(rows),
    execution: { marginBps: 0, javascriptTracers: true },
    limits: {
      requestMsMax: 30_000,
      logsMax: 10_000,
      logBytesMax: 2 ** 24,
      proofKeysMax: 1_024,
      typedDataCharsMax: 131_072,
      replayBlocksMax: 100,
      executionGasBlocks: 10,
      simulationGasMax: 50_000_000,
    },
    filters: (current) => new PolledFilters(current, wideFilterLimits),
    layouts: readStorageLayouts(join(devnetDir, 'layouts.json')),
    clientVersion: 'toy',
    openRpc: new Uint8Array(0),
    syncing: () => undefined,
    fetchMissing: supply,
    reportDefect: (error) => t.fail('a defect', { error }),
  })
  t.teardown(() => views.streams.close())
  return createDispatcher({ methods: Object.values(methods), limits: wideDispatchLimits, log }).endpoint(
    views,
  )
}

async function ask(endpoint: Endpoint, method: string, params: readonly unknown[]): Promise<string> {
  const { body } = await endpoint.handle(
    Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
  )
  return typeof body === 'string' ? body : Buffer.concat(body.map((piece) => Buffer.from(piece))).toString()
}

const archive = endpointOver(demoStore)
const archived = new Map<string, Promise<string>>()

/** The archive's answer; the archive is asked once. */
function askArchive(method: string, params: readonly unknown[]): Promise<string> {
  const question = JSON.stringify([method, params])
  const answer = archived.get(question) ?? ask(archive, method, params)
  archived.set(question, answer)
  return answer
}

t.test('a network whose data arrives late answers every read as an archive does', async (t) => {
  const rows = new LateRows(demoStore)
  const late = endpointOver(rows, (wanted) => rows.supply(wanted))
  for (const [method, { reads = [] }] of Object.entries(methodTable)) {
    for (const params of oneIn(6, reads)) {
      const expected = await askArchive(method, params)
      const got = await ask(late, method, params)
      if (got !== expected) t.equal(got, expected, `${method} ${JSON.stringify(params)}`)
      else t.pass()
    }
  }
  const { supplies } = rows
  t.ok(supplies > 20, `${supplies} times`)
  await ask(late, 'eth_getBlockByNumber', ['0xc8', true])
  t.equal(rows.supplies, supplies, 'what was got is held')
})

/** Calls every function of the API of tracers, and continues after any exception. */
const swallowing = `{
  got: [],
  ask: function (db, address) {
    var word = toWord('0x0')
    var asks = [
      function () { return db.getBalance(address).toString(10) }, function () { return db.getNonce(address) },
      function () { return toHex(db.getCode(address)) }, function () { return toHex(db.getState(address, word)) },
      function () { return db.exists(address) },
    ]
    for (var at = 0; at < asks.length; at++) {
      try { this.got.push(asks[at]()) } catch (error) { this.got.push('not known: ' + error) }
    }
  },
  step: function (log, db) { if (log.getPC() === 0) this.ask(db, log.contract.getAddress()) },
  fault: function () {},
  result: function (ctx, db) {
    this.ask(db, ctx.to)
    ${examples.accounts.map(({ address }) => `this.ask(db, toAddress('${address}'))`).join('\n')}
    return this.got
  },
}`

t.test('a tracer in JavaScript does not notice that data arrives late', async (t) => {
  const rows = new LateRows(demoStore)
  const late = endpointOver(rows, (wanted) => rows.supply(wanted))
  const options = { tracer: swallowing }
  const asked: readonly (readonly [method: string, params: readonly unknown[]])[] = [
    ...examples.contracts.map(
      ({ address }) => ['debug_traceCall', [{ to: address, data: '0x18160ddd' }, 'latest', options]] as const,
    ),
    ['debug_traceBlockByHash', [blockAt(45).hash, options]],
    ['debug_traceTransaction', [examples.transactions[0]?.hash, options]],
  ]
  for (const [method, params] of asked) {
    const expected = await askArchive(method, params)
    t.match(expected, '"result":', method)
    t.notMatch(expected, 'not known')
    t.equal(await ask(late, method, params), expected, method)
  }
  t.ok(rows.supplies > 20, `${rows.supplies} times something was not held`)
})

t.test('what nobody can get is the fault that the network says, and all else is answered', async (t) => {
  const rows = new LateRows(demoStore)
  const endpoint = endpointOver(rows, async (wanted) => {
    if (wanted.kind === 'state' || wanted.kind === 'code')
      throw new FaultError({ kind: 'HistoryPruned', oldest: 1 })
    return rows.supply(wanted)
  })
  for (const [method, { reads = [] }] of Object.entries(methodTable)) {
    for (const params of oneIn(6, reads)) {
      const answer = await ask(endpoint, method, params)
      if (stateMethods.includes(method)) t.match(answer, '"code":4444')
      else t.equal(answer, await askArchive(method, params))
    }
  }
})

t.test('a history of the same chain answers everything but state', async (t) => {
  const folder = t.testdir()
  const identity = demoStore.readIdentity()
  if (identity === undefined) throw new Error('a store without identity')
  const path = join(folder, 'demo.era1')
  writeArchive(path, storedBlocks(demoStore))
  const task = { storePath: join(folder, 'chain.mdb'), mapBytes: 2 ** 30, identity, archives: [path] }
  await importArchives(
    { ...task, bytesTotal: 0, accumulators: undefined },
    { report: () => {}, signal: new AbortController().signal },
  )
  const store = ChainReader.open({ path: task.storePath })
  t.teardown(() => store.close())
  const history = endpointOver(store)
  const differing = ['eth_capabilities', 'rpc_discover', 'tidegate_getHeaderProof']
  for (const [method, { reads = [] }] of Object.entries(methodTable)) {
    for (const params of oneIn(6, reads)) {
      const answer = await ask(history, method, params)
      const expected = await askArchive(method, params)
      const isOfState = stateMethods.includes(method) && !/"code":-|"result":null/.test(expected)
      if (isOfState) t.match(answer, '"this network holds no state"', `${method} ${JSON.stringify(params)}`)
      else if (!stateMethods.includes(method) && !differing.includes(method)) {
        if (answer !== expected) t.equal(answer, expected, `${method} ${JSON.stringify(params)}`)
        else t.pass()
      }
    }
  }
  const address = examples.accounts[0]?.address
  for (const [method, ...rest] of [
    ['ots_getContractCreator'],
    ['ots_searchTransactionsBefore', 0, 25],
    ['ots_searchTransactionsAfter', 0, 25],
  ]) {
    t.match(await ask(history, String(method), [address, ...rest]), '"this network holds no state"')
  }
  const proof = JSON.parse(await ask(history, 'tidegate_getHeaderProof', [blockAt(60).hash])).result
  t.equal(verifyHeaderProof(proof, proof.accumulator).blockNumber, 60)
  t.match(await ask(archive, 'tidegate_getHeaderProof', [blockAt(60).hash]), 'block 0x3c is in no epoch')
  const capabilities = JSON.parse(await ask(history, 'eth_capabilities', [])).result
  t.match(capabilities, { state: { disabled: true }, receipts: { disabled: false, oldestBlock: '0x0' } })
})

t.test('a pin of a whole request is got as well', async (t) => {
  const rows = new LateRows(demoStore)
  const endpoint = endpointOver(rows, (wanted) => rows.supply(wanted))
  const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}')
  const answer = await endpoint.handle(body, undefined, blockAt(200).hash)
  t.match(answer, { body: '{"jsonrpc":"2.0","id":1,"result":"0xc8"}', block: `200 ${blockAt(200).hash}` })
})

t.test('a network that says it has got what it has not is not asked for ever', async (t) => {
  const rows = new LateRows(demoStore)
  let supplies = 0
  const defects: unknown[] = []
  const count = async () => {
    supplies++
  }
  const endpoint = endpointOver(rows, count, (defect) => defects.push(defect))
  const answer = await ask(endpoint, 'eth_getStorageAt', [examples.slots[0]?.address, '0x0', 'earliest'])
  t.match(answer, 'this network fetches at most 2000 accounts, slots and the like for one call')
  t.equal(defects.length, 0)
  t.equal(supplies, 2_000)
})
