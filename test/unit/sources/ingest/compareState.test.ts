import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { decodeHeader } from '../../../../src/data/chain/header.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import type { Hash32 } from '../../../../src/primitives/bytes.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { compareState } from '../../../../src/sources/ingest/verify/compareState.js'
import { londonConfig, testGenesis } from '../../../ingest/chainMaker.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function liveBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

/** Two accounts with `count` slots each, and `count` accounts with one. */
async function withSlots(t: Test, count: number) {
  const store = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`
  const storage = Object.fromEntries(Array.from({ length: count }, (_, at) => [word(at), word(at + 1)]))
  const many = Array.from({ length: count }, (_, at) => [
    (0x10_0000 + at).toString(16).padStart(40, '0'),
    { balance: '0x1', storage: { [word(1)]: word(at + 1) } },
  ])
  const alloc = {
    ...Object.fromEntries(many),
    [`${'01'.repeat(20)}`]: { balance: '0x1', storage },
    [`${'02'.repeat(20)}`]: { balance: '0x2', storage },
  }
  const genesis = { ...testGenesis(londonConfig()), alloc }
  const { identity, blockDiff } = parseGenesis(JSON.stringify(genesis))
  store.initialize(identity, blockDiff)
  const { stateRoot } = decodeHeader(blockDiff.header)
  return { store, stateRoot: stateRoot as Hash32 }
}

/** Compares the latest state, and returns how much memory the comparison has at its end. */
function compare({ store, stateRoot }: Awaited<ReturnType<typeof withSlots>>) {
  const faults: string[] = []
  const before = liveBytes()
  let heldBytes = 0
  const flat = {
    name: 'latest',
    accounts: () => store.accounts(),
    *slots() {
      yield* store.slots()
      heldBytes = liveBytes() - before
    },
  }
  const counts = compareState(store, 0, stateRoot, flat, (fault) => faults.push(fault))
  return { counts, faults, heldBytes }
}

t.test('what it remembers does not grow with the state', async (t) => {
  const few = await withSlots(t, 100)
  const many = await withSlots(t, 4_000)
  // Compiled code, and earlier memory of the process, change meanwhile.
  const [ofFew, ofMany] = [few, many].map((made) =>
    Array.from({ length: 3 }, () => {
      const { faults, heldBytes } = compare(made)
      t.strictSame(faults, [])
      return heldBytes
    }),
  ) as [number[], number[]]
  t.strictSame(compare(many).counts, { accounts: 4_002, slots: 12_000 })
  // A list of the nodes alone would take a megabyte.
  t.ok(Math.min(...ofMany) < Math.max(...ofFew) + 300_000, `${ofFew} bytes, then ${ofMany}`)
})

t.test('each difference is named', async (t) => {
  const made = await withSlots(t, 100)
  const address = new Uint8Array(20).fill(1)
  const other = Uint8Array.from(Buffer.from((0x10_0005).toString(16).padStart(40, '0'), 'hex'))
  const { store } = made
  const damaged = {
    *accounts() {
      for (const [key, row] of store.accounts()) {
        if (Buffer.compare(key, other) === 0) continue
        yield [key, row] as const
      }
    },
    *slots() {
      for (const [key, value] of store.slots()) {
        const isWrong = Buffer.compare(key.subarray(0, 20), address) === 0 && key[51] === 7
        yield [key, isWrong ? Uint8Array.of(99) : value] as const
      }
    },
  }
  const faults: string[] = []
  compareState(store, 0, made.stateRoot, { name: 'latest', ...damaged }, (fault) => faults.push(fault))
  t.match(faults, [
    /^latest: slot 0x0+7 of 0x0101.*differs from its storage trie$/,
    'latest: it has 101 accounts, the state trie 102',
  ])
  t.equal(faults.length, 2)
})
