// @shares
/** Requests that wait while the head moves: the real network, store, pool and methods, with a gate before the pool. */
import t from 'tap'
import { resolveServeConfig } from '../../../src/operation/config/config.js'
import { openNetwork } from '../../../src/operation/edge/openNetwork.js'
import { defer } from '../../../src/primitives/deferred.js'
import { jobsOfNetwork, openJobPool } from '../../../src/serving/pool/jobPool.js'
import { createDispatcher } from '../../../src/serving/rpc/dispatch/dispatch.js'
import { PolledFilters } from '../../../src/serving/rpc/logs/polledFilters.js'
import type { Network } from '../../../src/serving/rpc/network.js'
import { methods } from '../../../src/serving/rpc/registry.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { type BranchBlock, buildBranch, chainFileOf, counterAddress } from '../../rpc/branches.js'
import { quantity } from '../../rpc/demoChain.js'
import { importHere } from '../../rpc/servedChain.js'
import { runProgram } from '../../service/program.js'
import { wideDispatchLimits, wideFilterLimits } from '../../transport/serverLimits.js'
import { bodyText } from '../../unit/serving/rpc/testMethods.js'

const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`

t.test(
  'a batch that waits while another branch takes over is answered from the one it came to',
  async (t) => {
    const [a, b] = (await Promise.all([
      buildBranch({ name: 'a', forksAt: 3, increments: [1, 0, 1, 1] }),
      buildBranch({ name: 'b', forksAt: 3, increments: [1, 0, 2, 3, 2] }),
    ])) as [BranchBlock[], BranchBlock[]]
    const [a3, a4, b3, b5] = [a[2], a[3], b[2], b[4]] as BranchBlock[]
    if (!a3 || !a4 || !b3 || !b5) throw new RangeError('a branch is too short')
    const folder = makeFolder(t)
    const data = `${folder}/data`
    await importHere(folder, chainFileOf(a))

    const config = resolveServeConfig({ network: 'tides', data, noAuth: true })
    const { limits, mapBytes } = config
    const [entry] = config.networks
    if (entry === undefined) throw new Error('the configuration has no network')
    const pool = openJobPool({
      stores: [{ network: entry.name, path: entry.storePath, mapBytes }],
      limits: {
        threads: 2,
        niceness: limits.poolNiceness,
        waitingMax: { proof: 100, execute: 100, slots: 100, hash: 100, logs: 100, trace: 100, script: 100 },
        scriptsMax: 2,
        deadlineMsMax: limits.requestMsMax,
        execution: { timeMsMax: limits.executionMsMax, memoryBytesMax: limits.executionMemoryBytesMax },
        trace: {
          timeMsMax: limits.traceMsMax,
          memoryBytesMax: limits.executionMemoryBytesMax,
          answerBytesMax: limits.traceBytesMax,
        },
      },
      onThreadLost: ({ error }) => t.fail(String(error)),
    })
    const jobs = jobsOfNetwork(pool, entry.name)
    const gate = defer<void>()
    const network = openNetwork(entry, {
      mapBytes,
      answerCacheBytes: limits.answerCacheBytes,
      proofCacheBytes: limits.proofCacheBytes,
      filters: (current) => new PolledFilters(current, wideFilterLimits),
      limits,
      clientVersion: 'test',
      openRpc: new Uint8Array(0),
      jobs: { run: (name, args, owner) => gate.promise.then(() => jobs.run(name, args, owner)) },
      layouts: new Map(),
      feed: undefined,
      reportDefect: (error) => t.fail(String(error)),
    })
    t.teardown(async () => {
      await pool.close(0)
      await network.close()
    })
    const { endpoint } = createDispatcher<Network>({
      methods: Object.values(methods),
      limits: wideDispatchLimits,
      log: ({ error }) => t.fail(String(error)),
    })
    const served = endpoint(network)
    const read = [
      ['eth_blockNumber', []],
      ['eth_getBlockByNumber', ['latest', false]],
      ['eth_getBlockByNumber', ['pending', false]],
      ['eth_getBlockByNumber', ['0x3', false]],
      ['eth_getStorageAt', [counterAddress, '0x0', 'latest']],
      ['eth_getStorageAt', [counterAddress, '0x0', '0x3']],
      ['eth_getProof', [counterAddress, ['0x0'], 'latest']],
      ['eth_getProof', [counterAddress, ['0x0'], '0x3']],
      ['eth_getBlockReceipts', ['latest']],
      ['eth_getBlockByNumber', ['0x5', false]],
    ] as const
    // The first eight proofs wait at the gate and fill the batch's window. So later calls begin after it opens.
    const proofs = Array(8).fill(['eth_getProof', [counterAddress, ['0x0', '0x1'], 'latest']])
    const batch = (questions: readonly (readonly [string, readonly unknown[]])[]) =>
      Buffer.from(
        JSON.stringify(questions.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }))),
      )
    // biome-ignore lint/suspicious/noExplicitAny: results of every shape.
    const resultsOf = (body: string): any[] =>
      JSON.parse(body).map((each: { result: unknown }) => each.result)
    const waiting = Promise.resolve(served.handle(batch([...proofs, ...read])))
    const file = writeInto(folder, 'b.rlp', chainFileOf(b.slice(2)))
    const { status, err } = await runProgram(['import', '--network', 'tides', '--data', data, file])
    t.equal(status, 0, err)
    await waitFor('the other branch', () => network.current.head.number === b5.number)
    gate.resolve()

    const check = (results: ReturnType<typeof resultsOf>, third: BranchBlock, head: BranchBlock) => {
      t.equal(results[0], quantity(head.number))
      t.equal(results[1].hash, head.hash)
      t.equal(results[2].parentHash, head.hash)
      t.equal(results[3].hash, third.hash)
      t.equal(results[4], word(head.count))
      t.equal(results[5], word(third.count))
      t.equal(results[6].storageProof[0].value, quantity(head.count))
      t.equal(results[7].storageProof[0].value, quantity(third.count))
      t.equal(results[8][0].blockHash, head.hash)
    }
    const { body, block } = await waiting
    const old = resultsOf(bodyText({ body }))
    t.equal(block, `4 ${a4.hash}`)
    for (const proof of old.slice(0, 8)) t.equal(proof.storageProof[0].value, quantity(a4.count))
    check(old.slice(8), a3, a4)
    t.equal(old.at(-1), null, 'a block above that head does not exist in its answer')

    for (const round of [1, 2]) {
      const now = await served.handle(batch(read))
      const results = resultsOf(bodyText(now))
      t.equal(now.block, `5 ${b5.hash}`, `time ${round}`)
      check(results, b3, b5)
      t.equal(results.at(-1).hash, b5.hash)
    }
  },
)
