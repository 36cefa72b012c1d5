/** Events that move the head of a network with signatures, and of one without, when nodes collude. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { BeaconServer } from '../../consensus/beaconServer.js'
import { SignedChain } from '../../consensus/signedChain.js'
import { ancestor, type StormBlock, StormChain } from '../../faults/stormChain.js'
import { answerFrom } from '../../faults/stormNodes.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { Dice, someOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { adminOf } from '../../service/adminClient.js'
import { withoutTimes } from '../../service/healthTimes.js'
import { writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { WeatherNode } from '../../upstream/weatherNode.js'

/** Blocks below the head that are final. */
const finalDepth = 20

/** Nodes of one branch, whose newest block the test sets. */
class Colluders {
  tip: StormBlock
  readonly nodes: WeatherNode[] = []
  readonly #chain: StormChain

  constructor(chain: StormChain) {
    this.#chain = chain
    this.tip = chain.tip
  }

  async open(t: Test, count: number): Promise<this> {
    const { nodes } = this
    const has = (block: StormBlock) => block.isValid
    const view = () => ({ tip: this.tip, has })
    for (let at = 0; at < count; at++) {
      const node = new WeatherNode((call) => answerFrom(this.#chain, view(), true, call))
      node.hasSockets = false
      await node.start()
      t.teardown(() => node.stop())
      nodes.push(node)
    }
    return this
  }

  /** Adds blocks to the newest one, or to an older one; no other node has them. */
  async extend(count: number, from = this.tip): Promise<StormBlock> {
    const { maker, blocks } = this.#chain
    this.tip = from
    for (let at = 0; at < count; at++) {
      const made = await maker.extend(this.tip.made, { after: 1, extraData: Buffer.from('own') })
      const hash = `0x${Buffer.from(made.hash).toString('hex')}`
      const block = { made, number: made.number, hash, parent: this.tip, isValid: true, bornAt: 0 }
      blocks.set(hash, block)
      this.tip = block
    }
    return this.tip
  }
}

const kinds = ['gateway', 'follow'] as const

interface Rig {
  readonly signed: SignedChain
  readonly servers: readonly BeaconServer[]
  readonly colluders: Colluders
  readonly folder: string
}

/** Blocks take a while to make, so that all tests go on with one chain. */
const chain = await StormChain.create(new Dice(3))

async function openRig(t: Test, isGloas = false): Promise<Rig> {
  const signed = new SignedChain(isGloas)
  const servers = [await signed.server(t), await signed.server(t)]
  const colluders = await new Colluders(chain).open(t, 3)
  return { signed, servers, colluders, folder: makeFolder(t) }
}

const finalOf = (block: StormBlock) => ancestor(block, block.number - finalDepth) as StormBlock

async function start(
  t: Test,
  kind: (typeof kinds)[number],
  { colluders, folder }: Rig,
  beacon?: unknown,
): Promise<Service> {
  const asked = {
    upstreams: colluders.nodes.map(({ url }) => url),
    pollMs: 50,
    ...(beacon ? { beacon } : {}),
  }
  const genesis = writeInto(folder, 'genesis.json', JSON.parse(chain.maker.genesisText))
  const network =
    kind === 'gateway'
      ? { name: 'dev', kind: 'gateway', genesis, ...asked }
      : { name: 'dev', genesis, source: { type: 'follow', ...asked } }
  const config = writeConfig(folder, { dataDir: 'data', networks: [network], admin: { port: 0 } })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  return service
}

async function hashOf(service: Service, tag: string): Promise<string | undefined> {
  return (await service.call('eth_getBlockByNumber', [tag, false])).result?.hash
}

const reaches = (service: Service, tag: string, block: StormBlock) =>
  waitFor(`${tag} is block ${block.number}`, async () => (await hashOf(service, tag)) === block.hash)

async function healthOf(service: Service) {
  const { networks } = JSON.parse(await (await fetch(`${service.origin}/health`)).text())
  return networks.dev
}

for (const kind of someOf(kinds, 1)) {
  t.test(
    `${kind}: a quorum with a chain of its own leads who knows no signatures, and no other`,
    async (t) => {
      const rig = await openRig(t)
      const { signed, servers, colluders } = rig
      const { tip } = chain
      const checkpoint = signed.checkpoint(finalOf(tip))
      signed.sign(tip, finalOf(tip))
      const service = await start(t, kind, rig, signed.config(servers, checkpoint))
      await reaches(service, 'latest', tip)
      const own = await colluders.extend(5)
      const believing = await start(t, kind, { ...rig, folder: makeFolder(t) })
      await reaches(believing, 'latest', own)
      // The nodes were polled for their heads many times in between.
      t.equal(await hashOf(service, 'latest'), tip.hash)
      const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
      const headers = { 'content-type': 'application/json' }
      const { headers: answered } = await fetch(service.origin, { method: 'POST', headers, body })
      t.equal(answered.get('tidegate-trust'), null)
      // Signatures move the head even if no node has reported the block.
      await chain.advance(0)
      colluders.tip = chain.tip
      signed.sign(chain.tip, finalOf(chain.tip))
      await reaches(service, 'latest', chain.tip)
      await chain.advance(0)
      signed.sign(chain.tip, finalOf(chain.tip))
      colluders.tip = chain.tip
      await reaches(service, 'latest', chain.tip)
      for (const tag of ['safe', 'finalized']) {
        await waitFor(`${tag} is final`, async () => {
          const number = (await service.call('eth_getBlockByNumber', [tag, false])).result?.number
          return Number(number) >= chain.tip.number - finalDepth - 1
        })
      }
    },
  )

  t.test(
    `${kind}: the head moves to a branch that is signed later, and passes many blocks at once`,
    async (t) => {
      const rig = await openRig(t)
      const { signed, servers, colluders } = rig
      const checkpoint = signed.checkpoint(finalOf(chain.tip))
      signed.sign(chain.tip, finalOf(chain.tip))
      const service = await start(t, kind, rig, signed.config(servers, checkpoint))
      await reaches(service, 'latest', chain.tip)
      await chain.advance(5)
      colluders.tip = chain.tip
      signed.sign(chain.tip)
      await reaches(service, 'latest', chain.tip)
      for (let count = 0; count < 40; count++) await chain.advance(0)
      // Nodes that answer by number have another branch in between.
      const right = chain.tip
      await colluders.extend(30, ancestor(right, right.number - 25))
      signed.sign(right)
      await reaches(service, 'latest', right)
      const below = ancestor(right, right.number - 20) as StormBlock
      await reaches(service, `0x${below.number.toString(16)}`, below)
      t.equal(await hashOf(service, 'latest'), right.hash)
    },
  )

  // The messages about beacon nodes are the same for both.
  if (kind === 'follow') continue
  t.test(`${kind}: without beacon nodes the age grows, and answers go on`, async (t) => {
    const rig = await openRig(t, true)
    const { signed, servers, colluders } = rig
    const { tip } = chain
    const checkpoint = signed.checkpoint(finalOf(tip))
    const slot = signed.sign(tip, finalOf(tip), 480)
    const service = await start(t, kind, rig, signed.config(servers, checkpoint))
    await reaches(service, 'latest', tip)
    const [first, second] = servers as [BeaconServer, BeaconServer]
    await waitFor('the health', async () => (await healthOf(service)).signed?.slot === slot)
    const before = (await healthOf(service)).signed
    t.equal(before.participation, 0.938)
    t.same(withoutTimes(Object.values(before.beaconNodes)), [{}, {}])
    await first.stop()
    await chain.advance(0)
    colluders.tip = chain.tip
    signed.sign(chain.tip, finalOf(tip))
    await reaches(service, 'latest', chain.tip)
    await second.stop()
    await waitFor('the age', async () => {
      const { ageSeconds, beaconNodes } = (await healthOf(service)).signed
      const states = Object.values(beaconNodes) as { readonly trouble?: string }[]
      return ageSeconds > before.ageSeconds - 12 && states.every(({ trouble }) => trouble === 'no answer')
    })
    const admin = await adminOf(service, join(rig.folder, 'data'))
    const [network] = JSON.parse((await admin.get('/api/networks')).text)
    t.match(
      network.chain.upstreams.filter(({ kind }: { kind: string }) => kind === 'beacon node'),
      [first, second].map(({ url }) => ({
        name: new URL(url).host,
        trouble: 'no answer',
        since: String,
        lastError: { at: String, why: String },
        answered: Number,
        failed: Number,
      })),
    )
    t.match(network.chain.upstreams[3], { head: slot, blocksBehind: Number }, 'the last slot of the first')
    const labels = `network="dev",upstream="beacon node ${new URL(first.url).host}"`
    // Figures are published each second, the answer of /health at once.
    await waitFor('the figure', async () => {
      return (await admin.metrics()).get(`tidegate_upstream_answering{${labels}}`) === 0
    })
    await colluders.extend(3)
    t.equal(await hashOf(service, 'latest'), chain.tip.hash)
    const balance = await service.call('eth_getBalance', [`0x${'5a'.repeat(19)}a1`, 'latest'])
    t.type(balance.result, 'string')
    await second.start()
    await chain.advance(0)
    colluders.tip = chain.tip
    signed.sign(chain.tip, finalOf(chain.tip))
    await reaches(service, 'latest', chain.tip)
    // The next start needs no checkpoint, and asks for the bootstrap of a later one.
    await waitFor(
      'what is final',
      async () => (await hashOf(service, 'finalized')) === finalOf(chain.tip).hash,
    )
    await chain.advance(0)
    colluders.tip = chain.tip
    signed.sign(chain.tip)
    signed.checkpoint(finalOf(ancestor(chain.tip, chain.tip.number - 1) as StormBlock))
    await reaches(service, 'latest', chain.tip)
    await service.stop()
    const { checkpoint: _, ...others } = signed.config([second], checkpoint)
    second.asked.length = 0
    await second.stop()
    const again = await start(t, kind, rig, others)
    t.equal(await hashOf(again, 'latest'), chain.tip.hash, 'what is held is served')
    await second.start()
    await chain.advance(0)
    colluders.tip = chain.tip
    signed.sign(chain.tip)
    await reaches(again, 'latest', chain.tip)
    const asked = second.asked.find((path) => path.includes('/bootstrap/'))
    t.ok(asked !== undefined && !asked.endsWith(checkpoint), String(asked))
  })
}
