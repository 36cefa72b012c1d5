import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { BlockDiff, Change } from '../../../../src/data/store/blockDiff.js'
import type { ChainIdentity } from '../../../../src/data/store/chainRows.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { historyKinds } from '../../../../src/data/store/keptHistory.js'
import { anyLogKey, logKey } from '../../../../src/data/store/layouts/logKeys.js'
import { decodeVersions, olderVersions } from '../../../../src/data/store/layouts/trieValues.js'
import { chunkBytesMax } from '../../../../src/data/store/logIndex.js'
import { StateDigests } from '../../../../src/data/store/stateChanges.js'
import { stateKinds } from '../../../../src/data/store/stateRows.js'
import { bytesToHex, equalBytes, type Hash32 } from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { propertyRuns } from '../../../library/property.js'
import {
  addresses,
  content,
  makeBlockDiff,
  slotKeys,
  slots,
  trieKeys,
  zeroHash,
} from '../../../store/blockDiffMaker.js'
import { dumpStore, type StoreDump } from '../../../store/storeDump.js'

const mapBytes = 2 ** 30
const identity: ChainIdentity = { chainId: '1', networkId: '1', genesisHash: '0x00', config: '{}' }
const empty = { accounts: [], slots: [], trie: [], transactions: 0, logs: [] }

/** The result of a read, as text; `removed N` if block N is the oldest kept one. */
function reported(read: () => unknown): string {
  try {
    return (
      JSON.stringify(read(), (_, value) =>
        value?.type === 'Buffer' ? Buffer.from(value).toString('hex') : value,
      ) ?? 'nothing'
    )
  } catch (error) {
    if (!(error instanceof FaultError) || error.fault.kind !== 'HistoryPruned') throw error
    return `removed ${error.fault.oldest}`
  }
}

const asBuffer = (row: Uint8Array | undefined) => row && Buffer.from(row)

/**
 * Every read of a block that depends on its past, of both stores; the store with the whole past has the right results.
 */
function compare(cut: ChainWriter, whole: ChainWriter, head: number): void {
  const oldest = cut.readOldestKept()
  for (let number = 0; number <= head; number++) {
    const hash = whole.readCanonicalHash(number) as Hash32
    for (const key of [...addresses, ...slotKeys]) {
      const read = (store: ChainWriter) => reported(() => asBuffer(store.readKeyAt(number, key)))
      const got = read(cut)
      const want = read(whole)
      // Below it, a found value must be right; a missing one is no answer.
      const isRight = got === want || (number < oldest.state && got === `removed ${oldest.state}`)
      if (!isRight || (number < oldest.state && got === 'nothing'))
        throw new Error(`state of block ${number}, ${bytesToHex(key)}: ${got}, not ${want}`)
    }
    for (const key of number < oldest.trie ? [] : trieKeys) {
      const read = (store: ChainWriter) => reported(() => rowOf(store, key, number))
      if (read(cut) !== read(whole))
        throw new Error(`row ${bytesToHex(key)} of block ${number}: ${read(cut)}, not ${read(whole)}`)
    }
    const isReported = reported(() => cut.requireTries(number)) === `removed ${oldest.trie}`
    if (isReported !== number < oldest.trie) throw new Error(`the tries of block ${number}`)
    const parts = [
      ['receipts', (store: ChainWriter) => asBuffer(store.readReceipts(hash))],
      ['bodies', (store: ChainWriter) => asBuffer(store.readBody(hash))],
      ['bodies', (store: ChainWriter) => asBuffer(store.readBlock(hash)?.senders)],
    ] as const
    for (const [kind, read] of parts) {
      const isKept = number >= oldest[kind]
      const got = reported(() => read(cut))
      const want = reported(() => (isKept ? read(whole) : undefined))
      const nothing = ['nothing', '""']
      if (isKept ? got !== want : !nothing.includes(got))
        throw new Error(`${kind} of block ${number}: ${got}, not ${want}`)
    }
    for (const transaction of hashesOf(whole, hash)) {
      const got = cut.readLocation(transaction)?.index
      const want = number >= oldest.bodies ? whole.readLocation(transaction)?.index : undefined
      if (got !== want) throw new Error(`a transaction of block ${number} is at ${got}, not ${want}`)
    }
  }
  for (const key of [
    anyLogKey,
    ...addresses.map((each) => logKey(0, each)),
    ...slots.map((each) => logKey(1, each)),
  ]) {
    for (const from of [oldest.receipts, Math.floor((oldest.receipts + head) / 2)]) {
      const read = (store: ChainWriter) => reported(() => [...blocksWithLog(store, key, from)])
      if (read(cut) !== read(whole))
        throw new Error(`logs from block ${from}: ${read(cut)}, not ${read(whole)}`)
    }
  }
}

/** The digest that is updated with each change is that of the rows. */
function requireDigests(store: ChainWriter): void {
  const want = store.readStateDigests()
  const got = new StateDigests()
  for (const kind of stateKinds) {
    for (const { key, since, value } of store.stateRows(kind)) got[kind].toggle(key, since, value)
    if (!equalBytes(got[kind].bytes, want[kind].bytes)) throw new Error(`the digest of ${kind}`)
  }
}

function rowOf(store: ChainWriter, key: Uint8Array, number: number) {
  const { extension, children, leaf } = store.readTrieRow(key, number) ?? {}
  return [extension, ...(children ?? []), leaf].map(asBuffer)
}

function* blocksWithLog(store: ChainWriter, key: Uint8Array, from: number): Generator<number> {
  for (let chunk = store.readLogChunk(key, from); chunk.length > 0; ) {
    yield* chunk
    chunk = store.readLogChunk(key, (chunk.at(-1) as number) + 1)
  }
}

function hashesOf(store: ChainWriter, hash: Hash32): Hash32[] {
  const senders = store.readBlock(hash)?.senders ?? new Uint8Array(0)
  return Array.from(
    { length: senders.length / 52 },
    (_, at) => senders.slice(52 * at + 20, 52 * at + 52) as Hash32,
  )
}

/** A genesis removes nothing. */
const set = (changes: readonly Change[]) => changes.filter(([, value]) => value.length > 0)

const moves = fc.array(
  fc.record({
    back: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(4) }),
    blocks: fc.array(content, { minLength: 1, maxLength: 6 }),
    /** Whether the commit is awaited before the next blocks. */
    isAwaited: fc.boolean(),
    isHeld: fc.boolean(),
  }),
  { minLength: 1, maxLength: 10 },
)
const limits = fc
  .record({
    state: fc.integer({ min: 4, max: 12 }),
    receipts: fc.integer({ min: 4, max: 12 }),
    trie: fc.integer({ min: 4, max: 12 }),
    more: fc.nat(4),
  })
  .map(({ state, receipts, trie, more }) => ({ state, receipts, trie, bodies: receipts + more }))

t.test('what is kept is as in a store that keeps all, whatever was applied, unwound and held', async (t) => {
  const folder = t.testdir()
  let run = 0
  await fc.assert(
    fc.asyncProperty(content, moves, limits, async (first, moves, history) => {
      const cut = ChainWriter.openForWriting({ path: join(folder, `${run}-cut.mdb`), mapBytes, history })
      const whole = ChainWriter.openForWriting({ path: join(folder, `${run++}.mdb`), mapBytes })
      try {
        const genesis = makeBlockDiff(0, zeroHash, {
          ...first,
          accounts: set(first.accounts),
          slots: set(first.slots),
          trie: set(first.trie),
        })
        const chain: BlockDiff[] = [genesis]
        let top = 0
        for (const store of [cut, whole]) store.initialize(identity, genesis)
        for (const { back, blocks, isAwaited, isHeld } of moves) {
          const kept = Math.max(...Object.values(cut.readOldestKept()))
          // After branches that were shorter than the replaced ones, unwinding the same number again is refused.
          const fork = Math.max(chain.length - 1 - back, kept)
          chain.length = fork + 1
          for (const block of blocks) {
            const parent = chain.at(-1) as BlockDiff
            chain.push(makeBlockDiff(parent.number + 1, parent.hash, block))
          }
          const added = chain.slice(fork + 1)
          top = Math.max(top, chain.length - 1)
          if (isHeld) cut.beginBatch()
          else await cut.commitBatch()
          for (const store of [cut, whole]) store.apply(fork, added)
          if (isHeld) {
            const written = cut.commitBatch()
            if (isAwaited) await written
          }
          compare(cut, whole, chain.length - 1)
          requireDigests(whole)
          if (!isHeld || isAwaited) requireDigests(cut)
        }
        await cut.commitBatch()
        while (cut.cutHistory());
        const head = chain.length - 1
        const oldest = cut.readOldestKept()
        for (const kind of historyKinds) {
          // A branch that was longer may have lost its history before it was replaced.
          const [least, most] = [head, top].map((number) => Math.max(0, number - history[kind]))
          const isKept = oldest[kind] >= (least as number) && oldest[kind] <= (most as number)
          t.ok(isKept, `${kind} from block ${oldest[kind]} on, of ${least} to ${most}`)
        }
        compare(cut, whole, head)
        requireDigests(cut)
        requireNoMore(cut, whole, head)
      } finally {
        await cut.close()
        await whole.close()
      }
    }),
    propertyRuns(8),
  )
})

/** Whether a key is that of a row of the past: 9 bytes longer, of which the first is zero. */
function isPast(key: string): boolean {
  return trieKeys.some(
    (each) => key.length === 2 * each.length + 18 && key.startsWith(`${bytesToHex(each).slice(2)}00`),
  )
}

/** No row is left that no reader can find. */
function requireNoMore(cut: ChainWriter, whole: ChainWriter, head: number): void {
  const { state } = cut.readOldestKept()
  const changed = new Set<string>()
  for (let number = state + 1; number <= head; number++) {
    const replaced = whole.readReplacedState(number)
    for (const [key] of [...(replaced?.accounts ?? []), ...(replaced?.slots ?? [])])
      changed.add(`${bytesToHex(key)} ${number}`)
  }
  const base = [...whole.accountsAt(state), ...whole.slotsAt(state)].length
  const rows = [...cut.stateRows('accounts'), ...cut.stateRows('slots')]
  t.equal(rows.length, changed.size + base, 'rows of state')
  const dump = dumpStore(cut)
  t.equal(Object.keys(dump.changes).length, head - state, 'undo records')
  t.ok(Object.keys(dump.blocks).length === head + 1, 'headers')
  const { trie } = cut.readOldestKept()
  t.equal(Object.keys(dump.trieChanges).length, head - trie + (trie === 0 ? 1 : 0), 'changes of tries')
  const versions = (store: ChainWriter) => trieVersionsOf(dumpStore(store).trie)
  const isLater = ([, until]: readonly [string, number]) => until > trie
  t.strictSame(versions(cut), versions(whole).filter(isLater), 'versions of rows of tries')
}

/** All content of trie rows, each with the block that replaced it; rows of the head have no such block. */
function trieVersionsOf(rows: StoreDump['trie']): [what: string, until: number][] {
  const found: [string, number][] = []
  for (const [key, value] of Object.entries(rows)) {
    const until = isPast(key) ? Number.parseInt(key.slice(-16), 16) : undefined
    const path = until === undefined ? key : key.slice(0, -18)
    const { from, content, older } = decodeVersions(Buffer.from(value, 'hex'), until)
    found.push([`${path} ${from} ${bytesToHex(content)}`, until ?? Number.POSITIVE_INFINITY])
    for (const version of olderVersions(older, from))
      found.push([`${path} ${version.since} ${bytesToHex(version.value)}`, version.until])
  }
  return found.sort()
}

t.test('rows of the index of logs that are full go with their last block', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  const store = ChainWriter.openForWriting({
    path,
    mapBytes,
    history: { state: 9, receipts: 9, bodies: 9, trie: 9 },
  })
  t.teardown(() => store.close())
  const genesis = makeBlockDiff(0, zeroHash, empty)
  store.initialize(identity, genesis)
  const logs = [{ address: addresses[0] as never, topics: [] }]
  let parent = genesis
  for (let number = 1; number <= 3 * chunkBytesMax; number++) {
    const block = makeBlockDiff(number % 256, parent.hash, { ...empty, logs })
    store.beginBatch()
    store.apply(number - 1, [{ ...block, number }])
    parent = { ...block, number }
    if (number % 100 === 0) await store.commitBatch()
  }
  await store.commitBatch()
  while (store.cutHistory());
  t.ok(Object.keys(dumpStore(store).logs).length <= 4, 'the newest row of each key, and perhaps one full row')
  t.equal(store.countLogIndex(), 2 * 10)
})

t.test('one commit removes a part; a store whose limits are new catches up', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  const whole = ChainWriter.openForWriting({ path, mapBytes })
  const genesis = makeBlockDiff(0, zeroHash, empty)
  whole.initialize(identity, genesis)
  const diffs: BlockDiff[] = []
  for (let number = 1; number <= 200; number++) {
    const keys = Array.from({ length: 100 }, (_, at) => Uint8Array.from([...new Uint8Array(19), at]))
    const accounts = keys.map((key) => [key, Uint8Array.of(number)] as const)
    diffs.push(makeBlockDiff(number, (diffs.at(-1) ?? genesis).hash, { ...empty, accounts } as never))
  }
  whole.apply(0, diffs)
  await whole.close()
  const cut = ChainWriter.openForWriting({
    path,
    mapBytes,
    history: { state: 20, receipts: 50, bodies: 60, trie: 30 },
  })
  t.teardown(() => cut.close())
  t.ok(cut.cutHistory(), 'there is more')
  const { state } = cut.readOldestKept()
  t.ok(state > 0 && state < 180, `up to block ${state}`)
  while (cut.cutHistory());
  t.strictSame(cut.readOldestKept(), { state: 180, receipts: 150, bodies: 140, trie: 170 })
  t.equal([...cut.stateRows('accounts')].length, 100 * 21)
  t.throws(() => cut.apply(179, []), {
    name: 'OperatorError',
    message: /cannot go back to block 179: it keeps history from block 180 on/,
  })
  cut.apply(180, [])
  t.equal(cut.head.number, 180)
})
