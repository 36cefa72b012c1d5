import t from 'tap'
import { readBootstrap, readUpdate, type UpdateKind } from '../../../../src/sources/consensus/containers.js'
import { beaconBlockHeader, type LightClientUpdate } from '../../../../src/sources/consensus/gloasForm.js'
import { knownConsensus } from '../../../../src/sources/consensus/knownNetworks.js'
import { isInvalid, LightClient, LightClientError } from '../../../../src/sources/consensus/lightClient.js'
import { type ConsensusNetwork, periodAt, slotsPerPeriod } from '../../../../src/sources/consensus/network.js'
import { participantsOf, type SyncCommittee } from '../../../../src/sources/consensus/syncCommittee.js'
import { checkpointOf } from '../../../consensus/committees.js'
import { readPortal, skipPortal } from '../../../consensus/portalData.js'
import { Dice, propertyRuns, runsFactor } from '../../../library/property.js'

const network = knownConsensus(1) as ConsensusNetwork

/** Some bytes, and their effect on a light client; throws if they are refused. */
interface Case {
  readonly name: string
  readonly bytes: Uint8Array
  readonly take: (bytes: Uint8Array) => LightClient
}

/**
 * A light client that knows the committee of the period of an update, and processes the update at the time of its
 * signature.
 */
function updateCase(name: string, kind: UpdateKind, bytes: Uint8Array, committee: SyncCommittee): Case {
  const { attestedHeader, signatureSlot } = readUpdate(network, kind, bytes)
  const begin = periodAt(attestedHeader.beacon.slot) * slotsPerPeriod
  const { bootstrap, root } = checkpointOf(network, begin, committee)
  const take = (changed: Uint8Array) => {
    const client = new LightClient(network, bootstrap, root)
    client.process(readUpdate(network, kind, changed), signatureSlot)
    return client
  }
  return { name, bytes, take }
}

function casesOf(fork: 'capella' | 'deneb'): Case[] {
  const [bytes = new Uint8Array()] = readPortal(fork, 'bootstrap')
  const bootstrap = readBootstrap(network, bytes)
  const checkpoint = beaconBlockHeader.root(bootstrap.header.beacon)
  const period = periodAt(bootstrap.header.beacon.slot)
  const committees = new Map([[period, bootstrap.committee]])
  const updates = readPortal(fork, 'updates')
  for (const each of updates) {
    const { attestedHeader, next } = readUpdate(network, 'update', each)
    committees.set(periodAt(attestedHeader.beacon.slot) + 1, next?.committee as SyncCommittee)
  }
  const latest = [
    ['finalityUpdate', 'finality_update'],
    ['optimisticUpdate', 'optimistic_update'],
  ] as const
  const kinds: (readonly [name: string, kind: UpdateKind, bytes: Uint8Array])[] = [
    ...updates.map((each, index) => [`update ${index}`, 'update', each] as const),
    ...latest.map(([kind, name]) => [name, kind, readPortal(fork, name)[0] as Uint8Array] as const),
  ]
  return [
    {
      name: `${fork} bootstrap`,
      bytes,
      take: (changed) => new LightClient(network, readBootstrap(network, changed), checkpoint),
    },
    ...kinds.flatMap(([name, kind, each]) => {
      const slot = readUpdate(network, kind, each).attestedHeader.beacon.slot
      const committee = committees.get(periodAt(slot))
      return committee === undefined ? [] : [updateCase(`${fork} ${name}`, kind, each, committee)]
    }),
  ]
}

const cases = skipPortal ? [] : [...casesOf('capella'), ...casesOf('deneb')]

t.test('bootstraps and updates of mainnet verify', { skip: skipPortal }, async (t) => {
  t.equal(cases.length, 11)
  for (const { name, bytes, take } of cases) t.doesNotThrow(() => take(bytes), name)
})

t.test('two periods of Deneb follow from one checkpoint', { skip: skipPortal }, async (t) => {
  const [bytes = new Uint8Array()] = readPortal('deneb', 'bootstrap')
  const bootstrap = readBootstrap(network, bytes)
  const client = new LightClient(network, bootstrap, beaconBlockHeader.root(bootstrap.header.beacon))
  const updates: LightClientUpdate[] = [
    ...readPortal('deneb', 'updates').map((each) => readUpdate(network, 'update', each)),
    readUpdate(network, 'finalityUpdate', readPortal('deneb', 'finality_update')[0] as Uint8Array),
    readUpdate(network, 'optimisticUpdate', readPortal('deneb', 'optimistic_update')[0] as Uint8Array),
  ]
  for (const update of updates) client.process(update, update.signatureSlot)
  t.equal(client.finalized.header.beacon.slot, 10_248_384)
  t.equal(client.optimistic.header.beacon.slot, 10_248_457)
  const bits = (updates.at(-1) as LightClientUpdate).syncAggregate.syncCommitteeBits
  t.equal(client.optimistic.participants, participantsOf(bits).length)
})

/** Whether one changed byte makes the data refused. */
function isRefused({ bytes, take }: Case, at: number, bits: number): boolean {
  const changed = bytes.slice()
  changed[at] = (bytes[at] as number) ^ bits
  try {
    take(changed)
    return false
  } catch (error) {
    if (isInvalid(error) || error instanceof LightClientError) return true
    throw error
  }
}

t.test('with any byte changed they do not', { skip: skipPortal }, async (t) => {
  const { numRuns = 0, seed = 0 } = propertyRuns(40)
  const dice = new Dice(seed)
  for (let run = 0; run < numRuns; run++) {
    // Half of the bytes are of the small parts around the committee, which take most of the space.
    const one = cases[dice.throw(cases.length)] as Case
    const { length } = one.bytes
    const near = Math.min(length, 1_200)
    const place = run % 2 === 0 ? dice.throw(length) : dice.throw(near) + dice.throw(2) * (length - near)
    const bits = 1 + dice.throw(255)
    if (!isRefused(one, place, bits)) t.fail(`${one.name}: byte ${place} changed by ${bits}`)
  }
  t.pass(`${numRuns} changes`)
})

// Each of the bytes of the small updates, one bit of it: two minutes.
t.test(
  'each byte of a small update counts',
  { skip: skipPortal || (runsFactor < 10 && 'RUNS=10 runs it') },
  async (t) => {
    for (const one of cases.filter(({ bytes }) => bytes.length < 5_000)) {
      const passed = Array.from(one.bytes.keys()).filter((at) => !isRefused(one, at, 1 << (at % 8)))
      t.strictSame(passed, [], `${one.name}, ${one.bytes.length} bytes`)
    }
  },
)
