import t, { type Test } from 'tap'
import { readBootstrap, readUpdate } from '../../../../src/sources/consensus/containers.js'
import { LightClient, LightClientError, staleness } from '../../../../src/sources/consensus/lightClient.js'
import {
  type ConsensusNetwork,
  formAt,
  slotsPerEpoch,
  slotsPerPeriod,
  weakSubjectivitySlots,
} from '../../../../src/sources/consensus/network.js'
import {
  crossedEpochs,
  type Sent,
  SimulatedChain,
  simulatedNetwork,
  type UpdateParts,
} from '../../../consensus/simulatedChain.js'

const network = simulatedNetwork()
const chain = new SimulatedChain(network)
const start = 10 * slotsPerEpoch

function begin(slot = start): LightClient {
  return new LightClient(network, readBootstrap(network, chain.bootstrap(slot).ssz), chain.root(slot))
}

/** Processes an update, from SSZ or JSON, at the time of its signature. */
function take(
  client: LightClient,
  parts: UpdateParts,
  sent: Sent = chain.update(parts),
  isJson = false,
): void {
  const update = readUpdate(network, parts.kind ?? 'update', isJson ? { json: sent.json } : sent.ssz)
  client.process(update, update.signatureSlot)
}

const slotsOf = (client: LightClient) => [
  client.finalized.header.beacon.slot,
  client.optimistic.header.beacon.slot,
]

t.test('a chain is followed through all forks and rotations of its committee', async (t) => {
  const client = begin()
  const forms = new Set<string>()
  for (let period = 0; period < 8; period++) {
    const attested = period * slotsPerPeriod + slotsPerPeriod / 2
    // In every other period, the finalized block is of the previous fork, if it was in that period.
    const finalized = attested - 64
    forms.add(formAt(network, attested) as string)
    take(client, { attested, finalized }, undefined, period % 2 === 0)
    t.strictSame(slotsOf(client), [finalized, attested], `period ${period}`)
    const head = attested + 200
    take(client, { attested: head, kind: 'optimisticUpdate', participants: 400 })
    t.equal(client.optimistic.participants, 400)
    take(
      client,
      { attested: head + 32, finalized: head - 32, kind: 'finalityUpdate' },
      undefined,
      period % 2 === 1,
    )
    t.strictSame(slotsOf(client), [head - 32, head + 32])
  }
  t.strictSame([...forms], ['capella', 'deneb', 'electra', 'gloas'])
})

t.test('the first blocks of a fork finalize blocks of the one before', async (t) => {
  for (const name of ['deneb', 'electra', 'fulu', 'gloas']) {
    const first = (crossedEpochs[name] as number) * slotsPerEpoch
    const client = begin(first - 40)
    // For a fork at the start of a period, the committee of the next period must be known.
    if (first % slotsPerPeriod === 0) take(client, { attested: first - 36, finalized: first - 38 })
    take(client, { attested: first, finalized: first - 32 })
    t.strictSame(slotsOf(client), [first - 32, first], name)
    take(client, { attested: first + 1, finalized: first })
    t.strictSame(slotsOf(client), [first, first + 1], name)
  }
})

t.test('the execution block is the one that the header names', async (t) => {
  const client = begin()
  const name = (slot: number) => Buffer.from(chain.update({ attested: slot, kind: 'optimisticUpdate' }).ssz)
  t.notOk(name(start + 5).includes(Buffer.from(client.optimistic.header.executionBlockHash)))
  take(client, { attested: start + 5, kind: 'optimisticUpdate' })
  t.ok(name(start + 5).includes(Buffer.from(client.optimistic.header.executionBlockHash)))
})

function refuses(t: Test, client: LightClient, kind: string, message: RegExp, take: () => void) {
  const before = slotsOf(client)
  try {
    take()
    t.fail(`taken, though ${message}`)
  } catch (error) {
    t.ok(error instanceof LightClientError, String(error))
    t.equal((error as LightClientError).kind, kind)
    t.match((error as Error).message, message)
  }
  t.strictSame(slotsOf(client), before)
}

t.test('a period that is skipped stops the client until the update of that period comes', async (t) => {
  const client = begin()
  const third = 2 * slotsPerPeriod + 500
  const why = /signed by the sync committee of period 2, and that of 0 is the last/
  refuses(t, client, 'unusable', why, () => take(client, { attested: third, finalized: third - 64 }))
  take(client, { attested: start + 100, finalized: start + 50 })
  refuses(t, client, 'unusable', /and that of 1 is the last/, () => take(client, { attested: third }))
  const second = slotsPerPeriod + 500
  take(client, { attested: second, finalized: second - 64 })
  take(client, { attested: third, finalized: third - 64 })
  t.strictSame(slotsOf(client), [third - 64, third])
})

t.test('less than two thirds finalize nothing, and less than half of the best move no head', async (t) => {
  const client = begin()
  take(client, { attested: start + 100, finalized: start + 32 })
  take(client, { attested: start + 140, finalized: start + 64, participants: 341 })
  t.strictSame(slotsOf(client), [start + 32, start + 140])
  take(client, { attested: start + 141, finalized: start + 64, participants: 342 })
  t.strictSame(slotsOf(client), [start + 64, start + 141])
  take(client, { attested: start + 150, kind: 'optimisticUpdate', participants: 256 })
  t.strictSame(slotsOf(client), [start + 64, start + 141])
  take(client, { attested: start + 151, kind: 'optimisticUpdate', participants: 257 })
  t.strictSame(slotsOf(client), [start + 64, start + 151])
  refuses(t, client, 'invalid', /nobody signed/, () =>
    take(client, { attested: start + 160, participants: 0 }),
  )
})

t.test('signatures of others, or for other forks, are refused', async (t) => {
  const client = begin()
  const attested = start + 100
  const notSigned = /the signature of slot 420 is not that of its sync committee/
  refuses(t, client, 'invalid', notSigned, () => take(client, { attested, signedBy: 1 }))
  const signedFor = simulatedNetwork(0, { ...crossedEpochs, deneb: 0 })
  refuses(t, client, 'invalid', notSigned, () => take(client, { attested, signedFor }))
  const elsewhere: ConsensusNetwork = { ...network, genesisValidatorsRoot: new Uint8Array(32) }
  refuses(t, client, 'invalid', notSigned, () => take(client, { attested, signedFor: elsewhere }))
  // The version is that of the slot before the signature.
  const deneb = (crossedEpochs.deneb as number) * slotsPerEpoch
  take(begin(deneb - 100), { attested: deneb - 1, signature: deneb })
  const late = begin(deneb - 100)
  refuses(t, late, 'invalid', /the signature of slot/, () => {
    take(late, { attested: deneb - 1, signature: deneb, signedFor })
  })
})

t.test('an update that is of the past, of the future or signed before its block is refused', async (t) => {
  const client = begin()
  take(client, { attested: start + 100, finalized: start + 50 })
  refuses(t, client, 'unusable', /slot 360, and slot 370 is final/, () =>
    take(client, { attested: start + 40 }),
  )
  const early = readUpdate(network, 'update', chain.update({ attested: start + 200 }).ssz)
  refuses(t, client, 'unusable', /signed at slot 521, and the clock of this machine says 519/, () =>
    client.process(early, start + 199),
  )
  refuses(t, client, 'invalid', /was signed at slot 520, is of slot 520/, () =>
    take(client, { attested: start + 200, signature: start + 200 }),
  )
})

t.test('a bootstrap has to be that of the checkpoint', async (t) => {
  const bootstrap = readBootstrap(network, chain.bootstrap(start).ssz)
  t.throws(
    () => new LightClient(network, bootstrap, chain.root(start + 1)),
    /another block than the checkpoint/,
  )
  const other = readBootstrap(network, chain.bootstrap(start + slotsPerPeriod).ssz)
  t.throws(
    () => new LightClient(network, { ...bootstrap, committee: other.committee }, chain.root(start)),
    /the sync committee is not that of the checkpoint/,
  )
  const header = { ...bootstrap.header, executionBlockHash: new Uint8Array(32) }
  t.throws(
    () => new LightClient(network, { ...bootstrap, header }, chain.root(start)),
    /does not have the execution block that it names/,
  )
})

t.test('without finality for a period the best update is taken', async (t) => {
  const client = begin()
  take(client, { attested: start + 100, finalized: start + 50 })
  const late = slotsPerPeriod - 20
  take(client, { attested: late - 5, participants: 300 })
  take(client, { attested: late })
  take(client, { attested: late + 2, participants: 500 })
  t.strictSame(slotsOf(client), [start + 50, late + 2])
  t.notOk(client.forceUpdate(start + 50 + slotsPerPeriod))
  t.ok(client.forceUpdate(start + 51 + slotsPerPeriod))
  t.strictSame(slotsOf(client), [late, late + 2])
  t.notOk(client.forceUpdate(start + 51 + slotsPerPeriod), 'it was the only one')
  take(client, { attested: slotsPerPeriod + 30, participants: 400 })
  t.ok(client.forceUpdate(late + slotsPerPeriod + 1))
  t.equal(client.finalized.header.beacon.slot, slotsPerPeriod + 30, 'the next committee signs')
})

t.test('without the next committee it is not taken', async (t) => {
  const client = begin()
  take(client, { attested: start + 10, kind: 'optimisticUpdate' })
  t.notOk(client.forceUpdate(start + slotsPerPeriod + 1))
})

t.test('a checkpoint is too old after a week', async (t) => {
  t.equal(staleness(1_000, 1_000 + weakSubjectivitySlots), undefined)
  t.match(
    staleness(1_000, 1_001 + weakSubjectivitySlots),
    /^the checkpoint is of slot 1000, 7.0 days ago, .* take a newer one from a source that you trust \(--checkpoint\)$/,
  )
})
