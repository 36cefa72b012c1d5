/** Forms in which nodes write blocks, receipts and access lists: only an answer that contradicts a root is a lie. */
import { join } from 'node:path'
import t from 'tap'
import { ForkSchedule } from '../../../src/data/chain/forks.js'
import { decodeHeader } from '../../../src/data/chain/header.js'
import type { ChainIdentity } from '../../../src/data/store/chainRows.js'
import { GatewayWriter } from '../../../src/data/store/gatewayWriter.js'
import { type Hash32, hexToBytes } from '../../../src/primitives/bytes.js'
import { FaultError } from '../../../src/primitives/faults.js'
import { keccak256 } from '../../../src/primitives/keccak.js'
import { ProofFetcher } from '../../../src/sources/ingest/gateway/proofFetcher.js'
import { accessListFromJson } from '../../../src/sources/ingest/nodes/accessListFromJson.js'
import { checkAccessList } from '../../../src/sources/ingest/nodes/askedParts.js'
import { LieError, MalformedError } from '../../../src/sources/ingest/nodes/lie.js'
import type { Asking } from '../../../src/sources/ingest/nodes/proving.js'
import { NodeError, type Upstream } from '../../../src/sources/upstream/upstream.js'
import { Dice, propertyRuns } from '../../library/property.js'
import { blocks } from '../../rpc/demoChain.js'
import { demoStore } from '../../unit/execution/evm/demoExecution.js'
import { demoEndpoint, opened } from '../../unit/serving/rpc/demoRig.js'
import { tellOneLie } from '../../upstream/lies.js'
import { upstreamDouble } from '../../upstream/upstreamDouble.js'

const endpoint = demoEndpoint(opened)

async function ask(method: string, params: readonly unknown[]): Promise<unknown> {
  const { body } = await endpoint.handle(
    Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
  )
  const text =
    typeof body === 'string' ? body : Buffer.concat(body.map((piece) => Buffer.from(piece))).toString()
  return JSON.parse(text).result
}

/** Forms of a member that are no value of it. A list that is empty is a value, and contradicts the root. */
const forms: readonly unknown[] = [undefined, null, true, 7, '', '0xz', 'text', {}, [7], [null], [{}]]

type Path = readonly (string | number)[]

/** The path to every part of a value. */
function pathsIn(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, each]) => pathsIn(each, [...path, key]))]
}

function withPart(value: unknown, path: Path, part: unknown): unknown {
  if (path.length === 0) return part
  const copy = structuredClone(value) as Record<string, unknown>
  let holder = copy
  for (const key of path.slice(0, -1)) holder = holder[key] as Record<string, unknown>
  if (part === undefined && !Array.isArray(holder)) delete holder[path.at(-1) as string]
  else holder[path.at(-1) as string] = part
  return copy
}

/** One upstream, with raw methods or without, that changes the answers to one method. */
class OneUpstream implements Asking {
  readonly quorum = 1
  readonly count = 1
  readonly accused: string[] = []
  readonly #upstream: Upstream = upstreamDouble('only', (what) => this.accused.push(what))

  constructor(
    readonly hasRaw: boolean,
    readonly answer: (method: string, result: unknown) => unknown,
  ) {}

  get candidates(): readonly Upstream[] {
    return [this.#upstream]
  }

  async ask(method: string, params: readonly unknown[]) {
    if (!this.hasRaw && method.startsWith('debug_'))
      throw new NodeError(this.#upstream, -32601, 'unknown method', undefined)
    return { result: this.answer(method, await ask(method, params)), upstream: this.#upstream }
  }
}

const schedule = ForkSchedule.of(demoStore.readIdentity() as ChainIdentity)
const store = GatewayWriter.open({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 30 })
t.teardown(() => store.close())
store.begin(demoStore.readIdentity() as ChainIdentity)

type Parts = 'block' | 'receipts'

/** The outcome of an upstream's answer: right, an accusation, or neither. */
async function judge(parts: Parts, hash: Hash32, upstream: OneUpstream): Promise<string> {
  const fetcher = new ProofFetcher(store, upstream, { schedule, fetchMsMax: 60_000 })
  const header = decodeHeader(demoStore.readHeader(hash) as Uint8Array)
  try {
    const found =
      parts === 'block' ? await fetcher.readBlock(hash) : await fetcher.readReceipts(hash, { hash, header })
    if (upstream.accused.length === 0) return found === undefined ? 'absent' : 'right'
  } catch (error) {
    if (!(error instanceof FaultError)) throw error
  }
  return upstream.accused.length > 0 ? `lie: ${upstream.accused[0]}` : 'not proved'
}

const methods = [
  ['block', true, 'debug_getRawBlock'],
  ['block', false, 'eth_getBlockByHash'],
  ['receipts', true, 'debug_getRawReceipts'],
  ['receipts', false, 'eth_getBlockReceipts'],
] as const

/** One block for each set of types of its transactions, and one with uncles or withdrawals. */
const chosen = [
  ...new Map(
    blocks.map((block) => {
      const types = [...new Set(block.transactions.map(({ type }) => type))].sort()
      return [`${types} ${block.uncles.length > 0} ${Object.keys(block).length}`, block]
    }),
  ).values(),
]

const cutShort = (text: unknown) => (typeof text === 'string' ? text.slice(0, 2 * (text.length >> 2)) : text)

for (const [parts, hasRaw, method] of methods) {
  t.test(`${method}: a member of another form is no proof and no lie`, async (t) => {
    const counts: Record<string, number> = {}
    for (const block of chosen) {
      const hash = hexToBytes(block.hash) as Hash32
      const answer = await ask(method, method === 'eth_getBlockByHash' ? [block.hash, true] : [block.hash])
      const seen = new Set<string>()
      for (const path of pathsIn(answer)) {
        // Elements of one list are alike.
        const name = path.map((key) => (Number.isInteger(Number(key)) ? 'each' : key)).join('.')
        if (seen.has(name)) continue
        seen.add(name)
        const changed = forms.map((form) => withPart(answer, path, form))
        for (const [index, told] of [...changed, hasRaw ? cutShort(answer) : answer].entries()) {
          if (told === undefined) continue
          const change = (asked: string, result: unknown) => (asked === method ? told : result)
          const outcome = await judge(parts, hash, new OneUpstream(hasRaw, change))
          counts[outcome] = (counts[outcome] ?? 0) + 1
          // Null is the recipient of a transaction that creates a contract.
          const isValue = name.endsWith('.to') && forms[index] === null
          if (outcome.startsWith('lie') && !isValue)
            t.fail(`block ${Number(block.number)}, ${name} is ${JSON.stringify(forms[index])}: ${outcome}`)
        }
      }
    }
    t.ok((counts['not proved'] ?? 0) > 0, JSON.stringify(counts))
  })

  t.test(`${method}: an answer whose values contradict the root is a lie`, async (t) => {
    const { numRuns, seed } = propertyRuns(60)
    const dice = new Dice(seed as number)
    let lies = 0
    for (let run = 0; run < (numRuns as number); run++) {
      const block = chosen[dice.throw(chosen.length)] as (typeof chosen)[number]
      const change = (asked: string, result: unknown) =>
        asked === method ? tellOneLie(result, dice).lie : result
      const outcome = await judge(parts, hexToBytes(block.hash) as Hash32, new OneUpstream(hasRaw, change))
      if (outcome.startsWith('lie')) lies++
    }
    t.ok(lies > 0, `${lies} of ${numRuns}, seed ${seed}`)
  })
}

const address = `0x${'11'.repeat(20)}`
const list = [
  {
    address,
    storageChanges: [{ key: '0x1', changes: [{ index: '0x1', value: '0x2' }] }],
    storageReads: ['0x3'],
    balanceChanges: [{ index: '0x1', value: '0x5' }],
    nonceChanges: [{ index: '0x1', value: '0x1' }],
    codeChanges: [{ index: '0x1', code: '0x00' }],
  },
]

t.test('access lists: a member of another form is no lie, another value is one', (t) => {
  const rlp = accessListFromJson(list)
  const header = {
    ...decodeHeader(demoStore.readHeader(demoStore.readHead()?.hash as Hash32) as Uint8Array),
    blockAccessListHash: keccak256(rlp) as Hash32,
  }
  const judgeList = (read: () => Uint8Array) => {
    try {
      checkAccessList(read(), header, 1)
      return 'right'
    } catch (error) {
      return (error as Error).constructor.name
    }
  }
  t.equal(
    judgeList(() => rlp),
    'right',
  )
  for (const path of pathsIn(list)) {
    for (const form of forms) {
      const outcome = judgeList(() => accessListFromJson(withPart(list, path, form)))
      if (outcome !== MalformedError.name) t.fail(`${path.join('.')} is ${JSON.stringify(form)}: ${outcome}`)
    }
  }
  for (let length = 0; length < rlp.length; length++)
    t.equal(
      judgeList(() => rlp.slice(0, length)),
      'RlpError',
      `${length} bytes`,
    )
  const other = withPart(list, [0, 'nonceChanges', 0, 'value'], '0x2')
  t.equal(
    judgeList(() => accessListFromJson(other)),
    LieError.name,
  )
  t.equal(
    judgeList(() => Uint8Array.of(0xc0)),
    LieError.name,
  )
  t.end()
})
