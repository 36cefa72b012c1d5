/**
 * Networks that begin at a block of the demo chain, with the state after it. Questions about this block and later ones
 * are answered as by the archive that executed all blocks. Earlier blocks have the error of removed history.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { methods } from '../../../src/serving/rpc/registry.js'
import { makeFolder } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { askNetwork, callsAt, callsWithin, differencesOf, type NetworkAnswer } from '../../rpc/blockCalls.js'
import { blockAt, chainPath, examples, genesisPath, headBlock, quantity } from '../../rpc/demoChain.js'
import { examplesOf } from '../../rpc/examplesOf.js'
import type { AnyMethod, Call } from '../../rpc/methodEntry.js'
import { methodTable } from '../../rpc/methodTable.js'
import { fixtureDir } from '../../service/fixtures.js'
import { get } from '../../service/httpClient.js'
import { copyDemoStore, runHere, runProgram, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

/** Before the Merge and just before a block with uncles, after it, and a block without transactions. */
const starts = [100, 200, 230]
const folder = makeFolder(t)
const data = join(folder, 'data')
const nameOf = (start: number) => `from${start}`

/** Runs a command that has to succeed. */
async function run(words: readonly string[]): Promise<string> {
  const { status, out, err } = await runHere(words)
  if (status !== 0) throw new Error(err)
  return out + err
}

/** Files of the state after a block. */
async function exported(start: number): Promise<{ state: string; header: string }> {
  const words = ['export', '--data', fixtureDir, '--network', 'demo', '--state', '--block', `${start}`]
  const { status, err } = await runHere([...words, '--out', folder])
  if (status !== 0) throw new Error(err)
  return {
    state: join(folder, `demo-${start}-state.jsonl.gz`),
    header: join(folder, `demo-${start}-blocks.rlp`),
  }
}

function importWords(start: number, { state, header }: { state: string; header: string }): string[] {
  const total = blockAt(start).totalDifficulty
  return [
    ...['import', '--data', data, '--network', nameOf(start), '--genesis', genesisPath],
    ...['--state', state, '--header', header, '--total-difficulty', `${total}`],
  ]
}

async function serve(): Promise<Service> {
  for (const start of starts) await run([...importWords(start, await exported(start)), chainPath])
  copyDemoStore(data, 'demo')
  const layouts = join(genesisPath, '../layouts.json')
  const networks = ['demo', ...starts.map(nameOf)].map((name) => ({
    name,
    genesis: genesisPath,
    storageLayouts: layouts,
  }))
  return startService(['--config', writeConfig(folder, { dataDir: data, networks }), '--no-auth'])
}

const service = await serve()
t.teardown(() => service.stop())

const ask = (network: string, calls: readonly Call[]) => askNetwork(service, network, calls)

const [account] = examples.accounts
const call = { from: account?.address, to: examples.contracts[0]?.address, data: '0x18160ddd' }
const subjects = {
  accounts: examples.accounts.map(({ address }) => address),
  contracts: examples.contracts.map(({ address }) => address),
  slots: examples.slots,
  call,
}

const wants = new Map<string, NetworkAnswer>()

/** The answers of the archive. */
async function wantedOf(calls: readonly Call[]): Promise<NetworkAnswer[]> {
  const missing = calls.filter((each) => !wants.has(JSON.stringify(each)))
  for (const [at, answer] of (await ask('demo', missing)).entries())
    wants.set(JSON.stringify(missing[at]), answer)
  return calls.map((each) => wants.get(JSON.stringify(each)) as NetworkAnswer)
}

async function checkSame(t: Test, network: string, calls: readonly Call[], what: string): Promise<void> {
  t.strictSame(differencesOf(calls, await ask(network, calls), await wantedOf(calls)), [], what)
}

for (const start of someOf(starts, 1)) {
  t.test(`from block ${start} on, every block is answered as by an archive from the genesis`, async (t) => {
    for (let number = start; number <= headBlock.number; number++) {
      // Blocks far from one start are close to another.
      if (number > start + 10 && number % 16 > 0) continue
      await checkSame(t, nameOf(start), callsAt(subjects, blockAt(number)), `state after block ${number}`)
      if (number > start)
        await checkSame(t, nameOf(start), callsWithin(subjects, blockAt(number)), `block ${number}`)
    }
  })
}

/** Whether an answer may differ from the archive's, because it is about blocks before the start. */
function mayDiffer(answer: NetworkAnswer, want: NetworkAnswer, start: number): boolean {
  if (answer.error?.code === 4444) return true
  const { blockNumber } = (want.result ?? {}) as { blockNumber?: string }
  return answer.result === null && blockNumber !== undefined && Number(blockNumber) <= start
}

/** Their answers are about the whole chain, or about this network. */
const ofWhole: ReadonlySet<string> = new Set<AnyMethod>([
  ...(['eth_capabilities', 'ots_searchTransactionsAfter', 'ots_searchTransactionsBefore'] as const),
  'rpc_discover',
  ...(['eth_newFilter', 'eth_newBlockFilter', 'eth_newPendingTransactionFilter', 'eth_subscribe'] as const),
])

t.test('no method says anything else than the archive, or that it is from before the start', async (t) => {
  for (const start of someOf(starts, 1)) {
    const calls = (Object.keys(methods) as (keyof typeof methods)[])
      .filter((method) => !ofWhole.has(method))
      .flatMap((method): Call[] => [
        ...(methodTable[method].reads ?? []).map((params): Call => [method, params]),
        ...examplesOf(method).flatMap((example) => example.slice(0, 1)),
      ])
      .filter((each) => !/"earliest"|eth_newFilter/.test(JSON.stringify(each)))
    const got = await ask(nameOf(start), calls)
    const want = await wantedOf(calls)
    const differences = calls.flatMap((each, at) => {
      const own = got[at] as NetworkAnswer
      const other = want[at] as NetworkAnswer
      const isSame = JSON.stringify(own.error ?? own.result) === JSON.stringify(other.error ?? other.result)
      if (isSame || mayDiffer(own, other, start)) return []
      return [
        {
          call: JSON.stringify(each).slice(0, 150),
          got: JSON.stringify(own).slice(0, 300),
          want: JSON.stringify(other).slice(0, 300),
        },
      ]
    })
    t.strictSame(differences, [], `from block ${start}`)
  }
})

/** Filters work down to block `first`, replays down to the next one. Below these blocks they have an error. */
async function checkLogsFrom(t: Test, network: string, first: number, error: object): Promise<void> {
  const [made, refused] = await ask(network, [
    ['eth_newFilter', [{ fromBlock: quantity(first) }]],
    ['eth_newFilter', [{ fromBlock: quantity(first - 1) }]],
  ])
  const logsOf = async (id: unknown) =>
    (await ask(network, [['eth_getFilterLogs', [id]]]))[0] as NetworkAnswer
  const [all, later] = await wantedOf(
    [first, first + 1].map((number): Call => ['eth_getLogs', [{ fromBlock: quantity(number) }]]),
  )
  t.strictSame((await logsOf(made?.result)).result, all?.result, 'a filter from the first block on')
  t.strictSame(refused?.error ?? (await logsOf(refused?.result)).error, error, 'a filter from below')
  const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/${network}`)
  const subscribe = async (replayFrom: string) => {
    const request = { jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['logs', { replayFrom }] }
    return JSON.parse((await client.ask(JSON.stringify(request))) ?? '')
  }
  t.match((await subscribe(quantity(first))).error, {
    code: -32602,
    message: `block ${quantity(first)} is out of range; blocks ${quantity(first + 1)} to ${quantity(headBlock.number)} are`,
  })
  const { result: id } = await subscribe(quantity(first + 1))
  const logs = (later?.result ?? []) as readonly unknown[]
  await waitFor('all logs', () => client.received.length >= logs.length)
  t.strictSame(
    client.received.map((text) => JSON.parse(text).params),
    logs.map((result, at) => ({ subscription: id, result, seq: at + 1 })),
    'a replay from there on',
  )
  client.cut()
}

t.test('the border is told: errors, capabilities, health, the oldest block, logs and filters', async (t) => {
  for (const start of starts) {
    const network = nameOf(start)
    // The receipts of a block without transactions are known.
    const receipts = blockAt(start).transactions.length === 0 ? start : start + 1
    const at = quantity(start)
    const withReceipts = quantity(receipts)
    const pruned = (oldest: string) => ({
      code: 4444,
      message: `pruned history unavailable: the oldest block kept is ${oldest}`,
    })
    for (const block of [quantity(start - 1), '0x0']) {
      const calls: Call[] = [
        ['eth_getBalance', [account?.address, block]],
        ['eth_getBlockByNumber', [block, false]],
        ['eth_getHeaderByNumber', [block]],
        ['eth_call', [call, block]],
        ['eth_getProof', [account?.address, [], block]],
      ]
      for (const [index, answer] of (await ask(network, calls)).entries())
        t.strictSame(answer.error, pruned(at), `${calls[index]?.[0]} at ${block}`)
    }
    const [logs, capabilities, earliest, trace, discovered] = await ask(network, [
      ['eth_getLogs', [{ fromBlock: quantity(receipts - 1), toBlock: 'latest' }]],
      ['eth_capabilities', []],
      ['eth_getBlockByNumber', ['earliest', false]],
      ['debug_traceBlockByNumber', [at]],
      ['rpc_discover', []],
    ])
    const oldest = { state: start, trie: start, bodies: start, receipts }
    t.strictSame((discovered as { result: { 'x-oldest': object } }).result['x-oldest'], oldest)
    t.strictSame(logs?.error, pruned(withReceipts))
    await checkLogsFrom(t, network, receipts, pruned(withReceipts))
    t.match(capabilities?.result, {
      state: { disabled: false, oldestBlock: at },
      logs: { oldestBlock: withReceipts },
    })
    t.match(earliest?.result, { number: at })
    t.equal(trace?.error?.code, 4444)
    const { text } = await get(`${service.origin}/health`)
    t.match(JSON.parse(text), {
      networks: { [network]: { oldest } },
    })
  }
})

t.test('hashes of earlier blocks are those of the archive, from the first block on', async (t) => {
  const to = `0x${'ab'.repeat(20)}`
  // Returns BLOCKHASH of the number that it is called with.
  const overrides = { [to]: { code: '0x6000354060005260206000f3' } }
  for (const start of starts) {
    for (const at of [start, start + 1, Math.min(start + 30, headBlock.number), headBlock.number]) {
      const asked = [1, 2, 30, 255, 256, 257].filter((below) => below <= at)
      const calls = asked.map((below): Call => {
        const data = `0x${(at - below).toString(16).padStart(64, '0')}`
        return ['eth_call', [{ to, data }, quantity(at), overrides]]
      })
      const got = await ask(nameOf(start), calls)
      const want = await ask('demo', calls)
      t.strictSame(
        got.map(({ result }) => result),
        want.map(({ result }) => result),
        `below block ${at} of the store from ${start} on`,
      )
      t.ok(
        got.some(({ result }) => /[1-9a-f]/.test(String(result).slice(2))),
        'there are some',
      )
    }
  }
})

t.test('a node is followed from there', async (t) => {
  const start = starts[2] as number
  const followed = join(folder, 'followed')
  const words = importWords(start, await exported(start))
  words[words.indexOf(data)] = followed
  await run(words)
  const network = nameOf(start)
  const follower = await startService([
    ...['--data', followed, '--network', network, '--no-auth'],
    ...['--follow', `${service.origin}/demo`],
  ])
  t.teardown(() => follower.stop())
  await waitFor('the head of the node', async () => {
    const { result } = await follower.call('eth_getBlockByNumber', ['latest', false])
    return result?.hash === headBlock.hash
  })
  const params = [account?.address, [], 'latest']
  const [want] = await ask('demo', [['eth_getProof', params]])
  t.strictSame((await follower.call('eth_getProof', params)).result, want?.result)
  const below = await follower.call('eth_getBalance', [account?.address, quantity(start - 1)])
  t.equal(below.error?.code, 4444)
})

t.test('such a store verifies, is copied, and passes its state on', async (t) => {
  const [start] = starts as [number]
  const network = nameOf(start)
  t.match(await run(['verify', '--data', data, '--network', network, '--blocks', '5']), /No fault found/)
  const again = join(folder, 'again')
  await run(['export', '--data', data, '--network', network, '--state', '--block', '200', '--out', again])
  const { state } = await exported(200)
  t.strictSame(
    readFileSync(join(again, `${network}-200-state.jsonl.gz`)),
    readFileSync(state),
    'the same state, byte by byte',
  )
  const snapshot = join(folder, 'snapshot')
  const copy = join(folder, 'copy')
  await run(['snapshot', '--data', data, '--network', network, snapshot])
  await run(['restore', snapshot, '--data', copy])
  t.match(await run(['verify', '--data', copy, '--network', network, '--blocks', '2']), /No fault found/)
  const backup = join(folder, 'backup')
  const restored = join(folder, 'restored')
  await run(['backup', '--data', data, backup])
  await run(['restore', backup, '--data', restored])
  t.match(await run(['verify', '--data', restored, '--network', network, '--blocks', '0']), /No fault found/)
})

t.test('the same import once more changes nothing, another one is refused', async (t) => {
  const [start, other] = starts as [number, number]
  const files = await exported(start)
  const { status, out } = await runProgram(importWords(start, files))
  t.equal(status, 0)
  t.match(out, new RegExp(`is at block ${headBlock.number}`))
  const wrong = await runHere([...importWords(start, files).slice(0, -2), '--hash', blockAt(other).hash])
  t.match(wrong.err, /the newest header is block 100 .*, not 0x/)
  const elsewhere = importWords(other, await exported(other))
  elsewhere[elsewhere.indexOf(nameOf(other))] = nameOf(start)
  t.match((await runHere(elsewhere)).err, /exists already, and begins at another block/)
  t.match(
    (await runHere(['import', '--data', data, '--network', 'n', '--header', files.header, chainPath])).err,
    /--header is of the block of a state; name that with --state FILE/,
  )
})
