// @scene a gateway
/**
 * A gateway is killed under questions, and while it completes its logs. It stores no wrong data, and answers as the
 * archive does.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { verifyGateway } from '../../../src/sources/ingest/gateway/verifyGateway.js'
import { type Read, readsOf, type SubjectsAt } from '../../feed/replicaAnswers.js'
import { serveCross, withoutAmsterdam } from '../../ingest/amsterdam.js'
import { forkBlock, subjectsAt } from '../../ingest/amsterdamReplay.js'
import { skipsOptimism } from '../../ingest/optimismChain.js'
import { optimismSubjects, serveOptimism } from '../../ingest/optimismServed.js'
import { makeFolder } from '../../library/folder.js'
import { Dice, oneToKill, propertyRuns } from '../../library/property.js'
import { once, waitFor } from '../../library/until.js'
import { methodTable } from '../../rpc/methodTable.js'
import { runHere, storePathOf, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'

/** `KILLS=50` for a longer run. */
const kills = Number(process.env.KILLS ?? 2)
/** Number of questions at the same time, and in a whole run. */
const lanes = 8
const askedMax = 200
/** Longest run with questions: after this time a gateway has stored most of their data. */
const aliveMsMax = 1_500

/** Quick methods whose answers are the same for every caller. */
const methods = [
  'eth_getBlockByNumber',
  'eth_getBlockByHash',
  'eth_getBlockReceipts',
  'eth_getTransactionByHash',
  'eth_getTransactionReceipt',
  'eth_getBalance',
  'eth_getCode',
  'eth_getStorageAt',
  'eth_getProof',
  'eth_call',
  'eth_getLogs',
  'eth_getBlockAccessList',
  'debug_getRawBlockAccessList',
] as const

const isAsked = (method: string) => methods.some((each) => each === method)
const bodyOf = ([method, params]: Read) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

function demoQuestions(): string[] {
  return methods.flatMap((method) =>
    (methodTable[method].reads ?? []).map((params) => bodyOf([method, params])),
  )
}

/** About blocks on both sides of a fork. */
const crossQuestions = (fork: number, subjects: SubjectsAt) => async (archive: Service) => {
  const reads: Read[] = []
  for (let number = fork - 2; number < fork + 6; number++) {
    const { result } = await archive.call('eth_getHeaderByNumber', [`0x${number.toString(16)}`])
    reads.push(...(await readsOf(result.hash, archive, subjects)))
  }
  return reads.filter(([method]) => isAsked(method)).map(bodyOf)
}

const chains = [
  {
    name: 'the demo chain',
    skip: false,
    runs: kills,
    startArchive: () => startService(),
    questionsOf: demoQuestions,
  },
  {
    name: 'a chain that crosses to Amsterdam',
    skip: withoutAmsterdam,
    runs: Math.ceil(kills / 2),
    startArchive: serveCross,
    questionsOf: crossQuestions(forkBlock, subjectsAt),
  },
  {
    name: 'a chain of the OP Stack, about Isthmus',
    skip: skipsOptimism,
    runs: Math.ceil(kills / 2),
    startArchive: serveOptimism,
    questionsOf: crossQuestions(162, optimismSubjects),
  },
] as const

for (const { name, skip, runs, startArchive, questionsOf } of oneToKill(chains)) {
  t.test(`a gateway that is killed under questions keeps nothing wrong: ${name}`, { skip }, async (t) => {
    const archive = await startArchive(t)
    t.teardown(() => archive.stop())
    const questions = await questionsOf(archive)
    const folder = makeFolder(t)
    const data = join(folder, 'data')
    const networks = [{ name: 'main', kind: 'gateway', upstreams: [archive.origin], logs: { from: 0 } }]
    const config = writeConfig(folder, { dataDir: 'data', networks })
    const start = () => startService(['--config', config, '--no-auth'])
    const dice = new Dice(propertyRuns(runs).seed as number)
    const expected = new Map<string, string>()
    const compare = async (gateway: Service, body: string) => {
      const { text } = await gateway.post('/', body)
      if (!expected.has(body)) expected.set(body, (await archive.post('/', body)).text)
      if (text !== expected.get(body)) t.equal(text, expected.get(body), body)
    }
    let stored = 0
    let complete = 0
    for (let kill = 0; kill < runs; kill++) {
      const gateway = await start()
      let isKilled = false
      const asking = Array.from({ length: lanes }, async () => {
        for (let asked = 0; asked < askedMax / lanes && !isKilled; asked++) {
          const body = questions[dice.throw(questions.length)] as string
          // The connection of a question that the kill interrupts is lost.
          await compare(gateway, body).catch((error) => {
            if (!isKilled) throw error
          })
        }
      })
      const afterMs = dice.throw(aliveMsMax)
      await sleep(afterMs)
      isKilled = true
      gateway.process.kill('SIGKILL')
      await once(gateway.process, 'exit')
      await Promise.all(asking)
      const store = ChainReader.open({ path: storePathOf(data, 'main') })
      const { faults, nodes, bodies, indexed } = verifyGateway(store)
      await store.close()
      t.strictSame(faults, [], `killed after ${afterMs} ms, with ${nodes} trie nodes and ${bodies} bodies`)
      t.ok(nodes + bodies >= stored, 'what was stored is still there')
      stored = nodes + bodies
      t.ok(indexed >= complete, `${indexed} blocks in the index of logs`)
      complete = indexed
    }
    const gateway = await start()
    t.teardown(() => gateway.stop())
    for (let asked = 0; asked < 60; asked++) {
      await compare(gateway, questions[dice.throw(questions.length)] as string)
    }
    await waitFor('complete logs', async () => {
      const response = await fetch(`${gateway.origin}/health`)
      const { networks } = (await response.json()) as { networks: { main: { logs: { missing: number } } } }
      return networks.main.logs.missing === 0
    })
    const all = [{ fromBlock: '0x0', toBlock: 'latest' }]
    await compare(gateway, bodyOf(['eth_getLogs', all]))
    await gateway.stop()
    const verified = await runHere(['verify', '--network', 'main', '--data', data])
    t.match(verified, { status: 0, out: /trie nodes and \d+ codes, each by its hash\nNo fault found/ })
  })
}
