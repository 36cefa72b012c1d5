// @shares
import t, { type Test } from 'tap'
import { bytesToHex, type Hash32, hexToBytes } from '../../../../src/primitives/bytes.js'
import { OperatorError } from '../../../../src/primitives/faults.js'
import { slotsPerPeriod } from '../../../../src/sources/consensus/network.js'
import { SignedHead, type SignedHeadOptions } from '../../../../src/sources/ingest/beacon/signedHead.js'
import type { BeaconPlan } from '../../../../src/sources/ingest/thread/messages.js'
import type { HeadClaim } from '../../../../src/sources/upstream/headWatch.js'
import { VerifyError, verifyHead } from '../../../../src/verify/verify.js'
import { BeaconServer, BeaconView } from '../../../consensus/beaconServer.js'
import {
  crossedEpochs,
  type Sent,
  SimulatedChain,
  simulatedNetwork,
} from '../../../consensus/simulatedChain.js'
import { waitFor } from '../../../library/until.js'
import { fine } from '../../../upstream/weatherNode.js'

/** Slots between the newest one of the tests and the clock, so that even a slow machine stays within the period. */
const spareSlots = 3_000

/** A chain whose slot `last` was some hours ago. */
function chainAt(last: number, epochs = crossedEpochs): BeaconView {
  const genesisTime = Math.floor(Date.now() / 1_000) - (last + spareSlots) * 12
  return new BeaconView(new SimulatedChain(simulatedNetwork(genesisTime, epochs)))
}

async function open(t: Test, view: BeaconView, count = 1): Promise<BeaconServer[]> {
  const servers = Array.from({ length: count }, () => new BeaconServer(view))
  for (const server of servers) {
    await server.start()
    t.teardown(() => server.stop())
  }
  return servers
}

interface Following {
  readonly signed: SignedHead
  /** Reported heads, newest last. */
  readonly heads: HeadClaim[]
  readonly said: string[]
  /** Calls `heard` with each sentence. */
  onSaid(heard: (text: string) => void): void
  /** Settles when it has ended. */
  readonly done: Promise<void>
  end(): Promise<void>
}

function follow(
  t: Test,
  servers: readonly BeaconServer[],
  plan: Partial<BeaconPlan>,
  options: Partial<SignedHeadOptions> = {},
): Following {
  const heads: HeadClaim[] = []
  const said: string[] = []
  const hearers: ((text: string) => void)[] = []
  const ending = new AbortController()
  const nodes = servers.map(({ url }) => ({ url, timeoutMs: 2_000, answerBytesMax: 2 ** 22 }))
  const signed = new SignedHead(
    { nodes, pollMs: 20, ...plan },
    {
      identity: { chainId: '1337', config: '{"chainId":1337}' },
      stored: undefined,
      locate: async (hash) => ({ number: 5, hash, parentHash: hash, unknownFork: undefined }),
      onHead: (claim) => heads.push(claim),
      log: (text) => {
        said.push(text)
        for (const hear of hearers) queueMicrotask(() => hear(text))
      },
      ...options,
    },
  )
  const done = signed.run(ending.signal)
  done.catch(() => undefined)
  const end = async () => {
    ending.abort()
    signed.close()
    await done.catch(() => undefined)
  }
  t.teardown(end)
  const onSaid: Following['onSaid'] = (hear) => void hearers.push(hear)
  return { signed, heads, said, onSaid, done, end }
}

const hashAt = ({ chain }: BeaconView, slot: number) => bytesToHex(chain.executionHash(slot))

t.test('it reaches the newest signed block from a checkpoint, by SSZ and by JSON', async (t) => {
  for (const hasSsz of [true, false]) {
    const start = 5 * slotsPerPeriod + 6_000
    const view = chainAt(start + 300)
    const [server] = (await open(t, view)) as [BeaconServer]
    server.hasSsz = hasSsz
    const checkpoint = view.checkpoint(start)
    view.optimistic = { attested: start + 200, participants: 500 }
    view.finality = { attested: start + 200, finalized: start + 128 }
    const { signed, heads, said } = follow(t, [server], { checkpoint })
    await waitFor('a head', () => heads.length > 0 && signed.finalized !== undefined)
    t.equal(heads.at(-1)?.hash, hashAt(view, start + 200))
    await waitFor('the final block', () => signed.state.finalizedSlot === start + 128)
    view.optimistic = { attested: start + 201, participants: 300 }
    await waitFor('the next', () => heads.at(-1)?.hash === hashAt(view, start + 201))
    t.match(signed.state, { slot: start + 201, participants: 300, finalizedSlot: start + 128 })
    t.equal(signed.state.time, view.chain.network.genesisTime + 12 * (start + 201))
    t.match(said.join(), /the genesis and the forks of the consensus layer come from a beacon node/)
    t.equal(signed.checkpoint?.slot, start + 128)
  }
})

t.test('it passes several periods and forks', async (t) => {
  // Six periods are 6.8 days: Deneb to Gloas.
  const start = slotsPerPeriod + 7_000
  const last = 5 * slotsPerPeriod + 7_000
  const view = chainAt(last)
  const servers = await open(t, view)
  const checkpoint = view.checkpoint(start)
  for (let period = 1; period < 5; period++) {
    const attested = period * slotsPerPeriod + 7_500
    view.updates.set(period, { attested, finalized: attested - 70 })
  }
  view.updates.set(5, { attested: last - 100, finalized: last - 180 })
  view.optimistic = { attested: last }
  const { heads, signed } = follow(t, servers, { checkpoint })
  await waitFor('the head', () => heads.at(-1)?.hash === hashAt(view, last))
  const { network } = view.chain
  for (const round of [1, 2]) {
    const proof = JSON.parse((await signed.prove(checkpoint, hashAt(view, last))) as string)
    t.equal(proof.updates.length, 4, `round ${round}`)
    t.match(verifyHead(proof, { network, checkpoint }), { blockHash: hashAt(view, last), participants: 512 })
    const { updates, ...others } = proof
    t.throws(() => verifyHead({ ...others, updates: updates.slice(1) }, { network, checkpoint }), VerifyError)
  }
  t.equal(await signed.prove(checkpoint, hashAt(view, last - 1)), undefined, 'it was never the head')
})

const isLie = (text: string) => / lied: /.test(text)

/** Shows each answer of a node with another byte in its middle. */
const spoil = (sent: Sent): Sent => {
  const ssz = sent.ssz.slice()
  ssz[ssz.length >> 1] = (ssz[ssz.length >> 1] as number) ^ 1
  return { ...sent, ssz }
}

t.test('a node that lies, stalls, is busy or dies is passed over', async (t) => {
  const start = 2 * slotsPerPeriod + 2_000
  const view = chainAt(start + 100)
  const kinds = {
    lies: (server: BeaconServer) => {
      server.change = spoil
    },
    stalls: (server: BeaconServer) => {
      server.weather = () => ({ kind: 'silent' })
    },
    'sends half an answer': (server: BeaconServer) => {
      server.weather = () => ({ kind: 'half' })
    },
    'is busy': (server: BeaconServer) => {
      server.weather = () => ({ kind: 'status', status: 429, headers: { 'retry-after': '30' } })
    },
    fails: (server: BeaconServer) => {
      server.weather = () => ({ kind: 'status', status: 500 })
    },
    dies: (server: BeaconServer) => void server.stop(),
  }
  for (const [name, turn] of Object.entries(kinds)) {
    const checkpoint = view.checkpoint(start)
    view.optimistic = { attested: start + 10 }
    const [bad, good] = (await open(t, view, 2)) as [BeaconServer, BeaconServer]
    const { signed, heads, said, onSaid, end } = follow(t, [bad, good], { checkpoint })
    // Read at the report: five seconds pass quickly on a busy machine.
    const wereQuarantined = new Promise<readonly boolean[]>((resolve) => {
      onSaid((text) => {
        if (isLie(text)) resolve(signed.state.nodes.map(({ isQuarantined }) => isQuarantined))
      })
    })
    await waitFor('a head', () => heads.length === 1)
    turn(bad)
    // A later answer has nothing new, so that its lie stays undetected. So the other node waits until then.
    if (name === 'lies') good.weather = () => (said.some(isLie) ? fine : { kind: 'status', status: 503 })
    for (const slot of [start + 20, start + 30]) {
      view.optimistic = { attested: slot }
      await waitFor(`slot ${slot} though one ${name}`, () => heads.at(-1)?.hash === hashAt(view, slot))
    }
    if (name === 'lies') {
      t.match(said.join('\n'), /beacon node 127.0.0.1:\d+ lied: .*; it is not asked for 5 s/)
      t.strictSame(await wereQuarantined, [true, false])
    }
    t.equal(signed.trouble, undefined, name)
    await end()
  }
})

t.test('a node that keeps back what is new does not keep the head', async (t) => {
  const start = 2 * slotsPerPeriod + 2_000
  const view = chainAt(start + 100)
  const checkpoint = view.checkpoint(start)
  view.optimistic = { attested: start + 10 }
  const servers = await open(t, view, 2)
  const { heads } = follow(t, servers, { checkpoint })
  await waitFor('a head', () => heads.length === 1)
  const old = new BeaconView(view.chain)
  old.optimistic = { attested: start + 10 }
  for (const server of servers) {
    server.view = old
    for (const other of servers) if (other !== server) other.view = view
    const slot: number = (view.optimistic as { attested: number }).attested + 10
    view.optimistic = { attested: slot }
    await waitFor('the next head', () => heads.at(-1)?.hash === hashAt(view, slot))
  }
  t.pass('each was passed over')
})

t.test('without any node the head stays, and the reason is told', async (t) => {
  const start = 2 * slotsPerPeriod + 2_000
  const view = chainAt(start + 100)
  const checkpoint = view.checkpoint(start)
  view.optimistic = { attested: start + 10 }
  const [server] = (await open(t, view)) as [BeaconServer]
  const { signed, heads } = follow(t, [server], { checkpoint })
  await waitFor('a head', () => heads.length === 1)
  await server.stop()
  await waitFor('the trouble', () => /beacon node 127.0.0.1:\d+: /.test(signed.trouble ?? ''))
  t.equal(signed.state.slot, start + 10)
  await server.start()
  view.optimistic = { attested: start + 11 }
  await waitFor('another head', () => heads.length > 1)
  await waitFor('no trouble', () => signed.trouble === undefined)
  t.pass('it went on')
})

t.test('signatures of too few, of others and for other forks move nothing', async (t) => {
  const start = 2 * slotsPerPeriod + 2_000
  const view = chainAt(start + 100)
  const checkpoint = view.checkpoint(start)
  view.optimistic = { attested: start + 10 }
  const [server] = (await open(t, view)) as [BeaconServer]
  const { heads, said } = follow(t, [server], { checkpoint })
  await waitFor('a head', () => heads.length === 1)
  view.optimistic = { attested: start + 20, participants: 200 }
  const seen = server.asked.length
  await waitFor('more questions', () => server.asked.length > seen + 10)
  t.equal(heads.length, 1)
  view.optimistic = { attested: start + 20, signedBy: 3 }
  await waitFor('a lie', () =>
    said.some((text) => /lied: the signature of slot \d+ is not that of its/.test(text)),
  )
  t.equal(heads.length, 1)
})

t.test('it goes on from the checkpoint of the store, unless another one is given', async (t) => {
  const start = 3 * slotsPerPeriod + 2_000
  const view = chainAt(start + 300)
  const anchor = view.checkpoint(start)
  const later = view.checkpoint(start + 128)
  view.optimistic = { attested: start + 200 }
  const servers = await open(t, view)
  const stored = { root: hexToBytes(later), slot: start + 128, anchor: hexToBytes(anchor) }
  const askedFor = (root: string) => servers[0]?.asked.some((path) => path.endsWith(root)) === true
  for (const checkpoint of [undefined, anchor]) {
    const { heads, end } = follow(t, servers, { checkpoint }, { stored })
    await waitFor('a head', () => heads.length === 1)
    await end()
    t.ok(askedFor(later))
    t.notOk(askedFor(anchor))
  }
  const other = view.checkpoint(start + 160)
  const { heads, signed } = follow(t, servers, { checkpoint: other }, { stored })
  await waitFor('a head', () => heads.length === 1)
  t.ok(askedFor(other))
  t.equal(bytesToHex(signed.checkpoint?.anchor as Hash32), other)
})

t.test('a checkpoint that is too old, or none, is refused with what to do', async (t) => {
  t.throws(() => follow(t, [], {}), /begins at a checkpoint that you trust.*--checkpoint ROOT/)
  const view = chainAt(10 * slotsPerPeriod)
  const checkpoint = view.checkpoint(3 * slotsPerPeriod)
  const servers = await open(t, view)
  const why =
    /the checkpoint is of slot 24576, \d+.\d days ago, .*take a newer one from a source that you trust/
  const { done } = follow(t, servers, { checkpoint })
  await t.rejects(done, { constructor: OperatorError, message: why })
  const root = hexToBytes(checkpoint)
  const stored = { root, slot: 3 * slotsPerPeriod, anchor: root }
  const { done: ofStore } = follow(t, servers, {}, { stored })
  await t.rejects(ofStore, { constructor: OperatorError, message: why })
})

t.test('a checkpoint that no node has is told', async (t) => {
  const view = chainAt(2 * slotsPerPeriod)
  const servers = await open(t, view)
  const { signed } = follow(t, servers, { checkpoint: `0x${'ab'.repeat(32)}` })
  await waitFor('the trouble', () =>
    /no beacon node has a bootstrap for the checkpoint 0xabab/.test(signed.trouble ?? ''),
  )
  t.pass('reported')
})

t.test('a network of another preset is refused', async (t) => {
  const view = chainAt(2 * slotsPerPeriod)
  const [server] = (await open(t, view)) as [BeaconServer]
  server.weather = (path) =>
    path.endsWith('spec')
      ? {
          kind: 'status',
          status: 200,
          headers: { 'content-type': 'application/json' },
          body: '{"data":{"SLOTS_PER_EPOCH":"16"}}',
        }
      : { kind: 'fine' }
  const { done } = follow(t, [server], { checkpoint: `0x${'ab'.repeat(32)}` })
  await t.rejects(done, /SLOTS_PER_EPOCH 16, and only 32 is known here/)
})

t.test('a block that no upstream has yet is asked for again', async (t) => {
  const start = 2 * slotsPerPeriod + 2_000
  const view = chainAt(start + 100)
  const checkpoint = view.checkpoint(start)
  view.optimistic = { attested: start + 10 }
  let isThere = false
  const locate: SignedHeadOptions['locate'] = async (hash) =>
    isThere ? { number: 5, hash, parentHash: hash, unknownFork: undefined } : undefined
  const { signed, heads } = follow(t, await open(t, view), { checkpoint }, { locate })
  await waitFor('the trouble', () => /no upstream has the signed block/.test(signed.trouble ?? ''))
  t.equal(heads.length, 0)
  isThere = true
  await waitFor('the head', () => heads.length === 1)
  await waitFor('no trouble', () => signed.trouble === undefined)
  t.pass('it is the head')
})
