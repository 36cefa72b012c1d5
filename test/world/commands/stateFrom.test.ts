/**
 * Stores that begin with a state from nodes. The state is fetched page by page, and continues after a kill. All wrong
 * answers of nodes are refused, and the block is confirmed.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { mapBytesDefault } from '../../../src/data/store/lmdb/environment.js'
import { defer } from '../../../src/primitives/deferred.js'
import { OperatorError } from '../../../src/primitives/faults.js'
import { importFiles } from '../../../src/sources/ingest/blocks/importFiles.js'
import type { StartNodesPlan } from '../../../src/sources/ingest/thread/messages.js'
import { SignedChain } from '../../consensus/signedChain.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { blockAt, chainPath, genesisPath, headBlock } from '../../rpc/demoChain.js'
import { fixtureDir } from '../../service/fixtures.js'
import { runHere, runProgram, startProgram, storePathOf } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { type Change, startPaged } from '../../upstream/pagedNode.js'
import type { NodeAnswer, NodeCall, WeatherNode } from '../../upstream/weatherNode.js'

const start = 200
const { hash, totalDifficulty } = blockAt(start)
const service = await startService()
t.teardown(() => service.stop())

function wordsOf(data: string, nodes: readonly WeatherNode[], block = hash): string[] {
  return [
    ...['import', '--data', data, '--network', 'x', '--genesis', genesisPath, '--hash', block],
    ...['--total-difficulty', `${totalDifficulty}`, ...nodes.flatMap(({ url }) => ['--state-from', url])],
  ]
}

const nodeOf = ({ url }: { readonly url: string }) => ({ url, timeoutMs: 5_000, answerBytesMax: 2 ** 26 })

/** Imports the state in this process. */
function load(
  data: string,
  nodes: StartNodesPlan,
  block: string | undefined,
  signal = new AbortController().signal,
): Promise<void> {
  const state = { headers: [], state: undefined, nodes, hash: block, totalDifficulty }
  const task = {
    storePath: storePathOf(data, 'x'),
    mapBytes: mapBytesDefault,
    files: [],
    genesis: { text: readFileSync(genesisPath, 'utf8'), path: genesisPath },
    start: state,
  }
  return importFiles(task, { report: () => undefined, signal })
}

/** The state after a block as it is exported. */
async function exported(data: string, network: string, out: string): Promise<Buffer> {
  const words = [
    'export',
    '--data',
    data,
    '--network',
    network,
    '--state',
    '--block',
    `${start}`,
    '--out',
    out,
  ]
  const { status, err } = await runHere(words)
  if (status !== 0) throw new Error(err)
  return readFileSync(join(out, `${network}-${start}-state.jsonl.gz`))
}

const isAccounts = ({ method }: NodeCall) => method === 'debug_accountRange'
const isSlots = ({ method }: NodeCall) => method === 'debug_storageRangeAt'

t.test('a state that a node tells in pages, a fetch of which was killed', async (t) => {
  const folder = makeFolder(t)
  const data = join(folder, 'data')
  const fetched = join(dirname(storePathOf(data, 'x')), 'fetched.jsonl')
  const held = defer<void>()
  const asked: string[] = []
  const node = await startPaged(t, service.origin, async (call, answer) => {
    if (!isAccounts(call)) return answer
    asked.push(String(call.params[1]))
    // go-ethereum before 1.17 writes the start of the next page as base64.
    const { next, ...page } = (answer as { result: { next?: string } }).result
    const base64 = next && Buffer.from(next.slice(2), 'hex').toString('base64')
    // The pause is longer than the time between two reports of the progress.
    if (asked.length === 3) await pause(1_100)
    if (asked.length === 4) await held.promise
    return { result: { ...page, ...(base64 && { next: base64 }) } }
  })
  const killed = startProgram([...wordsOf(data, [node]), chainPath])
  const place = `${fetched}.place`
  await waitFor(
    'a note of how far it is',
    () => existsSync(place) && JSON.parse(readFileSync(place, 'utf8')).start !== asked[0],
  )
  killed.process.kill('SIGKILL')
  await killed.finished
  held.resolve()
  t.notOk(existsSync(storePathOf(data, 'x')), 'there is no store yet')
  const before = asked.splice(0)
  const { status, err, out } = await runProgram([...wordsOf(data, [node]), chainPath])
  t.equal(status, 0, err)
  t.match(err, new RegExp(`the state after block 200 \\(${hash}\\) is fetched from 127.0.0.1:\\d+`))
  t.match(out, new RegExp(`x is at block ${headBlock.number}`))
  t.ok(asked[0] && before.includes(asked[0]) && asked[0] > (before[0] as string), 'it went on')
  t.ok(
    node.calls.some((call) => isSlots(call) && call.params[3] !== `0x${'0'.repeat(64)}`),
    'slots in pages',
  )
  t.strictSame(
    readdirSync(dirname(fetched)).filter((name) => name.startsWith('fetched')),
    [],
  )
  const wanted = await exported(fixtureDir, 'demo', join(folder, 'wanted'))
  t.ok(wanted.equals(await exported(data, 'x', join(folder, 'got'))), 'the same state, byte by byte')
  const again = await runHere(wordsOf(data, [node]))
  t.equal(again.status, 0, 'nothing is left to do')
})

t.test('what a node cannot tell, or tells wrongly, is refused', async (t) => {
  const folder = makeFolder(t)
  let serial = 0
  const refuses = async (change: Change, message: RegExp, block = hash) => {
    const node = await startPaged(t, service.origin, change)
    const data = join(folder, `data${serial++}`)
    const error: unknown = await load(data, { upstreams: [nodeOf(node)] }, block).catch((thrown) => thrown)
    t.ok(error instanceof OperatorError, `${error}`)
    t.match(String(error), message)
    t.notOk(existsSync(storePathOf(data, 'x')), 'no store')
    return data
  }
  type Page = { result: { accounts: Record<string, object>; storage: Record<string, object> } }
  const eachAccount =
    (edit: (account: Record<string, unknown>) => object): Change =>
    (call, answer) => {
      if (!isAccounts(call)) return answer
      const { accounts, ...page } = (answer as Page).result
      const edited = Object.entries(accounts).map(([name, each]) => [name, edit({ ...each })])
      return { result: { ...page, accounts: Object.fromEntries(edited) } }
    }
  const eachSlot =
    (edit: (slot: Record<string, unknown>) => object): Change =>
    (call, answer) => {
      if (!isSlots(call)) return answer
      const { storage, ...page } = (answer as Page).result
      const edited = Object.entries(storage).map(([name, each]) => [name, edit({ ...each })])
      return { result: { ...page, storage: Object.fromEntries(edited) } }
    }
  await refuses((call, answer) => {
    if (!isAccounts(call)) return answer
    const { accounts, ...page } = (answer as Page).result
    const unnamed = Object.values(accounts).map((each) => ({ ...each, address: undefined }))
    return {
      result: { ...page, accounts: Object.fromEntries(unnamed.map((each, at) => [`pre(0x${at})`, each])) },
    }
  }, /account pre\(0x0\): the node that reports it knows only its hash; take a node that keeps preimages/)
  await refuses(
    eachSlot((slot) => ({ ...slot, key: null })),
    /slot 0x\w+ of account 0x\w+: the node that reports/,
  )
  await refuses(
    eachAccount((each) => ({ ...each, key: `0x${'11'.repeat(32)}` })),
    /it reports account 0x\w+, which is not an address/,
  )
  await refuses(
    eachAccount((each) => ('code' in each ? { ...each, code: '0x00' } : each)),
    /the code of account 0x\w+ does not have the reported hash; name another node/,
  )
  await refuses(
    eachSlot((slot) => ({ ...slot, value: `0x${'7'.repeat(64)}` })),
    /the slots of account 0x\w+ do not lead to the reported root/,
  )
  const wrong = await refuses(
    eachAccount((each) => ({ ...each, nonce: Number(each.nonce) + 1 })),
    /accounts and \d+ slots of the dump lead to the state root/,
  )
  t.strictSame(readdirSync(dirname(storePathOf(wrong, 'x'))), [], 'nothing is left of what was wrong')
  let pages = 0
  await refuses(
    (call, answer) =>
      isAccounts(call) && ++pages > 2 ? { error: { code: -32000, message: 'missing trie node' } } : answer,
    /does not report the state after block 200 \(0x\w+\) \(missing trie node\); name a node that keeps it, such as an archive/,
  )
  await refuses(
    (call, answer) => (isAccounts(call) ? { error: { code: -32601, message: 'no' } } : answer),
    /has no debug_accountRange; let it serve the namespace debug/,
  )
  await refuses((_, answer) => answer, /no block after block 264/, headBlock.hash)
  await refuses((_, answer) => answer, /no node has block 0x1111/, `0x${'11'.repeat(32)}`)
})

t.test('a fetch that is stopped ends at once, and leaves what it has', async (t) => {
  const stop = new AbortController()
  let pages = 0
  const node = await startPaged(t, service.origin, (call, answer) => {
    if (!isAccounts(call) || ++pages < 2) return answer
    stop.abort()
    return new Promise(() => undefined)
  })
  const data = makeFolder(t)
  await load(data, { upstreams: [nodeOf(node)] }, hash, stop.signal)
  t.strictSame(readdirSync(dirname(storePathOf(data, 'x'))), ['fetched.jsonl'])
})

t.test('most nodes have to have the block on their chain', async (t) => {
  const other = (call: NodeCall, answer: NodeAnswer): NodeAnswer => {
    const isBlock = call.method === 'eth_getBlockByNumber' && call.params[0] === '0xc8'
    return isBlock
      ? { result: { ...(answer as { result: object }).result, hash: blockAt(199).hash } }
      : answer
  }
  const nodes = [await startPaged(t, service.origin), await startPaged(t, service.origin, other)]
  const urls = nodes.map(nodeOf)
  await t.rejects(
    load(makeFolder(t), { upstreams: urls }, hash),
    /fewer than 2 of 2 nodes have block 200 \(0x\w+\) on their chain/,
  )
  const data = makeFolder(t)
  await load(data, { upstreams: [...urls, nodeOf(await startPaged(t, service.origin))] }, hash)
  t.ok(existsSync(storePathOf(data, 'x')))
})

t.test(
  'where validators sign, the block has to lead to what they signed, and is that by itself',
  async (t) => {
    const signed = new SignedChain()
    const final = blockAt(240)
    const checkpoint = signed.checkpoint(blockAt(150))
    signed.sign(headBlock, final)
    const { nodes: servers, ...beacon } = signed.config([await signed.server(t)], checkpoint)
    const nodes = {
      upstreams: [nodeOf(await startPaged(t, service.origin))],
      beacon: { ...beacon, nodes: servers.map(nodeOf) },
    }
    const later = blockAt(250)
    await t.rejects(
      load(makeFolder(t), nodes, later.hash),
      /block 250 \(0x\w+\) does not lead to block 240 \(0x\w+\), which is/,
    )
    const data = makeFolder(t)
    await load(data, nodes, hash)
    t.ok(existsSync(storePathOf(data, 'x')), 'a block before it')
    const other = makeFolder(t)
    await load(other, nodes, undefined)
    const store = ChainReader.open({ path: storePathOf(other, 'x') })
    t.match(store.readIdentity(), { start: { number: 240, hash: final.hash } })
    await store.close()
  },
)
