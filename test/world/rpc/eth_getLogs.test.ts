// @shares
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { Dice } from '../../library/property.js'
import { inTime } from '../../library/until.js'
import type { Json } from '../../rpc/demoChain.js'
import { blockAt, blocks, headBlock, quantity, unknownHash } from '../../rpc/demoChain.js'
import { askAll, askResults, checkRefusals, type Question } from '../../rpc/questions.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { startService } from '../../service/service.js'

const method = 'eth_getLogs'
const service = await startService()
t.teardown(() => service.stop())

type Log = Json & { readonly address: string; readonly topics: string[]; readonly blockNumber: string }

/** The logs of each block, from its receipts. */
const logsOf: Log[][] = (
  await askResults(
    service,
    [{ number: 0 }, ...blocks].map(({ number }) => ['eth_getBlockReceipts', [quantity(number)]]),
  )
).map((receipts: { logs: Log[] }[]) => receipts.flatMap(({ logs }) => logs))
const all = logsOf.flat()
const head = headBlock.number

interface Filter {
  readonly address?: string | readonly string[] | null
  readonly topics?: readonly (string | readonly (string | null)[] | null)[] | null
}

function isWanted({ address, topics }: Filter, log: Log): boolean {
  const addresses = typeof address === 'string' ? [address] : (address ?? [])
  if (addresses.length > 0 && !addresses.includes(log.address)) return false
  return (topics ?? []).every((wanted, at) => {
    const topic = log.topics[at]
    if (topic === undefined) return false
    const some = typeof wanted === 'string' ? [wanted] : (wanted ?? [])
    return some.length === 0 || some.includes(null) || some.includes(topic)
  })
}

const seed = process.env.SEED === undefined ? Date.now() & 0x7fffffff : Number(process.env.SEED)
const dice = new Dice(seed)
const pick = <T>(from: readonly T[]): T => from[dice.throw(from.length)] as T

function randomFilter(): Filter {
  const { address, topics } = pick(all)
  const others = () => dice.times(dice.throw(3), () => pick(all).address)
  const wanted = topics.slice(0, dice.throw(topics.length + 1)).map((topic, at) => {
    const other = () => pick(all).topics[at] ?? unknownHash
    return pick([topic, null, [], [topic], [topic, null], [other(), topic], [other()], unknownHash])
  })
  return {
    ...pick([
      {},
      { address: null },
      { address },
      { address: [address] },
      { address: [...others(), address] },
    ]),
    ...pick([
      {},
      { topics: null },
      { topics: wanted },
      { topics: wanted },
      { topics: [...wanted, null].slice(0, 4) },
    ]),
  }
}

t.test('answers what a scan of all receipts finds', async (t) => {
  t.comment(`seed ${seed} (repeat with SEED=${seed})`)
  const questions: Question[] = []
  const expected: Log[][] = []
  for (let n = 0; n < 400; n++) {
    const filter = randomFilter()
    if (dice.throw(4) === 0) {
      const { hash, number } = pick(blocks)
      questions.push([method, [{ ...filter, blockHash: hash }]])
      expected.push((logsOf[number] as Log[]).filter((log) => isWanted(filter, log)))
      continue
    }
    const first = dice.throw(head + 1)
    const last = first + dice.throw(head + 1 - first)
    const fromBlock = first === 0 && dice.throw(2) === 0 ? 'earliest' : quantity(first)
    const toBlock = last === head && dice.throw(2) === 0 ? 'latest' : quantity(last)
    questions.push([method, [{ ...filter, fromBlock, toBlock }]])
    expected.push(
      logsOf.slice(first, last + 1).flatMap((logs) => logs.filter((log) => isWanted(filter, log))),
    )
  }
  // Few at a time, because the answer of a batch is bounded.
  for (let start = 0; start < questions.length; start += 10) {
    const answers = await askResults(service, questions.slice(start, start + 10))
    for (const [at, answer] of answers.entries()) {
      const n = start + at
      if (isDeepStrictEqual(answer, expected[n])) t.pass()
      else t.strictSame(answer, expected[n], JSON.stringify(questions[n]))
    }
  }
  t.ok(expected.filter((logs) => logs.length > 0).length > 120, 'many of them find something')
})

t.test('tags, and what stands for a bound that is left out', async (t) => {
  const [finalized] = await askResults(service, [['eth_getBlockByNumber', ['finalized', false]]])
  const [whole, none, nulls, toFinalized, newest] = await askResults(service, [
    [method, [{ fromBlock: 'earliest' }]],
    [method, [{}]],
    [method, [{ fromBlock: null, toBlock: null, blockHash: null, address: null, topics: null }]],
    [method, [{ fromBlock: '0x0', toBlock: 'finalized' }]],
    [method, [{ fromBlock: 'latest', toBlock: 'latest' }]],
  ])
  t.strictSame(whole, all)
  t.strictSame(none, logsOf[head])
  t.strictSame(nulls, logsOf[head])
  t.strictSame(toFinalized, logsOf.slice(0, Number(finalized.number) + 1).flat())
  t.strictSame(newest, logsOf[head])
})

t.test('refuses as go-ethereum does', async (t) => {
  const because = (why: string) => `invalid argument 0: ${why}`
  const invalidRange = 'invalid block range params'
  const inFuture = 'block range extends beyond current head block'
  const pending = 'pending logs are not supported'
  await checkRefusals(t, service, method, [
    [[], -32602, 'missing value for required argument 0'],
    [[null], -32602, 'missing value for required argument 0'],
    [[{}, 1], -32602, 'too many arguments, want at most 1'],
    [['latest'], -32602, because('want a filter object, got string')],
    [[[]], -32602, because('want a filter object, got array')],
    [[{ fromBlock: '0x2', toBlock: '0x1' }], -32602, invalidRange],
    [[{ toBlock: '0x1' }], -32602, invalidRange],
    [[{ fromBlock: 'latest', toBlock: 'earliest' }], -32602, invalidRange],
    [[{ fromBlock: quantity(head + 2), toBlock: quantity(head + 1) }], -32602, invalidRange],
    [[{ fromBlock: '0x1', toBlock: quantity(head + 1) }], -32602, inFuture],
    [[{ fromBlock: quantity(head + 1), toBlock: quantity(head + 2) }], -32602, inFuture],
    [[{ fromBlock: 'pending' }], -32602, pending],
    [[{ fromBlock: '0x1', toBlock: 'pending' }], -32602, pending],
    [[{ blockHash: unknownHash }], -32000, 'unknown block'],
    [
      [{ blockHash: unknownHash, toBlock: '0x1' }],
      -32602,
      because('cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other'),
    ],
    [[{ blockHash: '0x12' }], -32602, because('hex string has length 2, want 64 for hash')],
    [[{ fromBlock: 1 }], -32602, because('want a block number or tag, got number')],
    [[{ fromBlock: { blockNumber: '0x1' } }], -32602, because('want a block number or tag, got object')],
    [[{ fromBlock: blockAt(3).hash }], -32602, because('hex number > 64 bits')],
    [[{ address: '0x12' }], -32602, because('hex string has length 2, want 40 for address')],
    [[{ topics: {} }], -32602, because('topics: want an array, got object')],
    [
      [{ topics: [null, null, null, null, null] }],
      -32602,
      because('topics: want at most 4 positions, got 5'),
    ],
    [[{ topics: [['0x1']] }], -32602, because('hex string of odd length')],
    [
      [{ address: Array(1_001).fill(all[0]?.address) }],
      -32602,
      because('too many addresses and topics (max 1000, got 1001)'),
    ],
  ])
})

t.test('what is too much for one answer is refused with the range that fits', async (t) => {
  const config = JSON.parse(readFileSync(fixtureConfig, 'utf8'))
  const path = join(t.testdir(), 'tidegate.json')
  writeFileSync(path, JSON.stringify({ ...config, limits: { ...config.limits, logsMax: 50 } }))
  const bounded = await startService(['--config', path, '--no-auth'])
  t.teardown(() => bounded.stop())
  const got: Log[] = []
  let pages = 0
  for (let first = 0; first <= head; pages++) {
    let filter = { fromBlock: quantity(first), toBlock: quantity(head) }
    let [answer] = await askAll(bounded, [[method, [filter]]])
    let last = head
    if (answer?.error !== undefined) {
      const [from, to] = answer.error.data as [number, number]
      t.equal(answer.error.code, -32005)
      t.match(answer.error.message, 'query returned more than 50 results')
      t.match(answer.error.message, `Try with this block range [${quantity(from)}, ${quantity(to)}].`)
      t.equal(from, first)
      last = to
      filter = { fromBlock: quantity(from), toBlock: quantity(to) }
      ;[answer] = await askAll(bounded, [[method, [filter]]])
    }
    const logs = answer?.result as Log[]
    t.ok(logs.length <= 50 || new Set(logs.map(({ blockNumber }) => blockNumber)).size === 1)
    got.push(...logs)
    first = last + 1
  }
  t.ok(pages > 10)
  t.strictSame(got, all)
})

const recordedDir = join(packageRoot(), '../shared/geth')
const reads = join(recordedDir, 'reads.jsonl.gz')

t.test(
  'answers every filter as go-ethereum did',
  { skip: !existsSync(reads) && `there are no recordings at ${reads}` },
  async (t) => {
    const words = [join(recordedDir, 'run.mjs'), '--url', `${service.origin}/`, reads, '--only', method]
    const replayed = new Promise<string>((resolve) => {
      execFile(process.execPath, words, (_error, out, err) => resolve(out + err))
    })
    t.match(await inTime('the replay to end', replayed), /^[1-9]\d* passed, 0 failed$/m)
  },
)
