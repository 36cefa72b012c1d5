/** The scripted consensus client of `npm run beside-geth -- --engine`, with an engine of our own in go-ethereum's place. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ChainWriter } from '../../../src/data/store/chainWriter.js'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import { FaultError } from '../../../src/primitives/faults.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { parseGenesis } from '../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../src/sources/ingest/blocks/importer.js'
import { BlockMaker } from '../../../src/sources/ingest/develop/blockMaker.js'
import { Engine } from '../../../src/sources/ingest/engine/engine.js'
import { callEngine } from '../../../src/sources/ingest/engine/engineMethods.js'
import type { Answer } from '../../besideGeth/endpoint.js'
import type { EngineClient } from '../../besideGeth/engineClient.js'
import { forgottenReason } from '../../besideGeth/engineWalk.js'
import { inventEngineChain, walk } from '../../besideGeth/engineWalks.js'
import { makeFolder } from '../../library/folder.js'
import { propertyRuns } from '../../library/property.js'

/** An engine without a process, and the methods of `eth_` that a walk needs. */
function openClient(t: Test, genesis: object): EngineClient {
  const { identity, blockDiff, schedule } = parseGenesis(JSON.stringify(genesis))
  const store = ChainWriter.openForWriting({ path: join(makeFolder(t), 'chain.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  store.initialize(identity, blockDiff)
  const say = () => undefined
  const maker = new BlockMaker(store, schedule, say)
  const importer = new ChainImporter(store, schedule)
  const events = { onChoice: async () => undefined, say }
  const engine = new Engine({ store, schedule, importer, maker, events })
  const send = (raw: string): Answer => {
    try {
      return { result: bytesToHex(maker.take(hexToBytes(raw), Number(maker.head.timestamp) + 1)) }
    } catch (error) {
      if (error instanceof FaultError) return { error: { code: -32000, message: error.message } }
      throw error
    }
  }
  return {
    async call(method, params): Promise<Answer> {
      const [first] = params as [string]
      if (method === 'eth_getBlockByNumber') {
        const hash = store.readCanonicalHash(Number(first))
        return { result: { hash: hash && bytesToHex(hash) } }
      }
      if (method === 'eth_getTransactionCount')
        return { result: `0x${(maker.accountOf(hexToBytes(first))?.nonce ?? 0n).toString(16)}` }
      if (method === 'eth_sendRawTransaction') return send(first)
      return JSON.parse(JSON.stringify(await callEngine({ engine, store, schedule, maker }, method, params)))
    },
  }
}

t.test('a random walk beside the same engine has no difference', async (t) => {
  const seed = propertyRuns(1).seed as number
  const { genesis } = inventEngineChain(seed)
  const lines: string[] = []
  const pair = { geth: openClient(t, genesis), ours: openClient(t, genesis) }
  const different = await walk(pair, { seed, steps: 60, shown: 3 }, (line) => lines.push(line))
  t.equal(different, 0, lines.join('\n'))
})

t.test('a walk comes to every status, and to errors of parameters and of the choice', async (t) => {
  const seed = 1
  const { genesis } = inventEngineChain(seed)
  const statuses = new Set<unknown>()
  const ours = openClient(t, genesis)
  const watched: EngineClient = {
    async call(method, params) {
      const answer = await ours.call(method, params)
      const { status, payloadStatus } = (answer.result ?? {}) as {
        readonly status?: string
        readonly payloadStatus?: { readonly status: string }
      }
      statuses.add(answer.error?.code ?? payloadStatus?.status ?? status)
      return answer
    },
  }
  const lines: string[] = []
  const pair = { geth: openClient(t, genesis), ours: watched }
  const different = await walk(pair, { seed, steps: 150, shown: 3 }, (line) => lines.push(line))
  t.equal(different, 0, lines.join('\n'))
  t.match(lines.at(-1), new RegExp(`^seed ${seed}: 150 steps, \\d{2,} blocks, 0 different$`))
  for (const status of ['VALID', 'INVALID', 'SYNCING', -32602, -38002])
    t.ok(statuses.has(status), `${status}`)
})

t.test('another answer is a difference with its step', async (t) => {
  const seed = 1
  const { genesis } = inventEngineChain(seed)
  const honest = openClient(t, genesis)
  const geth: EngineClient = {
    async call(method, params) {
      const answer = await honest.call(method, params)
      const result = answer.result as { readonly status?: string } | undefined
      return result?.status === 'SYNCING' ? { result: { ...result, status: 'ACCEPTED' } } : answer
    },
  }
  const lines: string[] = []
  const pair = { geth, ours: openClient(t, genesis) }
  t.ok((await walk(pair, { seed, steps: 60, shown: 1 }, (line) => lines.push(line))) > 0)
  t.match(
    lines.join('\n'),
    /^DIFFERENT engine_newPayloadV\d step \d+: \.status: geth "ACCEPTED", Tidegate "SYNCING"$/m,
  )
})

t.test('the page of consensus clients has the known difference', async (t) => {
  t.ok(readFileSync(join(packageRoot(), 'docs/consensus-client.md'), 'utf8').includes(forgottenReason))
})
