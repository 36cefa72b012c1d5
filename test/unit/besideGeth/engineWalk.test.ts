/** The scripted consensus client of `npm run beside-geth -- --engine`, with an engine of our own in go-ethereum's place. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ChainWriter } from '../../../src/data/store/chainWriter.js'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import { FaultError } from '../../../src/primitives/faults.js'
import { parseGenesis } from '../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../src/sources/ingest/blocks/importer.js'
import { BlockMaker } from '../../../src/sources/ingest/develop/blockMaker.js'
import { Engine } from '../../../src/sources/ingest/engine/engine.js'
import { callEngine } from '../../../src/sources/ingest/engine/engineMethods.js'
import type { Answer } from '../../besideGeth/endpoint.js'
import type { EngineClient } from '../../besideGeth/engineClient.js'
import type { EnginePair } from '../../besideGeth/engineWalk.js'
import { inventEngineChain, walk } from '../../besideGeth/engineWalks.js'
import { engineReasons } from '../../besideGeth/knownDifferences.js'
import { makeFolder } from '../../library/folder.js'
import { propertyRuns } from '../../library/property.js'

interface OpenedClient extends EngineClient {
  /** Forgets invalid blocks. */
  forget(): void
}

/** An engine without a process, and the methods of `eth_` that a walk needs. */
function openClient(t: Test, genesis: object): OpenedClient {
  const { identity, blockDiff, schedule } = parseGenesis(JSON.stringify(genesis))
  const store = ChainWriter.openForWriting({ path: join(makeFolder(t), 'chain.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  store.initialize(identity, blockDiff)
  const say = () => undefined
  const maker = new BlockMaker(store, schedule, say)
  const importer = new ChainImporter(store, schedule)
  const events = { onChoice: async () => undefined, say }
  const parts = { store, schedule, importer, maker, events }
  const service = { engine: new Engine(parts), store, schedule, maker }
  const send = (raw: string): Answer => {
    try {
      return { result: bytesToHex(maker.take(hexToBytes(raw), Number(maker.head.timestamp) + 1)) }
    } catch (error) {
      if (error instanceof FaultError) return { error: { code: -32000, message: error.message } }
      throw error
    }
  }
  return {
    forget() {
      service.engine = new Engine(parts)
    },
    async call(method, params): Promise<Answer> {
      const [first] = params as [string]
      if (method === 'eth_getBlockByNumber') {
        const hash = store.readCanonicalHash(Number(first))
        return { result: { hash: hash && bytesToHex(hash) } }
      }
      if (method === 'eth_getTransactionCount')
        return { result: `0x${(maker.accountOf(hexToBytes(first))?.nonce ?? 0n).toString(16)}` }
      if (method === 'eth_sendRawTransaction') return send(first)
      return JSON.parse(JSON.stringify(await callEngine(service, method, params)))
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

t.test('an invalid block that geth forgets is known, and both go on alike', async (t) => {
  const { genesis } = inventEngineChain(memorySeed)
  const walked = async (isForgetful: boolean) => {
    const [geth, own] = [openClient(t, genesis), openClient(t, genesis)]
    // A block that comes to geth again comes to geth alone.
    const ours: EngineClient = {
      call(method, params) {
        if (isForgetful && method.startsWith('engine_newPayload')) geth.forget()
        return own.call(method, params)
      },
    }
    return await linesOf({ geth, ours })
  }
  const [forgetful, honest] = [await walked(true), await walked(false)]
  t.equal(forgetful.at(-1), honest.at(-1), forgetful.join('\n'))
  t.match(forgetful.at(-1), / 0 different$/)
  t.match(reasonsOf(forgetful), [engineReasons.forgotten])
})

t.test('a parent that geth finds by another number is known only if it is in no cache', async (t) => {
  const { genesis } = inventEngineChain(memorySeed)
  const known = await linesOf({
    geth: findingByNumber(openClient(t, genesis), true),
    ours: openClient(t, genesis),
  })
  t.match(known.at(-1), / 0 different$/)
  t.match(reasonsOf(known), [engineReasons.number])
  const unknown = await linesOf({
    geth: findingByNumber(openClient(t, genesis), false),
    ours: openClient(t, genesis),
  })
  t.match(unknown.join('\n'), /^DIFFERENT engine_newPayloadV/m)
})

t.test('a missing memory hides no other difference', async (t) => {
  const { genesis } = inventEngineChain(memorySeed)
  const replaced: Record<string, (pair: EnginePair) => EnginePair> = {
    'geth refuses no block': ({ geth, ours }) => ({ geth: replacing(geth, 'INVALID', 'SYNCING'), ours }),
    'geth never refuses a descendant': ({ geth, ours }) => ({
      geth: replacing(geth, 'INVALID', 'SYNCING', 'unlinked'),
      ours,
    }),
    'Tidegate refuses descendants of unknown blocks': ({ geth, ours }) => ({
      geth,
      ours: replacing(ours, 'SYNCING', 'INVALID'),
    }),
  }
  for (const [name, replace] of Object.entries(replaced)) {
    const lines = await linesOf(replace({ geth: openClient(t, genesis), ours: openClient(t, genesis) }))
    t.match(lines.join('\n'), /^DIFFERENT engine_newPayloadV/m, name)
    t.strictSame(reasonsOf(lines), [], name)
  }
})

/** A walk of this seed gives descendants of invalid blocks, and a block with another number than its parent's and one. */
const memorySeed = 4
const memorySteps = 150

async function linesOf(pair: EnginePair): Promise<readonly string[]> {
  const lines: string[] = []
  await walk(pair, { seed: memorySeed, steps: memorySteps, shown: 1 }, (line) => lines.push(line))
  return lines
}

/** Reasons of known differences. */
const reasonsOf = (lines: readonly string[]) =>
  lines.flatMap((line) => /^known, [1-9]\d* times: (.+)$/.exec(line)?.[1] ?? [])

/** A client that finds a parent by its hash and number. If `hasCache`, one that was read by its hash is found by that. */
function findingByNumber(client: EngineClient, hasCache: boolean): EngineClient {
  const numbers = new Map<unknown, number>()
  const cached = new Set<unknown>()
  return {
    async call(method, params) {
      if (method === 'eth_getBlockByHash') {
        if (hasCache) cached.add(params[0])
        return { result: {} }
      }
      const answer = await client.call(method, params)
      if (!method.startsWith('engine_newPayload')) return answer
      const { status } = (answer.result ?? {}) as { readonly status?: string }
      const { blockHash, blockNumber, parentHash } = params[0] as { readonly [name: string]: unknown }
      if (status === 'VALID') numbers.set(blockHash, Number(blockNumber))
      const parentNumber = numbers.get(parentHash)
      const isFound = cached.has(parentHash) || parentNumber === Number(blockNumber) - 1
      if (status !== 'INVALID' || parentNumber === undefined || isFound) return answer
      return { result: { status: 'SYNCING', latestValidHash: null, validationError: null } }
    },
  }
}

/** A client that answers one status instead of another, to all payloads or to those whose parent was never valid. */
function replacing(client: EngineClient, from: string, to: string, which = 'all'): EngineClient {
  const valid = new Set<unknown>()
  return {
    async call(method, params) {
      const answer = await client.call(method, params)
      const { status } = (answer.result ?? {}) as { readonly status?: string }
      const { blockHash, parentHash } = (params[0] ?? {}) as { readonly [name: string]: unknown }
      if (status === 'VALID') valid.add(blockHash)
      const isMeant = which === 'all' || !valid.has(parentHash)
      if (status !== from || !isMeant) return answer
      return { result: { ...(answer.result as object), status: to, latestValidHash: null } }
    },
  }
}
