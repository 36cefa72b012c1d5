/** Forms in which nodes write the parts of a proof. Parts that a caller can choose never accuse an honest node. */
import { join } from 'node:path'
import t from 'tap'
import { ForkSchedule } from '../../../src/data/chain/forks.js'
import { decodeHeader } from '../../../src/data/chain/header.js'
import { hasCode } from '../../../src/data/state/account.js'
import { trieState } from '../../../src/data/state/trieState.js'
import { triesAfter } from '../../../src/data/state/tries.js'
import type { ChainIdentity } from '../../../src/data/store/chainRows.js'
import { GatewayWriter } from '../../../src/data/store/gatewayWriter.js'
import { type Address, bytesToHex, type Hash32, hexToBytes } from '../../../src/primitives/bytes.js'
import { FaultError } from '../../../src/primitives/faults.js'
import { checkProof } from '../../../src/sources/ingest/gateway/accountProof.js'
import { ProofFetcher } from '../../../src/sources/ingest/gateway/proofFetcher.js'
import { LackError, LieError } from '../../../src/sources/ingest/nodes/lie.js'
import type { Asking } from '../../../src/sources/ingest/nodes/proving.js'
import type { Upstream } from '../../../src/sources/upstream/upstream.js'
import { Dice, propertyRuns } from '../../library/property.js'
import { blocks, examples } from '../../rpc/demoChain.js'
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

const head = demoStore.readHead()?.hash as Hash32
const { stateRoot } = decodeHeader(demoStore.readHeader(head) as Uint8Array)
const absent = `0x${'ab'.repeat(20)}`
const unset = `0x${'cd'.repeat(32)}`
const slot = examples.slots.find(({ address }) => address !== absent) as never as {
  readonly address: string
  readonly slot: string
}
const set = `0x${slot.slot.slice(2).padStart(64, '0')}`

interface Question {
  readonly stateRoot: Hash32
  readonly address: Address
  readonly slots: readonly Hash32[]
}

function questionOf(address: string, slots: readonly string[], root = stateRoot): Question {
  return {
    stateRoot: root,
    address: hexToBytes(address) as Address,
    slots: slots.map((each) => hexToBytes(each) as Hash32),
  }
}

const questions: readonly (readonly [string, readonly string[]])[] = [
  [slot.address, [set, unset]],
  [slot.address, []],
  [absent, [set, unset]],
  [absent, []],
]

/** Forms of a part that are no node and no list of them. */
const forms: readonly unknown[] = [
  ...[undefined, null, true, 7, '', '0x', '0xz', '0x123', 'text', [], {}, [null], [[]], ['0x'], [7]],
  ...[{ proof: null }, { proof: {} }, [{ proof: null }], [{}], { accountProof: null }],
]

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

/** The name of the thrown error, or `right`. */
function judge(answer: unknown, question: Question, right: unknown): string {
  try {
    return JSON.stringify(checkProof(answer, question).values) === JSON.stringify(right) ? 'right' : 'WRONG'
  } catch (error) {
    if (error instanceof LackError || error instanceof LieError) return error.name
    throw error
  }
}

t.test('a part of another form is never a lie, and proves what the other parts lead to', async (t) => {
  for (const [address, slots] of questions) {
    const answer = await ask('eth_getProof', [address, slots, { blockHash: bytesToHex(head) }])
    const question = questionOf(address, slots)
    const right = checkProof(answer, question).values
    const counts: Record<string, number> = {}
    for (const path of pathsIn(answer)) {
      for (const form of forms) {
        const outcome = judge(withPart(answer, path, form), question, right)
        counts[outcome] = (counts[outcome] ?? 0) + 1
        const isFine = outcome === 'right' || outcome === 'LackError'
        if (!isFine) t.fail(`${outcome}: ${address}, ${path.join('.')} is ${JSON.stringify(form)}`)
      }
    }
    t.ok((counts.right ?? 0) > 0 && (counts.LackError ?? 0) > 0, JSON.stringify(counts))
    const unread = ['address', 'balance', 'codeHash', 'nonce', 'storageHash']
    for (const name of unread) t.equal(judge(withPart(answer, [name], null), question, right), 'right', name)
  }
})

t.test('slots of an absent account need no nodes, however that is written', async (t) => {
  const question = questionOf(absent, [set, unset])
  const answer = await ask('eth_getProof', [absent, [set, unset], { blockHash: bytesToHex(head) }])
  const right = checkProof(answer, question).values
  const rows = [set, unset].map((key) => ({ key, value: '0x0', proof: null }))
  for (const storageProof of [rows, rows.map(({ key }) => ({ key })), [null, null], [], null, undefined, {}])
    t.equal(judge({ ...(answer as object), storageProof }, question, right), 'right')
})

t.test('nodes that are left out at the end are a lack, nodes that no root leads to a lie', async (t) => {
  const [address, slots] = questions[0] as (typeof questions)[number]
  const answer = (await ask('eth_getProof', [address, slots, { blockHash: bytesToHex(head) }])) as {
    readonly accountProof: readonly string[]
  }
  const { accountProof } = answer
  const question = questionOf(address, slots)
  const right = checkProof(answer, question).values
  for (let count = 0; count < accountProof.length; count++) {
    const cut = { ...answer, accountProof: accountProof.slice(0, count) }
    t.equal(judge(cut, question, right), 'LackError', `${count} nodes`)
  }
  const early = { blockHash: blocks[1]?.hash }
  t.equal(judge(await ask('eth_getProof', [address, slots, early]), question, right), 'LieError')
  const { numRuns, seed } = propertyRuns(300)
  const dice = new Dice(seed as number)
  const counts: Record<string, number> = {}
  for (let run = 0; run < (numRuns as number); run++) {
    const { lie, where } = tellOneLie(answer, dice)
    const outcome = judge(lie, question, right)
    counts[outcome] = (counts[outcome] ?? 0) + 1
    if (outcome === 'WRONG') t.fail(`${where}: ${outcome}`, { seed, run })
  }
  t.ok((counts.LieError ?? 0) > 0, JSON.stringify(counts))
})

/** One upstream with given answers. */
class OneUpstream implements Asking {
  readonly quorum = 1
  readonly count = 1
  readonly accused: string[] = []
  readonly #upstream: Upstream = upstreamDouble('only', (what) => this.accused.push(what))

  constructor(readonly answer: (method: string, result: unknown) => unknown) {}

  get candidates(): readonly Upstream[] {
    return [this.#upstream]
  }

  async ask(method: string, params: readonly unknown[]) {
    return { result: this.answer(method, await ask(method, params)), upstream: this.#upstream }
  }
}

t.test('no form of what a caller asks for makes an upstream a liar', async (t) => {
  const options = { schedule: ForkSchedule.of(demoStore.readIdentity() as ChainIdentity), fetchMsMax: 60_000 }
  const store = GatewayWriter.open({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  store.begin(demoStore.readIdentity() as ChainIdentity)
  store.putSideHeader(head, demoStore.readHeader(head) as Uint8Array)
  const number = decodeHeader(demoStore.readHeader(head) as Uint8Array).number
  const state = trieState(demoStore, stateRoot, head, triesAfter(demoStore, { number, hash: head }))
  const coded = examples.contracts
    .map(({ address }) => hexToBytes(address) as Address)
    .find((address) => hasCode(state.account(address))) as Address
  const codeHash = state.account(coded)?.codeHash as Hash32
  store.putCodeOwner(codeHash, { block: head, address: coded })
  const transaction = hexToBytes(examples.transactions[0]?.hash as string) as Hash32
  const wanted = {
    eth_getProof: { kind: 'state', block: head, ...questionOf(slot.address, [set]) },
    eth_getCode: { kind: 'code', hash: codeHash },
    eth_getTransactionByHash: { kind: 'location', hash: transaction },
  } as const
  const members = { eth_getProof: 'storageProof', eth_getTransactionByHash: 'blockHash' } as const
  for (const [method, thing] of Object.entries(wanted)) {
    for (const form of forms) {
      const member = members[method as keyof typeof members]
      const whole = (asked: string, result: unknown) => (asked === method ? form : result)
      const part = (asked: string, result: unknown) =>
        asked === method && member !== undefined ? { ...(result as object), [member]: form } : result
      for (const answer of method === 'eth_getCode' ? [whole] : [whole, part]) {
        // Missing code contradicts the hash of the account, and an answer has a result.
        if ((method === 'eth_getCode' && form === '0x') || (answer === whole && form === undefined)) continue
        const upstream = new OneUpstream(answer)
        await new ProofFetcher(store, upstream, options).fetch(thing).catch((error: unknown) => {
          if (!(error instanceof FaultError)) throw error
        })
        t.strictSame(upstream.accused, [], `${method}: ${JSON.stringify(form)}`)
      }
    }
  }
  const liar = new OneUpstream((method, result) => (method === 'eth_getCode' ? '0x00' : result))
  await t.rejects(new ProofFetcher(store, liar, options).fetch(wanted.eth_getCode))
  t.equal(liar.accused.length, 1)
})
