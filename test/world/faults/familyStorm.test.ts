// @shares
/**
 * Six networks of other families in one process, each with two honest nodes and a lying one, over chains that
 * reorganise. `STORM_SECONDS=600` makes it ten minutes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { makeFolder } from '../../library/folder.js'
import { Dice, propertyRuns } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { patientLimits } from '../../service/fixtures.js'
import { post } from '../../service/httpClient.js'
import { writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { FamilyNode, plain } from '../../upstream/familyNode.js'
import { MadeChain, type MadeFamily } from '../../upstream/madeFamilies.js'
import type { NodeAnswer, NodeCall } from '../../upstream/weatherNode.js'

const seconds = Number(process.env.STORM_SECONDS ?? 6)
/** On a machine that is too slow for more: some reorganisations are among them. */
const stepsMin = 12
const stepMs = 250
const families = ['celo', 'base', 'linea', 'gnosis', 'helicon', 'zksync'] as const satisfies MadeFamily[]
/** The chain that makes ten blocks a second, once the storm is over. */
const fastBlocks = 30
const fastMs = 100

type Json = Readonly<Record<string, unknown>>

/** The value with one changed digit in one of its members. */
function spoilt(value: unknown, dice: Dice): unknown {
  if (Array.isArray(value)) {
    const at = dice.throw(value.length)
    return value.map((each, index) => (index === at ? spoilt(each, dice) : each))
  }
  if (typeof value === 'string') {
    const at = value.length - 1 - dice.throw(Math.min(8, value.length - 2))
    const digit = value[at] === '1' ? '2' : '1'
    return value.slice(0, at) + digit + value.slice(at + 1)
  }
  if (typeof value !== 'object' || value === null) return value
  // No root covers the price that a transaction paid.
  const names = Object.keys(value).filter(
    (name) => /root|value|data|status|gas|proof|logs|transactions/i.test(name) && name !== 'gasPrice',
  )
  const name = names[dice.throw(Math.max(names.length, 1))]
  return name === undefined ? value : { ...value, [name]: spoilt((value as Json)[name], dice) }
}

const spoiltMethods = /^eth_(getBlockReceipts|getProof|getBalance|call|getBlockBy\w+|getCode)$/

class Front {
  readonly name: string
  readonly chain: MadeChain
  readonly nodes: readonly FamilyNode[]
  /** Every block that was ever made, by its hash. */
  readonly made = new Map<string, Json>()
  /** Answers: right, wrong but marked as reported, and errors. */
  readonly counts = { right: 0, spoilt: 0, failed: 0 }

  constructor(name: string, chain: MadeChain, dice: Dice) {
    this.name = name
    this.chain = chain
    this.nodes = [0, 1, 2].map(() => new FamilyNode(chain.fixture))
    const lie = (call: NodeCall, answer: NodeAnswer): NodeAnswer =>
      'result' in answer && spoiltMethods.test(call.method) && dice.throw(2) === 0
        ? { result: spoilt(answer.result, dice) }
        : answer
    const [liar] = this.nodes
    if (liar !== undefined) liar.change = lie
    this.show()
  }

  get tip(): Json {
    return this.chain.fixture.blocks.at(-1)?.block as Json
  }

  /** All nodes have all blocks of the chain. */
  show(): void {
    for (const { block } of this.chain.fixture.blocks) this.made.set(block.hash, block)
    for (const node of this.nodes) node.head = this.chain.fixture.blocks.length - 1
  }

  async step(dice: Dice): Promise<boolean> {
    const isOther = dice.throw(5) === 0
    await (isOther ? this.chain.reorganise(1 + dice.throw(3)) : this.chain.advance())
    this.show()
    return isOther
  }
}

async function ask({ origin }: Service, name: string, method: string, params: readonly unknown[]) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { text, headers } = await post(`${origin}/${name}`, body)
  const { result, error } = JSON.parse(text) as { result?: unknown; error?: { message: string } }
  return { result, error, trust: headers['tidegate-trust'] as string | undefined }
}

const folded = (value: unknown) => JSON.stringify(value, sortedLower)
function sortedLower(_name: string, value: unknown): unknown {
  if (typeof value === 'string') return value.toLowerCase()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The faults in the answers of one network: an unproved answer must be marked as reported. */
async function wrongOf(service: Service, { name, made, counts }: Front): Promise<string[]> {
  const block = await ask(service, name, 'eth_getBlockByNumber', ['latest', true])
  const balance = await ask(service, name, 'eth_getBalance', [plain, 'latest'])
  const answers = [
    { what: 'block', ...block, right: made.get(String((block.result as Json | null)?.hash)) },
    { what: 'balance', ...balance, right: '0xde0b6b3a7640000' },
  ]
  return answers.flatMap(({ what, result, error, trust, right }) => {
    const isRight = error === undefined && folded(result) === folded(right)
    counts[isRight ? 'right' : error === undefined ? 'spoilt' : 'failed']++
    if (isRight || error !== undefined || trust === 'none') return []
    return [`${name}: ${what} ${folded(result)} (${trust}) instead of ${folded(right)}`]
  })
}

async function reachTips(service: Service, fronts: readonly Front[]): Promise<void> {
  for (const { name, tip } of fronts) {
    await waitFor(`the newest block of ${name}`, async () => {
      const { result } = await ask(service, name, 'eth_getBlockByNumber', ['latest', false])
      return (result as Json | null)?.hash === tip.hash
    })
  }
}

t.test('six families beside each other, with reorganisations and a liar each', async (t) => {
  const dice = new Dice(propertyRuns(1).seed as number)
  const fronts: Front[] = []
  for (const family of families) {
    const chain = await MadeChain.begin(family)
    for (let count = 0; count < 12; count++) await chain.advance()
    fronts.push(new Front(family, chain, dice))
  }
  for (const { node } of fronts.flatMap(({ nodes }) => nodes)) {
    await node.start()
    t.teardown(() => node.stop())
  }
  const networks = fronts.map(({ name, nodes }) => {
    return { name, kind: 'gateway', upstreams: nodes.map(({ node }) => node.url), pollMs: 100 }
  })
  const folder = makeFolder(t)
  const config = writeConfig(folder, { dataDir: folder, networks, limits: patientLimits })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  t.teardown(() => t.passing() || t.comment(service.said.err))

  const endMs = performance.now() + seconds * 1_000
  const wrongs = new Set<string>()
  let reorganisations = 0
  for (let steps = 0; steps < stepsMin || performance.now() < endMs; steps++) {
    for (const front of fronts) if (await front.step(dice)) reorganisations++
    for (const front of fronts) for (const wrong of await wrongOf(service, front)) wrongs.add(wrong)
    await sleep(stepMs)
  }
  t.strictSame([...wrongs].slice(0, 5), [])
  for (const { name, counts } of fronts)
    t.ok(counts.right > counts.spoilt + counts.failed, `${name}: ${JSON.stringify(counts)}`)
  t.ok(reorganisations > 0, `${reorganisations} reorganisations`)
  await reachTips(service, fronts)
  t.match(service.said.err, /lied/, 'somebody was found out')

  const [fast] = fronts as [Front, ...Front[]]
  for (let count = 0; count < fastBlocks; count++) {
    await fast.chain.advance()
    fast.show()
    await sleep(fastMs)
  }
  await reachTips(service, [fast])
  t.match(await ask(service, fast.name, 'eth_blockNumber', []), { result: fast.tip.number })
})
