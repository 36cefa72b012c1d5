// @shares
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { ForkSchedule } from '../../../../src/data/chain/forks.js'
import type { Change } from '../../../../src/data/store/blockDiff.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import {
  BlockDiffError,
  type BlockDiffParts,
  blockDiffVersion,
  decodeBlockDiff,
  encodeBlockDiff,
  readBlockDiffParts,
} from '../../../../src/sources/feed/blockDiffCodec.js'
import { BlockDiffVerifier, previousState } from '../../../../src/sources/feed/verifyBlockDiff.js'
import {
  frontierConfig,
  londonConfig,
  mergedConfig,
  mergingConfig,
  testGenesis,
} from '../../../ingest/chainMaker.js'
import { propertyRuns } from '../../../library/property.js'
import { fixtureDir } from '../../../service/fixtures.js'
import { storePathOf } from '../../../service/program.js'
import { dumpStore } from '../../../store/storeDump.js'
import { executedChain, newStore } from '../../../unit/sources/feed/blockDiffs.js'

const all = { sendersChecked: Number.POSITIVE_INFINITY }
const chains = {
  Frontier: testGenesis(frontierConfig()),
  London: testGenesis(londonConfig()),
  merging: testGenesis(mergingConfig(3)),
  merged: testGenesis(mergedConfig(), { difficulty: '0x0' }),
}

for (const [name, genesis] of Object.entries(chains)) {
  t.test(
    `a store fed with the block diffs of a ${name} chain is equal to the one that executed it`,
    async (t) => {
      const executed = await executedChain(t, genesis)
      const fed = newStore(t, executed.genesisText)
      const verifier = new BlockDiffVerifier(fed.schedule, { sendersChecked: 1 })
      for (const parts of executed.sent) {
        const previous = previousState(fed.store)
        fed.store.apply(previous.number, [
          verifier.verifyBlockDiff(previous, decodeBlockDiff(encodeBlockDiff(parts))),
        ])
      }
      t.strictSame(dumpStore(fed.store), dumpStore(executed.store))
    },
  )
}

t.test('a store fed with the demo chain is equal to the one that executed it', async (t) => {
  const source = ChainReader.open({ path: storePathOf(fixtureDir, 'demo') })
  t.teardown(() => source.close())
  const { config } = source.readIdentity() ?? { config: '' }
  const schedule = ForkSchedule.of({ config })
  const { store } = newStore(t, readFileSync(join(packageRoot(), 'data/devnet/genesis.json'), 'utf8'))
  const verifier = new BlockDiffVerifier(schedule, { sendersChecked: 2 })
  const last = source.readHead()?.number ?? 0
  store.beginBatch()
  for (let number = 1; number <= last; number++) {
    const parts = readBlockDiffParts(source, number) as BlockDiffParts
    const previous = previousState(store)
    store.apply(number - 1, [verifier.verifyBlockDiff(previous, decodeBlockDiff(encodeBlockDiff(parts)))])
  }
  await store.commitBatch()
  t.strictSame(dumpStore(store), dumpStore(source))
})

/** The encoding with a new checksum, as after a change of a block diff on purpose. */
function withChecksum(bytes: Uint8Array): Uint8Array {
  bytes.set(createHash('sha256').update(bytes.subarray(33)).digest(), 1)
  return bytes
}

t.test('every byte of a block diff counts, with its checksum and without', async (t) => {
  const { genesisText, sent } = await executedChain(t, chains.merged)
  const { store, schedule } = newStore(t, genesisText)
  const verifier = new BlockDiffVerifier(schedule, all)
  for (const parts of sent.slice(0, 2)) {
    const bytes = encodeBlockDiff(parts)
    const previous = previousState(store)
    const refused = (changed: Uint8Array) => {
      try {
        verifier.verifyBlockDiff(previous, decodeBlockDiff(changed))
        return false
      } catch (error) {
        return error instanceof BlockDiffError ? true : Promise.reject(error)
      }
    }
    for (let at = 0; at < bytes.length; at++) {
      const changed = bytes.slice()
      changed[at] = (changed[at] as number) ^ (1 << (at % 8))
      if (!(await refused(changed))) t.fail(`byte ${at} changed, and the checksum holds`)
      if (at > 32 && !(await refused(withChecksum(changed)))) t.fail(`byte ${at} changed with its checksum`)
    }
    for (const cut of [0, 1, 32, 33, bytes.length - 1])
      t.ok(await refused(bytes.slice(0, cut)), `cut at ${cut}`)
    t.ok(await refused(withChecksum(Buffer.concat([bytes, Buffer.from([0])]))), 'a byte more')
    store.apply(previous.number, [verifier.verifyBlockDiff(previous, decodeBlockDiff(bytes))])
  }
  t.throws(
    () => decodeBlockDiff(Uint8Array.of(blockDiffVersion + 1)),
    /has the version 2, this program reads 1/,
  )
})

const lists = ['accounts', 'slots', 'code'] as const
/** Damages to one list of a block diff at one place. */
const damages = ['drop', 'double', 'swap', 'change value', 'change key', 'add'] as const
type Damage = (typeof damages)[number]

function damaged(list: readonly (Change | Uint8Array)[], damage: Damage, at: number, noise: Uint8Array) {
  const changed = list.slice()
  const entry = list[at % Math.max(1, list.length)]
  const place = list.length === 0 ? 0 : at % list.length
  const other = (bytes: Uint8Array) =>
    Uint8Array.from(bytes, (byte, i) => byte ^ (noise[i % noise.length] as number))
  if (entry === undefined) return undefined
  if (damage === 'add')
    changed.splice(place, 0, entry instanceof Uint8Array ? noise : [other(entry[0]), entry[1]])
  else if (damage === 'drop') changed.splice(place, 1)
  else if (damage === 'double') changed.splice(place, 0, entry)
  else if (damage === 'swap') {
    if (list.length < 2) return undefined
    const next = (place + 1) % list.length
    changed[place] = list[next] as Change
    changed[next] = entry
  } else if (entry instanceof Uint8Array) changed[place] = other(entry)
  else
    changed[place] =
      damage === 'change key'
        ? [other(entry[0]), entry[1]]
        : [entry[0], entry[1].length === 0 ? noise : other(entry[1])]
  return changed
}

t.test('a block diff with a part dropped, added, changed, doubled or moved is refused', async (t) => {
  const { genesisText, sent } = await executedChain(t, chains.merged)
  const { store, schedule } = newStore(t, genesisText)
  const verifier = new BlockDiffVerifier(schedule, all)
  let refusals = 0
  for (const parts of sent) {
    const previous = previousState(store)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...lists),
        fc.constantFrom(...damages),
        fc.nat(20),
        fc.uint8Array({ minLength: 20, maxLength: 20 }).filter((noise) => noise.every((byte) => byte !== 0)),
        async (list, damage, at, noise) => {
          const changed = damaged(parts[list], damage, at, noise)
          if (changed === undefined) return
          const bad = { ...parts, [list]: changed } as unknown as BlockDiffParts
          refusals++
          t.throws(() => verifier.verifyBlockDiff(previous, bad), BlockDiffError)
        },
      ),
      propertyRuns(200),
    )
    store.apply(previous.number, [verifier.verifyBlockDiff(previous, parts)])
  }
  t.ok(refusals > 100)
})

t.test('a refusal says what differs', async (t) => {
  const { genesisText, sent } = await executedChain(t, chains.merged)
  const { store, schedule } = newStore(t, genesisText)
  const verifier = new BlockDiffVerifier(schedule, all)
  const [first, second, third] = sent as [BlockDiffParts, BlockDiffParts, BlockDiffParts]
  const refuse = (parts: BlockDiffParts, pattern: RegExp) =>
    t.throws(() => verifier.verifyBlockDiff(previousState(store), parts), {
      name: 'BlockDiffError',
      message: pattern,
    })
  refuse(
    { ...first, hash: second.hash },
    /^the block after 0: its header has the hash 0x\w+, the block diff is of 0x/,
  )
  refuse(second, /^block 2 \(0x[0-9a-f]{64}\): it cannot follow block 0$/)
  refuse({ ...first, body: second.body }, /: its body has the transactions root 0x/)
  refuse({ ...first, receipts: second.receipts }, /: its receipts has the receipts root 0x/)
  refuse(
    { ...first, accounts: first.accounts.slice(1) },
    /: its changes lead to the state root 0x\w+, its header has 0x/,
  )
  refuse({ ...first, slots: second.slots }, /: slot 0x\w+ changes, and its account does not$/)
  refuse(
    { ...first, senders: second.senders.slice(20, 40) },
    /: transaction 0 has nonce 0, which the sender that is named/,
  )
  store.apply(0, [verifier.verifyBlockDiff(previousState(store), first)])
  refuse({ ...second, code: [] }, /: it has the code none, its accounts 0x/)
  refuse({ ...second, slots: [] }, /: the slots of account 0x\w+ lead to the storage root 0x\w+, it has 0x/)
  const a = second.senders.slice(0, 20)
  const b = second.senders.slice(20, 40)
  const swapped = Buffer.concat([b, a, second.senders.slice(40)])
  refuse({ ...second, senders: swapped }, /: transaction \d /)
  store.apply(1, [verifier.verifyBlockDiff(previousState(store), second)])
  const [slot] = second.slots
  refuse({ ...third, slots: [...third.slots, slot as Change] }, /slot 0x\w+/)
})

t.test('one sender of many is recovered, chosen at random', async (t) => {
  const { genesisText, sent } = await executedChain(t, chains.merged)
  const { store, schedule } = newStore(t, genesisText)
  const [first, second] = sent as [BlockDiffParts, BlockDiffParts]
  store.apply(0, [new BlockDiffVerifier(schedule, all).verifyBlockDiff(previousState(store), first)])
  // The first two used the nonces 1 and 0: the second transaction of sender 1 has nonce 1, which sender 0 used too.
  const senders = Uint8Array.from(second.senders)
  senders.set(senders.subarray(0, 20), 40)
  const lie = { ...second, senders }
  const verifier = new BlockDiffVerifier(schedule, { sendersChecked: 1 })
  let found = 0
  for (let run = 0; run < 400; run++) {
    try {
      verifier.verifyBlockDiff(previousState(store), lie)
    } catch (error) {
      t.match((error as Error).message, /transaction 2 was sent by 0x\w+, the block diff says 0x/)
      found++
    }
  }
  // One of four: 100 of 400; outside of 40 to 180 once in 10^12 runs.
  t.ok(found > 40 && found < 180, `${found} of 400`)
  t.throws(
    () => new BlockDiffVerifier(schedule, all).verifyBlockDiff(previousState(store), lie),
    /transaction 2 was sent by/,
  )
  t.doesNotThrow(() =>
    new BlockDiffVerifier(schedule, { sendersChecked: 0 }).verifyBlockDiff(previousState(store), lie),
  )
})
