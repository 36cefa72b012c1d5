// @shares
/** Chains that are longer than the range of their undo records. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { BlockDiff, Change } from '../../../../src/data/store/blockDiff.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { encodeTrieRow } from '../../../../src/data/store/layouts/trieRow.js'
import { numberKey, undoBlocks } from '../../../../src/data/store/tables.js'
import { accountTrie, trieKey } from '../../../../src/data/store/trieRows.js'
import { bytesToHex, concatBytes, type Hash32 } from '../../../../src/primitives/bytes.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { addresses, makeBlockDiff, slotKeys, zeroHash } from '../../../store/blockDiffMaker.js'

const mapBytes = 2 ** 30
const identity = { chainId: '1', networkId: '1', genesisHash: '0x00', config: '{}' }
const blocks = undoBlocks + 600
const kept = 100
const all = Number.POSITIVE_INFINITY

/** A few changes: values, removals, and removals of nothing. */
function changesAt(number: number, keys: readonly Uint8Array[], random: (bound: number) => number): Change[] {
  return keys
    .filter(() => random(8) === 0)
    .map(
      (key): Change => [
        key,
        random(3) === 0 ? new Uint8Array(0) : Uint8Array.of(1 + (number % 250), random(256)),
      ],
    )
    .sort(([a], [b]) => Buffer.compare(a, b))
}

t.test('a chain longer than its undo records', async (t) => {
  const dice = new Dice(propertyRuns(1).seed as number)
  const random = (bound: number) => dice.throw(bound)
  const path = join(t.testdir(), 'chain.mdb')
  const whole = ChainWriter.openForWriting({ path, mapBytes })
  const nothing = { trie: [], transactions: 0, logs: [] }
  const genesis = makeBlockDiff(0, zeroHash, { accounts: [], slots: [], ...nothing })
  whole.initialize(identity, genesis)
  const chain: BlockDiff[] = [genesis]
  const present = new Set<string>()
  /** Absent values cannot be removed. */
  const isChange = ([key, value]: readonly [Uint8Array, Uint8Array]) =>
    value.length > 0 ? present.add(bytesToHex(key)) : present.delete(bytesToHex(key))
  for (let number = 1; number <= blocks; number++) {
    const parent = chain.at(-1) as BlockDiff
    const accounts = changesAt(number, addresses, random).filter(isChange)
    const slots = changesAt(number, slotKeys, random).filter(isChange)
    chain.push({
      ...makeBlockDiff(number % 256, parent.hash as Hash32, { accounts, slots, ...nothing }),
      number,
    })
  }
  for (let first = 1; first <= blocks; first += 500) whole.apply(first - 1, chain.slice(first, first + 500))

  t.test('its records are of the newest blocks alone, and what older ones changed is found', async (t) => {
    for (let number = 1; number <= blocks; number++)
      if ((whole.readUndo(number) !== undefined) !== number > blocks - undoBlocks) t.fail(`block ${number}`)
    const state = new Map<string, Uint8Array>()
    for (const { number, accounts, slots } of chain) {
      const replaced = number === 0 ? { accounts: [], slots: [] } : whole.readReplacedState(number)
      for (const [index, [key, value]] of [...accounts, ...slots].entries()) {
        const before = state.get(bytesToHex(key)) ?? new Uint8Array(0)
        const [wantedKey, got] = [...(replaced?.accounts ?? []), ...(replaced?.slots ?? [])][index] ?? []
        if (!wantedKey || !got || Buffer.compare(wantedKey, key) !== 0 || Buffer.compare(got, before) !== 0)
          t.fail(`block ${number}, ${bytesToHex(key)}`)
        state.set(bytesToHex(key), value)
      }
    }
    t.throws(() => whole.apply(blocks - undoBlocks - 1, []), {
      name: 'OperatorError',
      message: new RegExp(`cannot go back to block ${blocks - undoBlocks - 1}: it can take back 8192 blocks`),
    })
    const found = new Set(
      Array.from(
        whole.accountsChangedIn(3, 5, () => undefined),
        bytesToHex,
      ),
    )
    const wanted = new Set(
      chain.slice(3, 6).flatMap(({ accounts }) => accounts.map(([key]) => bytesToHex(key))),
    )
    t.strictSame([...found].sort(), [...wanted].sort())
  })

  t.test('its past is removed where it begins to be limited', async (t) => {
    const copy = join(t.testdir(), 'copy.mdb')
    copyFileSync(path, copy)
    for (const state of [undoBlocks + 20, kept]) {
      const history = { state, receipts: all, bodies: all, trie: all }
      const cut = ChainWriter.openForWriting({ path: copy, mapBytes, history })
      const head = cut.head.number
      const parent = cut.readCanonicalHash(head) as Hash32
      // A block that comes during the removal.
      cut.beginBatch()
      const accounts = changesAt(head + 1, addresses, random)
      cut.apply(head, [
        { ...makeBlockDiff(1, parent, { accounts, slots: [], ...nothing }), number: head + 1 },
      ])
      await cut.commitBatch()
      while (cut.cutHistory());
      const oldest = cut.readOldestKept().state
      t.ok(
        oldest > 0 && oldest >= head + 1 - state - state / 16 && oldest <= head + 1 - state,
        `from ${oldest}`,
      )
      for (let number = oldest; number <= blocks; number += 7) {
        for (const key of [...addresses, ...slotKeys]) {
          const [got, want] = [cut, whole].map((store) => store.readKeyAt(number, key))
          if (Buffer.compare(got ?? Buffer.of(), want ?? Buffer.of()) !== 0)
            t.fail(`${bytesToHex(key)} at ${number}`)
        }
      }
      const rows = (['accounts', 'slots'] as const).flatMap((kind) => [...cut.stateRows(kind)])
      const base = [...cut.accountsAt(oldest), ...cut.slotsAt(oldest)].length
      t.equal(rows.length, rows.filter(({ since }) => since > oldest).length + base, 'no row is left over')
      await cut.close()
    }
  })

  t.test('a limit of the state that is kept may go and come again', async (t) => {
    const path = join(t.testdir(), 'limited.mdb')
    const limit = undoBlocks + 300
    const history = { state: limit, receipts: all, bodies: all, trie: all }
    const open = (isLimited: boolean) =>
      ChainWriter.openForWriting({ path, mapBytes, ...(isLimited && { history }) })
    /** Ranges of blocks with undo records; more than one if some are missing in between. */
    const recordsOf = (store: ChainWriter) => {
      const rows: [first: number, last: number][] = []
      for (let number = 1; number <= store.head.number; number++) {
        if (store.readUndo(number) === undefined) continue
        const row = rows.at(-1)
        if (row?.[1] === number - 1) row[1] = number
        else rows.push([number, number])
      }
      return rows
    }
    const extend = async (store: ChainWriter, last: number) => {
      for (let first = store.head.number + 1; first <= last; first += 50)
        store.apply(first - 1, chain.slice(first, Math.min(first + 50, last + 1)))
    }
    let store = open(true)
    store.initialize(identity, genesis)
    await extend(store, blocks - 50)
    while (store.cutHistory());
    const oldest = store.readOldestKept().state
    t.equal(oldest, blocks - 50 - limit)
    t.strictSame(recordsOf(store), [[oldest + 1, blocks - 50]])
    await store.close()

    store = open(false)
    await extend(store, blocks - 20)
    t.strictSame(recordsOf(store), [[blocks - 20 - undoBlocks + 1, blocks - 20]])
    const wanted = (first: number, last: number) =>
      [
        ...new Set(
          chain.slice(first, last + 1).flatMap(({ accounts }) => accounts.map(([key]) => bytesToHex(key))),
        ),
      ].sort()
    const found = (first: number, last: number) =>
      [
        ...new Set(
          Array.from(
            store.accountsChangedIn(first, last, () => undefined),
            bytesToHex,
          ),
        ),
      ].sort()
    t.strictSame(found(oldest + 1, oldest + 9), wanted(oldest + 1, oldest + 9))
    await store.close()

    store = open(true)
    await extend(store, blocks - 10)
    // Removes records of some blocks between others.
    const { changes } = Reflect.get(store, 'tables') as ChainWriter['tables']
    store.beginBatch()
    for (let number = blocks - 2_000; number < blocks - 1_900; number++) changes.removeSync(numberKey(number))
    await store.commitBatch()
    t.strictSame(found(blocks - 2_010, blocks - 1_890), wanted(blocks - 2_010, blocks - 1_890))
    await store.close()
    const shorter = { ...history, state: kept }
    store = ChainWriter.openForWriting({ path, mapBytes, history: shorter })
    await extend(store, blocks)
    while (store.cutHistory());
    t.ok(store.readOldestKept().state >= blocks - kept - kept / 16, `from ${store.readOldestKept().state}`)
    for (let number = store.readOldestKept().state; number <= blocks; number += 7) {
      for (const key of [...addresses, ...slotKeys]) {
        const [got, want] = [store, whole].map((each) => each.readKeyAt(number, key))
        if (Buffer.compare(got ?? Buffer.of(), want ?? Buffer.of()) !== 0)
          t.fail(`${bytesToHex(key)} at ${number}`)
      }
    }
    await store.close()
  })

  t.test('after a reorganisation to fewer blocks what older ones replaced is known', async (t) => {
    const path = join(t.testdir(), 'unwound.mdb')
    const store = ChainWriter.openForWriting({ path, mapBytes })
    store.initialize(identity, genesis)
    for (let first = 1; first <= blocks; first += 500) store.apply(first - 1, chain.slice(first, first + 500))
    store.apply(blocks - 5, [])
    for (let number = blocks - undoBlocks - 8; number < blocks - undoBlocks + 8; number++)
      t.strictSame(store.readReplacedState(number), whole.readReplacedState(number), `block ${number}`)
    await store.close()
  })

  t.test('blocks that reorganisations left go with their tries where bodies are limited', async (t) => {
    for (const bodies of [kept, all]) {
      const path = join(t.testdir(), `left-${bodies}.mdb`)
      const history = { state: kept, receipts: kept, bodies, trie: kept }
      const store = ChainWriter.openForWriting({ path, mapBytes, history })
      store.initialize(identity, genesis)
      store.apply(0, chain.slice(1, 10))
      const hashed = concatBytes(Uint8Array.of(0xa0), zeroHash)
      const row = encodeTrieRow({
        extension: new Uint8Array(0),
        children: Array(16).fill(hashed),
        leaf: undefined,
      })
      const trie: Change[] = [[trieKey(accountTrie, new Uint8Array(0)), row]]
      const parent = chain[9] as BlockDiff
      const left = makeBlockDiff(10, parent.hash as Hash32, { accounts: [], slots: [], ...nothing, trie })
      store.apply(9, [left])
      store.apply(9, [])
      const isThere = () =>
        [...store.sideBlocks()].length === 1 && store.readBody(left.hash as Hash32) !== undefined
      for (let first = 10; first < undoBlocks; first += 500)
        store.apply(first - 1, chain.slice(first, Math.min(first + 500, undoBlocks)))
      t.ok(isThere(), 'it may be asked for')
      store.apply(undoBlocks - 1, chain.slice(undoBlocks, undoBlocks + 20))
      t.equal(isThere(), bodies === all)
      await store.close()
    }
  })

  t.teardown(() => whole.close())
})
