import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { BlockDiff, Change } from '../../../../src/data/store/blockDiff.js'
import type { ChainIdentity } from '../../../../src/data/store/chainRows.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { anyLogKey, logKey } from '../../../../src/data/store/layouts/logKeys.js'
import { chunkBytesMax } from '../../../../src/data/store/logIndex.js'
import { type Address, bytesToHex, concatBytes, toHash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { propertyRuns } from '../../../library/property.js'
import {
  addresses,
  type Content,
  content,
  makeBlockDiff,
  slots,
  zeroHash,
} from '../../../store/blockDiffMaker.js'
import { differences, dumpStore, type StoreDump } from '../../../store/storeDump.js'

const mapBytes = 2 ** 30
const identity: ChainIdentity = { chainId: '1', networkId: '1', genesisHash: '0x00', config: '{}' }

/** All keys of the log index. */
const indexed = [
  { place: 5, bytes: addresses[0] as Uint8Array, key: anyLogKey },
  ...addresses.map((bytes) => ({ place: 0, bytes, key: logKey(0, bytes) })),
  ...[1, 2, 3, 4].flatMap((place) => slots.map((bytes) => ({ place, bytes, key: logKey(place, bytes) }))),
]

/** Keys of a block, by a simple method. */
function keysOf(logs: Content['logs']): Set<string> {
  const keys = new Set<string>()
  for (const { address, topics } of logs) {
    keys.add(`5 ${bytesToHex(addresses[0] as Uint8Array)}`).add(`0 ${bytesToHex(address)}`)
    for (const [at, topic] of topics.entries()) keys.add(`${at + 1} ${bytesToHex(topic)}`)
  }
  return keys
}

function compareLogIndex(store: ChainWriter, blocks: readonly ReadonlySet<string>[]): void {
  for (const { place, bytes, key } of indexed) {
    const want = [...blocks.keys()].filter((number) => blocks[number]?.has(`${place} ${bytesToHex(bytes)}`))
    for (const from of [0, Math.floor(blocks.length / 2), blocks.length]) {
      const got = [...blocksWithLog(store, key, from)]
      const wanted = want.filter((number) => number >= from)
      if (got.join() !== wanted.join()) throw new Error(`place ${place} from ${from}: ${got}, not ${wanted}`)
    }
  }
}

function* blocksWithLog(store: ChainWriter, key: Uint8Array, from: number): Generator<number> {
  for (let next = from; ; ) {
    const stretch = store.readLogChunk(key, next)
    if (stretch.length === 0) return
    yield* stretch
    next = (stretch.at(-1) as number) + 1
  }
}

/** The state after each canonical block, by a simple method. */
type State = ReadonlyMap<string, string>

function applyTo(state: State, blockDiff: BlockDiff): State {
  const next = new Map(state)
  for (const [key, value] of [...blockDiff.accounts, ...blockDiff.slots]) {
    if (value.length === 0) next.delete(bytesToHex(key))
    else next.set(bytesToHex(key), bytesToHex(value))
  }
  return next
}

function compareReads(store: ChainWriter, states: readonly State[]): void {
  const mustBe = (what: string, got: Uint8Array | undefined, want: string | undefined) => {
    const text = got && bytesToHex(got)
    if (text !== want) throw new Error(`${what} is ${text}, not ${want}`)
  }
  const head = states.length - 1
  for (const address of addresses) {
    const name = bytesToHex(address)
    mustBe(`account ${name}`, store.readAccount(address), states[head]?.get(name))
    for (const slot of slots) {
      const key = bytesToHex(concatBytes(address, slot))
      mustBe(`slot ${key}`, store.readSlot(address, slot), states[head]?.get(key))
      for (const [number, state] of states.entries()) {
        mustBe(`slot ${key} at ${number}`, store.readSlotAt(address, slot, number), state.get(key))
      }
      mustBe(`slot ${key} later`, store.readSlotAt(address, slot, 2 ** 53 - 1), states[head]?.get(key))
    }
    for (const [number, state] of states.entries()) {
      mustBe(`account ${name} at ${number}`, store.readAccountAt(address, number), state.get(name))
    }
    compareChanges(store, address, states)
  }
  for (const [number, state] of states.entries()) compareRanges(store, number, state, number === head)
}

/** Every block that changed an account is among its changes, for any ends of the range. */
function compareChanges(store: ChainWriter, address: Address, states: readonly State[]): void {
  const name = bytesToHex(address)
  const all = store.readAccountChanges(address, 0, false, states.length + 1)
  for (const [number, state] of states.entries()) {
    const isOther = number > 0 && state.get(name) !== states[number - 1]?.get(name)
    if (isOther && !all.includes(number)) throw new Error(`block ${number} changed account ${name}`)
    for (const limit of [1, 2, states.length + 1]) {
      const later = store.readAccountChanges(address, number, false, limit)
      const earlier = store.readAccountChanges(address, number, true, limit)
      const wanted = [
        all.filter((each) => each >= number).slice(0, limit),
        all
          .filter((each) => each <= number)
          .reverse()
          .slice(0, limit),
      ]
      if (JSON.stringify([later, earlier]) !== JSON.stringify(wanted)) {
        throw new Error(`changes of account ${name} next to block ${number}, at most ${limit}`)
      }
    }
  }
}

function compareRanges(store: ChainWriter, number: number, state: State, isHead: boolean): void {
  const text = (rows: Iterable<readonly [Uint8Array, Uint8Array]>) =>
    // Collected before they are printed: the rows of a range must not change later.
    [...rows].map(([key, value]) => `${bytesToHex(key)}=${bytesToHex(value)}`).join()
  const wanted = (length: number, prefix: string) =>
    [...state]
      .filter(([key]) => key.length === 2 + length * 2 && key.startsWith(prefix))
      .map(([key, value]) => `0x${key.slice(prefix.length)}=${value}`)
      .sort()
      .join()
  const pairs: [string, string][] = [[text(store.accountsAt(number)), wanted(20, '0x')]]
  if (isHead) pairs.push([text(store.accounts()), wanted(20, '0x')])
  for (const address of addresses) {
    const want = wanted(52, bytesToHex(address))
    pairs.push([text(store.slotsOfAt(address, number)), want])
    if (isHead) pairs.push([text(store.slotsOf(address)), want])
  }
  for (const [got, want] of pairs)
    if (got !== want) throw new Error(`range at ${number}: ${got}, not ${want}`)
}

const moves = fc.array(
  fc.record({
    /** Number of canonical blocks that are replaced. */
    back: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(6) }),
    blocks: fc.array(content, { maxLength: 4 }),
  }),
  { minLength: 1, maxLength: 10 },
)

t.test('reads at every block agree with a naive model, whatever was applied and unwound', async (t) => {
  const folder = t.testdir()
  let run = 0
  await fc.assert(
    fc.asyncProperty(content, moves, async (genesis, moves) => {
      const path = join(folder, `${run++}.mdb`)
      const store = ChainWriter.openForWriting({ path, mapBytes })
      try {
        const first = makeBlockDiff(0, zeroHash, genesis)
        store.initialize(identity, first)
        const chain = [first]
        const states = [applyTo(new Map(), first)]
        const logKeys = [keysOf(genesis.logs)]
        const dumps: StoreDump[] = [dumpStore(store)]
        for (const { back, blocks } of moves) {
          const fork = Math.max(0, chain.length - 1 - back)
          chain.length = states.length = logKeys.length = fork + 1
          const blockDiffs: BlockDiff[] = []
          for (const block of blocks) {
            const parent = chain.at(-1) as BlockDiff
            const blockDiff = makeBlockDiff(parent.number + 1, parent.hash, block)
            blockDiffs.push(blockDiff)
            chain.push(blockDiff)
            states.push(applyTo(states.at(-1) as State, blockDiff))
            logKeys.push(keysOf(block.logs))
          }
          store.apply(fork, blockDiffs)
          const head = chain.at(-1) as BlockDiff
          if (bytesToHex(store.readHead()?.hash ?? zeroHash) !== bytesToHex(head.hash))
            throw new Error('the head is not the last block diff')
          compareReads(store, states)
          compareLogIndex(store, logKeys)
          // The dumps of blocks that were head in between are made by applying them one by one.
          dumps.length = fork + 1
          store.apply(fork, [])
          for (const blockDiff of blockDiffs) {
            store.apply(blockDiff.number - 1, [blockDiff])
            dumps.push(dumpStore(store))
          }
        }
        for (let number = chain.length - 1; number >= 0; number--) {
          store.apply(number, [])
          const found = differences(dumpStore(store), dumps[number] as StoreDump)
          if (found.length > 0) throw new Error(`after unwinding to ${number}: ${found.join('; ')}`)
          compareReads(store, states.slice(0, number + 1))
          compareLogIndex(store, logKeys.slice(0, number + 1))
        }
      } finally {
        await store.close()
      }
    }),
    propertyRuns(25),
  )
  t.pass('all agree')
})

t.test('blocks that gave way stay readable by hash, their transactions are located no longer', async (t) => {
  const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes })
  t.teardown(() => store.close())
  const bare = { accounts: [], slots: [], trie: [], transactions: 2, logs: [] }
  const genesis = makeBlockDiff(0, zeroHash, bare)
  store.initialize(identity, genesis)
  const old = makeBlockDiff(1, genesis.hash, bare)
  const fresh = makeBlockDiff(1, genesis.hash, bare)
  store.apply(0, [old])
  const hashOf = (blockDiff: BlockDiff) => toHash32(blockDiff.senders.subarray(20, 52))
  t.strictSame(store.readLocation(hashOf(old)), { blockHash: old.hash, number: 1, index: 0 })
  store.apply(0, [fresh])
  t.equal(store.readLocation(hashOf(old)), undefined)
  t.ok(store.readLocation(hashOf(fresh)))
  for (const blockDiff of [old, fresh]) {
    t.strictSame(store.readHeader(blockDiff.hash), blockDiff.header)
    t.strictSame(store.readReceipts(blockDiff.hash), blockDiff.receipts)
  }
})

t.test('a transaction that both branches hold is located in the one that is canonical', async (t) => {
  const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes })
  t.teardown(() => store.close())
  const genesis = makeBlockDiff(0, zeroHash, { accounts: [], slots: [], trie: [], transactions: 0, logs: [] })
  store.initialize(identity, genesis)
  const shared = concatBytes(new Uint8Array(20), keccak256(Buffer.from('shared')))
  const empty = { accounts: [], slots: [], trie: [], transactions: 0, logs: [] }
  const old = { ...makeBlockDiff(1, genesis.hash, empty), senders: shared }
  const fresh = makeBlockDiff(1, genesis.hash, empty)
  const second = { ...makeBlockDiff(2, fresh.hash, empty), senders: shared }
  store.apply(0, [old])
  store.apply(0, [fresh, second])
  const hash = toHash32(shared.subarray(20))
  t.strictSame(store.readLocation(hash)?.blockHash, second.hash)
  store.apply(0, [old])
  t.strictSame(store.readLocation(hash)?.blockHash, old.hash)
})

t.test('block diffs that do not extend the chain change nothing', async (t) => {
  const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes })
  t.teardown(() => store.close())
  const some = {
    accounts: [[addresses[0], Uint8Array.of(1)] as Change],
    slots: [],
    trie: [],
    transactions: 1,
    logs: [],
  }
  const genesis = makeBlockDiff(0, zeroHash, some)
  store.initialize(identity, genesis)
  const one = makeBlockDiff(1, genesis.hash, { ...some, accounts: [] })
  store.apply(0, [one])
  const before = dumpStore(store)
  const next = makeBlockDiff(1, genesis.hash, some)
  t.throws(() => store.apply(0, [next, makeBlockDiff(2, genesis.hash, some)]), /does not extend/)
  t.throws(() => store.apply(1, [makeBlockDiff(3, one.hash, some)]), /does not extend/)
  t.throws(() => store.apply(1, [makeBlockDiff(1, genesis.hash, some)]), /does not extend/)
  t.throws(() => store.apply(-1, []), /is not canonical/)
  t.throws(() => store.apply(2, [makeBlockDiff(3, one.hash, some)]), /is not canonical/)
  t.strictSame(differences(dumpStore(store), before), [])
  t.strictSame(differences(before, dumpStore(store)), [])
})

t.test('a key of very many blocks is found from any of them, and taken back as it was added', async (t) => {
  const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes })
  t.teardown(() => store.close())
  const bare = { accounts: [], slots: [], trie: [], transactions: 0, logs: [] }
  const busy = { ...bare, logs: [{ address: addresses[2] as Address, topics: [] }] }
  const genesis = makeBlockDiff(0, zeroHash, bare)
  store.initialize(identity, genesis)
  const blockDiffs: BlockDiff[] = []
  const numbers: number[] = []
  // A stretch takes about as many blocks as bytes; the last stretch is full, and the one before not the first.
  for (let parent = genesis; numbers.length < 3 * chunkBytesMax; ) {
    const hasLog = parent.number % 7 !== 0
    parent = makeBlockDiff(parent.number + 1, parent.hash, hasLog ? busy : bare)
    blockDiffs.push(parent)
    if (hasLog) numbers.push(parent.number)
  }
  const dumps = new Map<number, StoreDump>()
  const third = Math.floor(blockDiffs.length / 3)
  const last = blockDiffs.length
  for (const blockDiff of blockDiffs) {
    store.apply(blockDiff.number - 1, [blockDiff])
    if (blockDiff.number === third) dumps.set(third, dumpStore(store))
  }
  const key = logKey(0, addresses[2] as Address)
  for (const from of [0, 1, 600, 601, third, last - 1, last, last + 1]) {
    t.strictSame(
      [...blocksWithLog(store, key, from)],
      numbers.filter((number) => number >= from),
      `from ${from}`,
    )
  }
  store.apply(third, [])
  t.strictSame(differences(dumpStore(store), dumps.get(third) as StoreDump), [])
})
