/**
 * The stored values of a gateway equal the chain's, with each method of keeping them current, through reorganisations
 * and gaps.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { decodeAccount } from '../../../src/data/state/account.js'
import { openRows } from '../../../src/data/state/provedRows.js'
import type { ChainReader } from '../../../src/data/store/chainReader.js'
import { type Address, type Hash32, hexToBytes, padLeft } from '../../../src/primitives/bytes.js'
import { NotStoredError } from '../../../src/primitives/notStored.js'
import { amsterdamFile, readAmsterdamBlocks, withoutAmsterdam } from '../../ingest/amsterdam.js'
import { makeAmsterdamReplay } from '../../ingest/amsterdamReplay.js'
import { GatewayProcess } from '../../ingest/gatewayProcess.js'
import { ArchiveNode, GatewayRig, type Offer, type Place } from '../../ingest/gatewayRig.js'
import { makeFolder } from '../../library/folder.js'
import { Dice, propertyRuns, runsFactor, someOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'

/** Accounts that blocks touch, with slots that they read or write. */
function subjectsOf(most: number): Place[] {
  const slots = new Map<string, Set<string>>()
  for (const { blockAccessList = [] } of readAmsterdamBlocks('a1-cross')) {
    for (const { address, storageChanges, storageReads } of blockAccessList) {
      const own = slots.get(address) ?? new Set<string>()
      slots.set(address, own)
      for (const { slot } of storageChanges ?? []) if (own.size < 12) own.add(slot)
      for (const slot of storageReads ?? []) if (own.size < 12) own.add(slot)
    }
  }
  const wide = (slot: string) => {
    const digits = slot.slice(2)
    return padLeft(
      hexToBytes(`0x${digits.length % 2 === 0 ? digits : `0${digits}`}`),
      32,
    ) as Uint8Array as Hash32
  }
  return [...slots].slice(0, most).map(([address, own]) => ({
    address: hexToBytes(address) as Uint8Array as Address,
    slots: [...own].map(wide),
  }))
}

const subjects = withoutAmsterdam ? [] : subjectsOf(Math.min(300, 30 * runsFactor))

/** Reads all subjects at the head, and fetches missing ones. */
async function warmUp(rig: GatewayRig): Promise<void> {
  for (const { address, slots } of subjects) {
    const { number } = rig.rows.readHead() as { number: number }
    const row = await rig.read((rows) => rows.readAccountAt(address, number))
    const account = row && decodeAccount(row)
    if (account !== undefined) await rig.read((rows) => rows.readSlotAt(address, slots[0] ?? noSlot, number))
    for (const slot of slots) await rig.read((rows) => rows.readSlotAt(address, slot, number))
  }
}

const noSlot = new Uint8Array(32) as Hash32

interface Compared {
  readonly wrong: string[]
  readonly unknown: number
  readonly held: number
}

/** Compares all values stored at a block with the archive; nothing is fetched. */
function compare(rig: Pick<GatewayRig, 'tryRead'>, archive: ArchiveNode, number: number): Compared {
  const wrong: string[] = []
  let unknown = 0
  let held = 0
  const check = (what: string, got: { readonly value: unknown } | undefined, want: unknown) => {
    if (got === undefined) unknown++
    else {
      held++
      const text = (value: unknown) =>
        JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each))
      if (text(got.value) !== text(want))
        wrong.push(`block ${number}, ${what}: ${text(got.value)}, expected ${text(want)}`)
    }
  }
  // The storage root may be unknown here.
  const fields = (row: Uint8Array | undefined) => {
    if (row === undefined) return undefined
    const { nonce, balance, codeHash } = decodeAccount(row)
    return { nonce, balance, codeHash: Buffer.from(codeHash).toString('hex') }
  }
  const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('hex')
  for (const { address, slots } of subjects) {
    const name = Buffer.from(address).toString('hex')
    check(
      name,
      rig.tryRead((rows) => fields(rows.readAccountAt(address, number))),
      fields(archive.store.readAccountAt(address, number)),
    )
    for (const slot of slots) {
      check(
        `${name} ${hex(slot)}`,
        rig.tryRead((rows) => hex(rows.readSlotAt(address, slot, number))),
        hex(archive.store.readSlotAt(address, slot, number)),
      )
    }
  }
  return { wrong, unknown, held }
}

const ways: readonly (readonly [name: string, offers: readonly Offer[], way: string])[] = [
  ['access lists', ['accessList'], 'accessList'],
  ['access lists as JSON', ['accessListJson'], 'accessList'],
  ['witnesses', ['witness'], 'witness'],
  ['proofs in advance', [], 'proofs'],
]

/** Imports a block, reports it to the gateway, and waits until it has it. */
async function step(rig: GatewayRig, archive: ArchiveNode, rlp: Uint8Array): Promise<void> {
  await archive.take(rlp)
  archive.tell()
  await rig.reached(archive.head)
}

async function openArchive(
  t: Test,
  offers: readonly Offer[],
  blocks: readonly { readonly rlp: Uint8Array }[],
) {
  const archive = await ArchiveNode.open(
    t,
    readFileSync(amsterdamFile('a1-cross', 'genesis.json'), 'utf8'),
    offers,
  )
  await archive.takeAll(blocks)
  return archive
}

async function openRig(t: Test, offers: readonly Offer[], blocks: readonly { readonly rlp: Uint8Array }[]) {
  const archive = await openArchive(t, offers, blocks)
  return { archive, rig: await GatewayRig.open(t, [archive]) }
}

for (const [name, offers, way] of someOf(ways, 2)) {
  t.test(
    `what is held is current with one request a head: ${name}`,
    { skip: withoutAmsterdam },
    async (t) => {
      const from = 44
      const length = 44 + 8 * runsFactor
      const { blocks } = await makeAmsterdamReplay(t, { length, from, intervalMs: 0 })
      const { archive, rig } = await openRig(t, offers, blocks.slice(0, from))
      await warmUp(rig)
      t.ok(rig.fetched > subjects.length / 2, `${rig.fetched} things were fetched at first`)
      // The first head shows which methods the node has.
      for (const { rlp } of blocks.slice(from, from + 2)) await step(rig, archive, rlp)
      await warmUp(rig)
      for (const { rlp, number } of blocks.slice(from + 2)) {
        const before = archive.requests.length
        await step(rig, archive, rlp)
        const { wrong, unknown, held } = compare(rig, archive, number)
        t.strictSame(wrong.slice(0, 3), [], `block ${number}: ${held} values`)
        t.equal(unknown, 0, `block ${number}: nothing is unknown`)
        const asked = archive.requests.slice(before)
        t.equal(
          asked.length,
          1,
          `block ${number}: ${JSON.stringify(asked.map((calls) => calls.map(({ method }) => method)))}`.slice(
            0,
            300,
          ),
        )
        const older = compare(rig, archive, number - 2)
        t.strictSame(older.wrong.slice(0, 3), [], `two blocks below: ${older.held} values`)
      }
      const figures = rig.messages.findLast((message) => message.type === 'upstream')
      t.match(figures, { state: { workingSet: { way } } })
    },
  )
}

/**
 * A chain with two reorganisations after block `from`, at which everything is proved, and no deeper. If transactions
 * cannot be run again on the first block of a branch, the branch begins elsewhere.
 */
async function playReorganisations(t: Test, dice: Dice, from: number) {
  const depthMax = runsFactor > 1 ? 64 : 8
  for (;;) {
    const after = [from + 3, from + 3 + depthMax]
    const reorganisations = after.map((number) => {
      const back = 1 + dice.throw(Math.min(64, number - from))
      return { after: number, back, blocks: back + dice.throw(2) }
    })
    const depths = reorganisations.map(({ back }) => back)
    try {
      const length = from + 6 + depthMax
      return { ...(await makeAmsterdamReplay(t, { length, from, intervalMs: 0, reorganisations })), depths }
    } catch (error) {
      if (!(error instanceof Error) || !/is invalid: transaction/.test(error.message)) throw error
    }
  }
}

t.test(
  'reorganisations leave no stale value, and cost no proof of it',
  { skip: withoutAmsterdam },
  async (t) => {
    const dice = new Dice(propertyRuns(1).seed as number)
    const offered = someOf([['accessList'], ['witness'], []] as const, 1)
    for (let round = 0; round < offered.length * runsFactor; round++) {
      const offers = offered[round % offered.length] as readonly Offer[]
      const from = 60
      const { blocks, heads, depths } = await playReorganisations(t, dice, from)
      const { archive, rig } = await openRig(t, offers, blocks.slice(0, from))
      await warmUp(rig)
      let stale = 0
      let unknown = 0
      for (const { rlp } of heads.slice(1)) {
        // Some blocks are reported only after later ones.
        if (heads.at(-1)?.rlp !== rlp && dice.throw(4) === 0) {
          await archive.take(rlp)
          continue
        }
        await step(rig, archive, rlp)
        const { number } = archive.head
        for (const below of [0, 1, 5]) {
          const found = compare(rig, archive, number - below)
          stale += found.wrong.length
          if (found.wrong.length > 0) t.comment(found.wrong[0])
          if (below === 0) unknown += found.unknown
        }
        if (offers.length === 0) await warmUp(rig)
      }
      t.equal(stale, 0, `${heads.length} heads, reorganisations of ${depths.join(' and ')} blocks`)
      if (offers.length > 0) t.equal(unknown, 0, 'nothing had to be proved again')
      t.notMatch(rig.said, /lied|differs from its stored state/)
      await rig.stop()
    }
  },
)

t.test('a read of thousands of slots takes some fetches', { skip: withoutAmsterdam }, async (t) => {
  const { blocks } = await makeAmsterdamReplay(t, { length: 50, from: 44, intervalMs: 0 })
  const { archive, rig } = await openRig(t, ['accessList'], blocks)
  const { number } = archive.head
  const { address } = subjects.find(({ slots }) => slots.length === 12) as Place
  const slots = Array.from({ length: 3_000 }, (_, at) => {
    return Uint8Array.from({ length: 32 }, (_, byte) => [at >> 8, at][byte - 30] ?? 0) as Hash32
  })
  const readAll = (rows: ChainReader) => slots.map((slot) => rows.readSlotAt(address, slot, number))
  t.strictSame(await rig.read(readAll), readAll(archive.store))
  t.ok(rig.fetched < 1_000, `${rig.fetched} fetches`)
})

t.test('after a gap everything is proved again', { skip: withoutAmsterdam }, async (t) => {
  const gaps = 2 * runsFactor
  const { blocks } = await makeAmsterdamReplay(t, { length: 60 + 11 * gaps, from: 44, intervalMs: 0 })
  const archive = await openArchive(t, ['accessList'], blocks.slice(0, 50))
  const rig = await GatewayRig.open(t, [archive], { historyBlocks: 8 })
  await warmUp(rig)
  let next = 50
  const play = async (count: number) => {
    for (const { rlp } of blocks.slice(next, next + count)) await step(rig, archive, rlp)
    next += count
  }
  for (let gap = 0; gap < gaps; gap++) {
    await play(1)
    t.strictSame(countsOf(rig, archive), { wrong: 0, unknown: 0 })
    // Half of them are longer than the headers that are linked; at the others the lists are not to be had.
    const isLong = gap % 2 === 0
    if (isLong) await archive.takeAll(blocks.slice(next, next + 8))
    else archive.offers = new Set()
    if (isLong) next += 8
    await play(1)
    const { wrong, unknown } = countsOf(rig, archive)
    t.equal(wrong, 0)
    t.ok(
      unknown > 0 || !isLong,
      `${unknown} values are not known after ${isLong ? 'a long gap' : 'a block without its list'}`,
    )
    archive.offers = new Set(['accessList'])
    await warmUp(rig)
    t.strictSame(countsOf(rig, archive), { wrong: 0, unknown: 0 }, 'all is proved again')
  }
})

t.test(
  'what is pinned is held whole, and what is dropped is fetched again',
  { skip: withoutAmsterdam },
  async (t) => {
    const { blocks } = await makeAmsterdamReplay(t, { length: 60, from: 44, intervalMs: 0 })
    const archive = await openArchive(t, ['accessList', 'enumeration'], blocks.slice(0, 50))
    const pinned = subjects.find(({ slots, address }) => {
      return slots.length > 3 && [...archive.store.slotsOfAt(address, 50)].length > 3
    }) as Place
    const watch = [`0x${Buffer.from(pinned.address).toString('hex')}`]
    // Less than any value takes, so that all other values are dropped with each head.
    const rig = await GatewayRig.open(t, [archive], { workingSet: { watch, maxMB: 0 } })
    const isWhole = () => {
      const reported = rig.messages.findLast((message) => message.type === 'upstream')
      return reported?.type === 'upstream' && reported.state.workingSet?.whole === 1
    }
    // Each attempt begins with a head. If it takes longer than a block, it is repeated with the next head.
    let next = 50
    await waitFor('the pinned contract', async () => {
      if (!isWhole() && next < 56) await step(rig, archive, (blocks[next++] as { rlp: Uint8Array }).rlp)
      return isWhole()
    })
    for (const { rlp } of blocks.slice(next)) await step(rig, archive, rlp)
    const { number } = archive.head
    const everySlot = [...archive.store.slotsOfAt(pinned.address, number)]
    for (const [slot, value] of everySlot) {
      t.strictSame(
        rig.tryRead((rows) => Buffer.from(rows.readSlotAt(pinned.address, slot, number) ?? [])),
        {
          value: Buffer.from(value),
        },
      )
    }
    const never = new Uint8Array(32).fill(7) as Hash32
    t.strictSame(
      rig.tryRead((rows) => rows.readSlotAt(pinned.address, never, number)),
      { value: undefined },
    )
    await warmUp(rig)
    t.strictSame(compare(rig, archive, number).wrong, [])
  },
)

t.test(
  'a gateway that is killed between heads holds nothing stale',
  { skip: withoutAmsterdam },
  async (t) => {
    const kills = Number(process.env.KILLS ?? 1)
    const { blocks, heads } = await makeAmsterdamReplay(t, {
      length: kills > 2 ? 200 : 90,
      from: 60,
      intervalMs: 0,
      reorganisations: (kills > 2 ? [65, 80, 100, 120, 140] : [65, 80]).map((after) => ({
        after,
        back: 4,
        blocks: 5,
      })),
    })
    const dice = new Dice(propertyRuns(kills).seed as number)
    const archive = await openArchive(t, ['accessList'], blocks.slice(0, 60))
    const folder = makeFolder(t)
    let next = 1
    let held = 0
    for (let kill = 0; kill < kills; kill++) {
      const gateway = await GatewayProcess.start(folder, archive)
      const asking = gateway.fetchAll(archive, subjects)
      for (let count = 1 + dice.throw(4); count > 0 && next < heads.length; count--) {
        await archive.take((heads[next++] as { rlp: Uint8Array }).rlp)
        archive.tell()
        await gateway.reported()
      }
      await gateway.kill()
      await asking
      const rows = openRows({ path: join(folder, 'gateway.mdb'), mapBytes: 2 ** 30 })
      const { number, hash } = rows.readHead() as { number: number; hash: Uint8Array }
      // The gateway may have been killed before it stored the newest blocks, and some of its blocks may have left the
      // chain.
      if (archive.store.isCanonical(number, hash)) {
        const read = <T>(of: (reader: typeof rows) => T) => tryWith(rows, of)
        const found = compare({ tryRead: read }, archive, number)
        t.strictSame(found.wrong.slice(0, 3), [], `killed at block ${number} with ${found.held} values`)
        held += found.held
      }
      await rows.close()
    }
    const rig = await GatewayRig.open(t, [archive], { folder })
    await rig.reached(archive.head)
    await warmUp(rig)
    t.strictSame(countsOf(rig, archive), { wrong: 0, unknown: 0 })
    t.comment(`${held} values were held when it was killed`)
  },
)

function tryWith<T>(rows: ChainReader, read: (rows: ChainReader) => T): { readonly value: T } | undefined {
  try {
    return { value: read(rows) }
  } catch (error) {
    if (error instanceof NotStoredError) return undefined
    throw error
  }
}

function countsOf(
  rig: GatewayRig,
  archive: ArchiveNode,
): { readonly wrong: number; readonly unknown: number } {
  const { wrong, unknown } = compare(rig, archive, archive.head.number)
  return { wrong: wrong.length, unknown }
}
